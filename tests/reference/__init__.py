"""Independent evaluators, written from the definitions; they import nothing of ``proofs`` or ``interp``."""
