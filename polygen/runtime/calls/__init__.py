"""Turns the arguments of a call into those of a function: checks, converts, plans, records.

What is asked here: which variant of a kernel a call needs, and what its wrapper passes on.  It
rests on `arrays`, and knows no target.  Start with `arguments`, then `call_wrapper`, which writes
the Python function that later calls of the same form go through.
"""
