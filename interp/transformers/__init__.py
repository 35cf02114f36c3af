"""Transformer files: encoding, and the ledger of phases that a construction records."""
