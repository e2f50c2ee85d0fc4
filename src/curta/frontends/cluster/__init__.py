"""What runs as a task: `task.py` without JAX, and in processes of its own the work, `worker.py`."""
