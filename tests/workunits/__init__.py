"""Work units: each against the space Debug, which runs plain Python, and against NumPy."""
