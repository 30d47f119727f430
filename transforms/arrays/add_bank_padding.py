"""`polygen.add_bank_padding`."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from polygen.analysis.access.banks import Banks, conflicts_of
from polygen.ir.array import Array
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Nested, nest
from polygen.transformation import PositiveInt, to_names, transformation
from polygen.transforms.arrays.array_rewriting import Temporaries, check_no_verbatim
from polygen.transforms.arrays.banked_temporaries import in_banks
from polygen.transforms.arrays.tag_array_axes import tag_array_axes


@transformation(declared=True)
def add_bank_padding(
    kernel: Kernel, names: Temporaries, banks: PositiveInt = 32, bank_bytes: PositiveInt = 4
) -> Kernel:
    """Leave room at the ends of rows in local memory, so that work items ask different banks.

    Neighbouring words of local memory are in neighbouring banks, and a bank has one word for all
    work items that ask at a time.  What each access asks for follows from its subscripts:
    `polygen.bank_conflicts` shows it.  Of the paddings with the fewest conflicts, summed over the
    accesses, the least is taken; where none is better than none, the kernel stays as it is.

    Kind: order and storage.

    Requires:
        1. The temporaries are in local memory.
        2. Their layouts are made of axes inside of each other: ``N0``, ``N1``; none is a stride.
        3. Their types are known, or follow from what is known.
        4. Verbatim C does not touch them: its text says where elements lie.

    Parameters:
        names: the temporaries: ``"s, t"``, or a sequence.
        banks: how many banks there are; each serves one work item at a time, so as many work
            items, of consecutive numbers, ask together: fewer where an element takes several
            words.
        bank_bytes: how many bytes a word of a bank has.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i,j<n }", "b[j,i] = a[i,j]", name="turn", assumptions="n mod 32 = 0",
        ... )
        >>> knl = pg.tile(
        ...     pg.add_dtypes(knl, {"a": "float32"}), {"i": 32, "j": 32},
        ...     outer_tags={"i": "g.0", "j": "g.1"}, inner_tags={"i": "l.0", "j": "l.1"},
        ... )
        >>> knl = pg.add_prefetch(knl, "a", ["i_inner", "j_inner"], temporary_name="t")
        >>> for access in pg.bank_conflicts(knl, "t"):
        ...     print(access.access, access.ways)
        t[a_dim_0, a_dim_1] 1
        t[i_inner, j_inner] 32
        >>> knl = pg.add_bank_padding(knl, "t")
        >>> print(str(pg.generate_code(knl, "opencl")).partition("__local ")[2])
        float t[1056];
        <BLANKLINE>
            t[33 * j_inner + i_inner] = a[(32 * i_outer + j_inner) * n + 32 * j_outer + i_inner];
            barrier(CLK_LOCAL_MEM_FENCE);
            b[(32 * j_outer + j_inner) * n + 32 * i_outer + i_inner] = t[33 * i_inner + j_inner];
        }

    Raises:
        UnknownArgument: if the kernel has no such temporary.
        InvalidArgument: if one is an argument, or if 1 does not hold.
        AxisNotPossible: if 2 does not hold.
        TypeNotFound: if 3 does not hold.
        VerbatimNotPossible: if 4 does not hold.

    Source: Ruetsch, Micikevicius, Optimizing Matrix Transpose in CUDA, 2009.
    """
    given = to_names(names)
    check_no_verbatim(kernel, given)
    plain, arrays = in_banks(kernel, given)
    for array in arrays:
        padded = _padded(plain, array, Banks(banks, bank_bytes))
        if padded is not array:
            kernel = tag_array_axes(kernel, array.name, padded.dim_tags or ())
    return kernel


def _padded(kernel: Kernel, array: Array, banks: Banks) -> Array:
    """Return the array with the least room at the ends of rows that leaves the fewest conflicts."""
    best, least = array, _waiting(kernel, array, banks)
    axes = nest(array) or []
    size = 1 if array.dtype is None else array.dtype.itemsize
    words = banks.count * banks.width
    for more in range(1, words // gcd(words, size)):
        if least == 0 or len(axes) < 2:
            break
        other = _with_room(array, *axes[-1], more)
        if (waiting := _waiting(kernel, other, banks)) < least:
            best, least = other, waiting
    return best


def _with_room(array: Array, axis: int, room: Expression, more: int) -> Array:
    assert isinstance(room, int)  # the shape of what is in local memory
    tags = array.dim_tags or ()
    padded = Nested(0, room + more)
    return replace(array, dim_tags=(*tags[:axis], padded, *tags[axis + 1 :]))


def _waiting(kernel: Kernel, array: Array, banks: Banks) -> int:
    """Return how often accesses ask a bank again, as far as that is known."""
    return sum((found.ways or 1) - 1 for found in conflicts_of(kernel, array, banks))
