"""Functions that traced programs may call, beside NumPy's."""
