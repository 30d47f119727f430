"""`make_copy_kernel`: kernels that copy an array into one with another layout."""

from __future__ import annotations

from polygen.errors import WrongArity
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.layouts import axis_count
from polygen.language.make_kernel import make_kernel
from polygen.language.parser import located


@public
def make_copy_kernel(new_dim_tags: str, old_dim_tags: str | None = None) -> Kernel:
    """Return a kernel that copies ``input`` into ``output``, which has another layout.

    The extents are ``n0, n1, ...``.  A layout is a text with a tag for each axis, as for the
    ``dim_tags`` of a `GlobalArg`: ``C``, ``F``, ``N0``, ``N1``, ..., ``stride:...``; not ``vec``
    and ``sep``, for which extents have to be known.

    Parameters:
        new_dim_tags: the layout of ``output``, as in ``"F,F"``.
        old_dim_tags: that of ``input``; ``C`` for all axes if there is none.

    Raises:
        MalformedTag: if a tag is none of these, or if they contradict each other.
        MalformedLayout: if a tag wants an extent to be a number.
        WrongArity: if the layouts are of different numbers of axes.
        UserError: as `make_kernel` does, for strides that are no expressions, say.

    >>> import numpy as np
    >>> import polygen as pg
    >>> event, (output,) = pg.make_copy_kernel("F,F")(input=np.ones((2, 3)))
    >>> output.strides
    (8, 16)
    """
    count = axis_count(new_dim_tags)
    if old_dim_tags is not None and axis_count(old_dim_tags) != count:
        raise located(
            WrongArity,
            f"the new layout is of {count} axes, and the old one of {axis_count(old_dim_tags)}",
            new_dim_tags,
            0,
            "give a tag for each axis",
        )
    axes = range(count)
    shape = tuple([f"n{axis}" for axis in axes])
    index = ", ".join(f"i{axis}" for axis in axes)
    return make_kernel(
        [f"{{ [i{axis}]: 0 <= i{axis} < n{axis} }}" for axis in axes],
        f"output[{index}] = input[{index}]",
        [
            GlobalArg("input", shape=shape, dim_tags="C" if old_dim_tags is None else old_dim_tags),
            GlobalArg("output", shape=shape, dim_tags=new_dim_tags),
            "...",
        ],
        loop_priority=index,
    )
