@dimensions 2
@classLabel true a b
@data
1,.5:3,4x:a
