@timeStamps true
@classLabel true a b
@data
(0,1),(1,2):a
