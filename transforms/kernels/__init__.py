"""Transformations of whole kernels: fusing, batching, arguments, options, types, assumptions.

Start with `fuse_kernels` for several kernels, and with `set_options` and `fix_parameters` for one.
"""
