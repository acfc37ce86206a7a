"""From a recommendation to vectors that an engine ranks by, and proof that it does."""
