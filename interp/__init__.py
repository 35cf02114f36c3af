"""Builds transformers that interpolate sequence datasets exactly; ``proofs`` checks them."""
