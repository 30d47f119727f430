"""Analysis: what is true of a kernel.

Nothing here changes a kernel.  The rooms, in the order in which they build on each other:
`integers` and `counting` know expressions and sets of integers only; `access`, `typing` and
`expansion` look at one instruction at a time; `order`, `pairs` and `rearrangement` at two instances
and which of them comes first; `dataflow` at which write a read sees; `equality` and `values` at
whether two kernels compute the same; `wellformed` at whether a kernel has one result at all.

A room imports from those before it, never from those after it.
"""
