@dimensions 2
@classLabel true a b
@data
1,2,1:3,4,3:a
