"""Turns text, and calls, into kernels, and reads printed kernels back.

Start with `make_kernel`, which reads text, and `kernel_assembly`, which puts kernels together: of
what text says, and of what calls of a `builder` say, with its `handles`.  The grammars are the
files ``*.lark``; `expression_nodes`, `option_nodes` and `nodes` have a method for each of their
rules.  `defaults` and `arguments` find what is left open: inames, dependencies, types and shapes of
arguments.  `parse_kernel` reads a printed kernel.
"""
