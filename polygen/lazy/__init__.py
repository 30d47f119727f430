"""Calls that are traced, and run together when somebody needs what they compute."""
