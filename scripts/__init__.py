"""What keeps the repository's pages, figures and bundled data true; run from the repository's root."""
