"""Transformations of arrays and temporaries: axes, layouts, address spaces, shared storage.

Declarations and all subscripts change together, by `array_rewriting` and `axis_rewriting`.
Start with `split_array_dim` or `tag_array_axes`.
"""
