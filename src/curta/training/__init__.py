"""What is trained on, loss, step, the compiled chunk of steps, optimisers, devices."""
