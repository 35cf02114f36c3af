@dimensions two
@classLabel true
@equalLength maybe
@colour red
@dimensions 2
@data
1,2:3,4
