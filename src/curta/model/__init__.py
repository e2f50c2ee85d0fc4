"""The transformer, its position encodings, and recipes checked as a whole (`recipes`)."""
