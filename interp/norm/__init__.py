"""The parameter norm of a transformer, exactly, and rescalings that make it small without changing what is computed."""
