"""Trusted for the verdict "at one temperature": attention enclosed by Arb balls (python-flint)."""
