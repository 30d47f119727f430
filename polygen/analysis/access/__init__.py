"""Access relations: the elements that each instance touches, and where these are stored.

What is asked here: an instruction's domain, its access relations, the footprint of an array, the
copies of a temporary, strides and memory banks.  It rests on `integers` and `counting`.
Start with `domains` and `accesses`; then `storage_copies` for private and local memory.
"""
