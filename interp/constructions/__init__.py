"""Drivers: each reads like the theorem it proves by construction. Untrusted: the kernel checks."""
