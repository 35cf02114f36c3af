"""Steps of the constructions, one a module, named after its lemma in ``proofs.lemmas``. Untrusted."""
