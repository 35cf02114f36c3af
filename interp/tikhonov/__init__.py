"""Regularised learning: trains with the penalty eps |theta|^2 and measures the runs against an exact interpolant."""
