"""The languages: for each target, a table of what differs between C-like languages.

Start with `target`, which says what there is to fill in; then `opencl`, `cuda` or `c_openmp`.
A new target is a file here, and a line in `registry`.
"""
