"""What every written file shares: how numbers are written, and that no file is ever half-written."""
