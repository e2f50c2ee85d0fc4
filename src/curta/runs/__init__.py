"""Run folders, checkpoints, sessions that train and evaluate, comparisons, trackers."""
