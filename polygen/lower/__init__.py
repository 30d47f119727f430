"""Lowers a kernel to a loop program: what is executed where, and in which order.

Start with `program`, the result, and `lower`, whose functions `prepare` and `lower_prepared` list
the stages in order, a line for each.  The main ones are `shared_scans` and `shared_reductions` (of
work items together), `reductions`, `barriers` (which asks `waits` who conflicts), `asynchronous`,
`lanes`, `launches`, `emit` (with `bounds`, `conditions` and `statements`), `declare`, and
`work_items` for targets without a grid.

What is decided here is checked again by `polygen.validation`, which does not use this code.
"""
