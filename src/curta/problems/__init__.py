"""Problems as text and values, their truth by plain Python, and how they are drawn."""
