"""Turns text into kernels, and reads printed kernels back.

Start with `make_kernel`, which calls the others.  The grammars are the files ``*.lark``;
`expression_nodes`, `option_nodes` and `nodes` have a method for each of their rules.  `defaults`
and `arguments` find what the text leaves open: inames, dependencies, types and shapes of arguments.
`parse_kernel` reads a printed kernel, `draft` makes one without text.
"""
