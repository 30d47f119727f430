"""Counts of what a kernel does: operations, accesses, barriers, elements.

Counts are formulas in the sizes.  Start with `count`, what a formula can be asked, and `op_map`;
`occurrences` and `executions` find what there is to count, and for which instances.
"""
