"""Comparing two kernels: by proof, or by running both.

Start with `equivalent`, which proves it or looks for a counterexample, and `auto_test`, which runs
both on random arguments.
"""
