"""Choosing an exponent on some queries and judging it on others."""
