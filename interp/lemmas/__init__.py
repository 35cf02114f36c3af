"""Who depends on whom among the lemmas, and how each is proved."""
