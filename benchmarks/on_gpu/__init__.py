"""Reductions on a GPU: which, and how each library does them."""
