"""Problems, their truth by Python, and how they are drawn."""
