"""Random functions of Python's, beside CPython with NumPy."""
