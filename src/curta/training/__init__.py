"""Training: data, loss, optimisers, the compiled chunk of steps, devices and processes."""
