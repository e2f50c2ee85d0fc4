"""Recipes, their sections and the files that come with Curta; errors, files, registries. No JAX."""
