"""Trusted. The fast exact engine: the answer of the kernel's dense passes, by structure derived from the weights.

Nothing here reads a hint of the witness: what is used was compared exactly, and what does not fit goes a general way
(Python integers, the dense layer, the kernel's dense pass). ``python -m proofs check --paranoid`` does without it.

Shapes used everywhere: d dimension, w width, K tokens in all, N sequences, L blocks of a run, T tokens that move.
Imports go one way: integers, radii, state, statement, program, runs, layers, attention, packed, forward, boxes, passes.
``forward`` also uses ``proofs.planes``, which rests on integers and state alone.
"""
