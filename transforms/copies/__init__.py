"""Transformations that keep values near: prefetching, precomputing, buffers, double buffers.

Values of a substitution rule or an array are computed ahead of their uses and stored in a
temporary.  Start with `precompute`; `add_prefetch` and `buffer_array` are made of it.
`_staged_values` is what they share.
"""
