"""Shared parts of `add_bank_padding` and `bank_conflicts`: the temporaries to look at."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.typing.inference import infer_types
from polygen.errors import AxisNotPossible, InvalidArgument
from polygen.ir.array import AddressSpace, Array
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Strided
from polygen.source import caller_location
from polygen.transforms.arrays.axis_rewriting import with_all_tags


def in_banks(kernel: Kernel, names: Sequence[str]) -> tuple[Kernel, tuple[Array, ...]]:
    """Return the kernel with axes for all inames, and local temporaries with types and tags.

    Raises:
        InvalidArgument: if one is not in local memory.
        AxisNotPossible: if the strides of one are given.
        TypeNotFound: if its type does not follow from what is known.
    """
    plain = kernel.on_axes
    for name in names:
        space = plain.address_space(name)
        if space is not AddressSpace.LOCAL:
            raise InvalidArgument(
                f"'{name}' is {space.value}: only local memory is in banks",
                where=caller_location(),
                remedy=f"set_temporary_address_space(kernel, '{name}', 'local') puts it there",
            )
        if any(isinstance(tag, Strided) for tag in plain.array(name).dim_tags or ()):
            raise AxisNotPossible(
                f"the strides of '{name}' are given: there is no end of a row to leave room at",
                where=caller_location(),
                remedy="give the axes the tags N0, N1, ...: tag_array_axes",
            )
    if any(plain.array(name).dtype is None for name in names):
        plain = infer_types(plain)
    return plain, tuple([with_all_tags(plain.array(name)) for name in names])
