"""Compares what a transformer uses with what the theorems allow."""
