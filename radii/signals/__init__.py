"""One file per signal of a document."""
