"""Encoders on bit strings: built, drawn at random and trained here, with what theory says; checked in ``proofs``."""
