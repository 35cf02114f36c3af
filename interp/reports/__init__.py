"""What was checked, as continuous integration reads it: JUnit XML, SARIF, GitHub annotations, markdown."""
