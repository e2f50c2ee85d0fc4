"""Recipes and what everything rests on: errors, files. Nothing here needs JAX."""
