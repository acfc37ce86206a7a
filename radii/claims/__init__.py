"""Claims about norms, one file each: how it is tested here, and what came out."""
