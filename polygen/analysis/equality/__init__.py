"""Proofs that two kernels which no step links compute the same.

What is asked here: equality of outputs, without an instance map, by claims about pairs of values
that are proved by induction.  It rests on `dataflow` and `typing`.
Start with `prove`, then `claims` and `compare`; `bag` and `pieces` are about sums.
"""
