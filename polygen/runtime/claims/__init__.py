"""Checks a call's data against what its kernel takes for granted.

What is asked here: whether subscripts that data gives are inside of arrays, and instances that
touch one element are those that the kernel allows.  It rests on `arrays`.  Start with
`assumptions`; where ends of loops do not suffice, `instance_tables` looks at all instances.
"""
