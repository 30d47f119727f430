"""Transformations that make, use and remove substitution rules.

A rule names an expression, so that other steps can store its values or change it in one place.
Start with `extract_subst` and `expand_subst`; `rewritten_rules` keeps rules while what they say
is rewritten.
"""
