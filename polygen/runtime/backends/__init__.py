"""The targets as the runtime sees them: each compiles, allocates, copies and starts functions.

What is asked here: how a program of a target runs.  `backend` says what a row of the table answers,
`backend_table` has the rows, and each of the folders `c`, `opencl` and `cuda` makes one of them.
They rest on `calls`, and know nothing of each other.
"""
