"""What comes in: vectors, texts, queries, qrels; one reader per format; the bundled demo."""
