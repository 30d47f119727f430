"""The languages: for each target, a table of what differs between C-like languages.

Start with `target`, which says what there is to fill in; then `opencl`, `cuda` or `c_openmp`.
A new target is a file here, a line in `registry`, and rows elsewhere: for its facts, arrays, calls
and files.  CONTRIBUTING.md, "A target of your own", lists them.
"""
