"""One result object → terminal, JSON, HTML."""
