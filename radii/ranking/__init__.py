"""score_γ, the exact exponent path, and metrics as step functions of γ."""
