"""Loo.py's modules about kernels."""

from polygen.compat._names import imported as __getattr__

__all__ = ["__getattr__"]
