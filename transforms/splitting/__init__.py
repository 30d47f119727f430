"""Transformations that make several loops of one, or one of several.

Start with `split_iname`, which most of the others use, and `join_inames`, its inverse; `tile`
splits several loops at once.  `separation_conditions` is for full tiles, peeled iterations and
other code that gets a loop of its own.
"""
