"""`polygen.Builder`: kernels that calls put together, for programs that write kernels.

`builder.Builder` is one class, written in parts: each file of methods has one subject, and all of
them add to a `draft.Draft`, which keeps names, variables, loops and statements so far.
`open_blocks` knows the loops and conditions that are open; `builder_arguments` reads what methods
are given.  Read `draft` first, then `builder.Builder.kernel`, which hands what there is to
`polygen.language.kernel_assembly`.
"""
