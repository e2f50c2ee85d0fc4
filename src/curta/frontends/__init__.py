"""The ways in: Python (`api`), the command line (`cli`), a server (`serve`)."""
