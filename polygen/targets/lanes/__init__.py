"""Expressions for all lanes of a vector at once.

What differs between lanes becomes a vector, the rest stays a number.  It rests on `expressions`.
Start with `lane_printer`; `lane_rules` says which rules differ, `lane_accesses` how vectors are
read and written.
"""
