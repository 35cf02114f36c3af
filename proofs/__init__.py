"""The checking half of the project: reads a statement and a witness, answers with a verdict.

Nothing here imports ``interp``. ``kernel`` is the trusted part; ``lemmas`` states what each step of a
construction promises and why the promise holds.
"""
