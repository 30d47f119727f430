"""Proofs that a step keeps the value of everything that the kernel computes.

What is asked here: the proof by value, for steps that exchange instructions or variables.  It rests
on `dataflow` and on the instance map that the step gives.
Start with `equivalence`, then `value_matching` and `read_matching`; `unaffected_variables` says
which variables nobody has to look at.
"""
