"""The order of instances, and the steps that it permits.

What is asked here: why two instructions are ordered, which loops can be parallel, whether a step is
legal, which schedule isl proposes.  Start with `explain_order` and `legal_steps`.
"""
