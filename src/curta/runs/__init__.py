"""Runs and comparisons: their folders, checkpoints, training, resuming, trackers, clusters."""
