"""Transformations of atomic updates.

Start with `privatize_atomics`: groups collect updates in copies of their own first.
`atomic_finish` lets groups of a reduction hand on what they found by one update.
"""
