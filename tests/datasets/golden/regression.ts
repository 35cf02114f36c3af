@dimensions 2
@targetLabel true
@data
1,2:3,4:0.5
