"""What is measured, and how: see RESULTS.md for figures and `python -m benchmarks` for all."""
