"""Proofs that other loops execute the same instances in a legal order.

What is asked here: which instance of the old kernel each instance of the new one is, whether none
is lost or made twice, and whether conflicting pairs keep their order.  It rests on `pairs`.
Start with `legality`, the proof by order; then `same_instances`, and `kept_order`, its fast path.
"""
