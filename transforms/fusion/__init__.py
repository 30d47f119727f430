"""Transformations that let instructions share loops, or take them apart.

Start with `fuse_loops` and `distribute_loop`, its inverse; `rename_iname` onto an existing iname is
fusion, too.  `loop_sharing` puts an instruction into the loops of another.
"""
