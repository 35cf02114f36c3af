"""Trusted. A part of the engine on its own: tokens that lie in a plane of few dimensions (at most 320 lines).

It rests on ``proofs.engine.integers`` and ``proofs.engine.state`` alone, and ``proofs.engine.forward`` alone uses it.
"""
