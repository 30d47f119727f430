"""Expansion of calls of kernels and of uses of substitution rules.

What is asked here: the instructions in the place of a call, where a rule is used, and which of its
values have to be computed ahead of that.  It rests on `typing` and `access`.
Start with `inlining`; `values_to_precompute` is what prefetching asks.
"""
