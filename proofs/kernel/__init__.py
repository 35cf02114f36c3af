"""Trusted kernel: exact numbers, statement, witness, exact forward passes, verdict.

Imports go one way: errors, rational, model, statement, decode, counts, hardmax, boxes,
softmax, check (which alone also calls ``proofs.balls``).

Shapes used everywhere: d dimension, w width, n tokens of a sequence, K tokens in all, N pairs, M targets, L blocks.
"""
