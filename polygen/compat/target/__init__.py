"""Loo.py's modules about targets."""

from polygen.compat._modules import imported as __getattr__

__all__ = ["__getattr__"]
