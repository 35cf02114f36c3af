@dimensions 2
@classLabel true a b a
@data
1,2:3,4:a
