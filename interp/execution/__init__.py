"""Runs a transformer on any input: exactly through the kernel, or approximately for looking."""
