"""The number of integer points in a set, as a formula in the parameters or as a number.

What is asked here: how many instances, elements or accesses there are.  It rests on `integers`.
Start with `point_counts`, which chooses the method; then `symbolic_sums`, which adds up
quasi-polynomials one name at a time, and `point_enumeration`, which counts for given sizes.
"""
