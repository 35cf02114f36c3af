"""Trusted for "the transformer is functional gradient descent": at most 600 lines, imports nothing of ``interp``."""
