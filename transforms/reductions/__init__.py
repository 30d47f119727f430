"""Transformations of reductions: split, in parts, fused, unrolled, in fewer bits.

They change which values a reduction combines first, so that they need leave to reassociate for
floating-point numbers.  Start with `split_reduction_inward` and `split_reduction_outward`.  What
maps reductions to work items is the next room.
"""
