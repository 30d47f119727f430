"""Transformations that let work items and groups share a reduction or a scan.

Start with `realize_reduction`: an accumulator, or a tree in local memory (`local_reductions`) or in
registers (`shuffled_trees`).  `parallelize_reduction` and `split_scan` share one among groups;
`share_rows` keeps rows in registers.
"""
