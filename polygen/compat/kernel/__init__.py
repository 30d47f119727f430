"""Loo.py's modules about kernels."""

from polygen.compat._modules import imported as __getattr__

__all__ = ["__getattr__"]
