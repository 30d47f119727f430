"""Derivatives of kernels: Jacobians, tangents and adjoints.

Start with `diff_kernel`; then `_forward_mode`, and `_reverse_mode`, which runs loops backwards.
`_expression_derivatives` differentiates an expression; the rules for functions are a table of
`polygen.analysis.typing.derivatives`.
"""
