"""Pairs of instances: those that touch one element, and those that no order covers.

What is asked here: the set of pairs of instances with some property, such as a conflict, or being
executed under conditions that exclude each other.  It rests on `order` and `access`.
Start with `instance_pairs`; most of the others answer a question about pairs without isl.
"""
