"""Weights of other programs, every float as the rational that it is."""
