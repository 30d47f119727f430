"""The types of expressions and variables, by NumPy's rules.

What is asked here: the type of each expression and of each variable without a declared one, the
functions that kernels may call, and whether 32 bits hold an index.  It rests on `integers` and
`access`.  Start with `kinds` and `expression_types`; then `inference` for what nobody declared.
A new function of mathematics is a row in `functions`, and its derivative one in `derivatives`.
"""
