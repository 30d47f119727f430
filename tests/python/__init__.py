"""The front end of Python functions."""
