"""Loo.py's modules about kernels."""
