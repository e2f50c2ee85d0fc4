"""Scripts that measure, draw and write what the pages show."""
