@univariate true
@classLabel true a b
@data
1,2:a
