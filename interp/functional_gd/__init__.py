"""Transformers that are functional gradient descent in context: built and written here, checked in ``proofs``."""
