"""The loop tree, and which instances the kernel orders.

What is asked here: how loops can nest, what dependencies, priorities and groups say, and which of
two instances comes first.  It rests on `access` and `integers`.
Start with `loop_tree`, then `instance_order`; `access_times` adds when a reduction reads.
"""
