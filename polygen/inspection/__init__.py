"""Pictures and numbers for people."""
