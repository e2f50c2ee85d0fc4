"""The ways in: Python (`api`, `run`), the command line (`cli`), a server (`serve`)."""
