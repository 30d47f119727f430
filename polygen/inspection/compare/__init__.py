"""Whether two kernels compute the same, by proof or by running them.

Start with `equivalent`, which proves it or looks for a counterexample, and `auto_test`, which runs
both on random arguments.
"""
