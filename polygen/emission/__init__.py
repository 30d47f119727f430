"""Source for other hosts: files that need no Python, and shared libraries with a thin module."""
