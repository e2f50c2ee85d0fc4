"""Exact match, generation, and certificates."""
