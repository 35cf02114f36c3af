"""Trusted kernel: exact numbers, statement, witness, exact forward passes, verdict.

Imports go one way: errors, rational, model, statement, decode, counts, hardmax, boxes, check.

Shapes used everywhere: d dimension, w width, n tokens of a sequence, K tokens in all, N pairs, M targets, L blocks.
"""
