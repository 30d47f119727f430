"""Transformations of single instructions: their order, names and tags, and how they are written.

Start with `add_dependency`; `simplify_indices`, `fold_constants` and `collect_common_factors`
rewrite expressions that keep their value.
"""
