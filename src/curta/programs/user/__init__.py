"""Programs, encodings and probes of a user's: read, checked, kept with a run."""
