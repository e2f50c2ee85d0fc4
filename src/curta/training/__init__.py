"""Data, loss, step, and the compiled chunk of steps."""
