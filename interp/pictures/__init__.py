"""Untrusted. Pictures of what a transformer does to a dataset: the page of ``interp report``, figures for papers."""
