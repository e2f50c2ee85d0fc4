"""Run folders, sessions, and comparisons."""
