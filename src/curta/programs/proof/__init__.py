"""Listing the windows that can occur, and proving that a list is complete."""
