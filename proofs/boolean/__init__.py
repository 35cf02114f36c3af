"""Trusted for the sign of an encoder on all 2^N bit strings: at most 600 lines, imports nothing of ``interp``."""
