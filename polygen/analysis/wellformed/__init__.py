"""Proofs that a kernel is well formed: it has one result, and stays inside its arrays.

What is asked here: that every read is covered by a write, every access inside its array, and every
conflicting pair ordered; what only data decides becomes an obligation.  It rests on all rooms
before it.  Start with `check`, the list of checks; each has a file, and `obligations` what is left.
"""
