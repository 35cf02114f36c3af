"""Datasets in files: reading, checking against the theorems' hypotheses, mending, converting."""
