"""Loo.py's modules about targets."""
