"""What a transformer does in floating point: runs, rigorous error bounds, decisions compared with the exact run."""
