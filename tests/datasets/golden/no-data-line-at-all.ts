@dimensions 2
@classLabel true a b
