"""Validation: proves that a loop program computes what its kernel says."""
