"""Transformers in the languages of other programs."""
