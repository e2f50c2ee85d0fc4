"""What trained members get right: exact match, generation, certificates."""
