"""Kernels whose time says what a device can do at most: see `polygen.measure_limits`."""

from __future__ import annotations

from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.kernels.add_dtypes import add_dtypes
from polygen.transforms.kernels.assume import assume
from polygen.transforms.splitting.split_iname import split_iname

ITEMS = 256  # work items of a group on a GPU
LANES_BYTES = 64  # of a vector of a processor's
CHUNK = 2**16  # elements that a group copies on a processor
CHAINS = {"gpu": 8, "cpu": 12}  # multiplications that do not wait for each other
ROWS = 16  # of local memory: 16 KiB, so that many groups have some
WIDTHS = {"gpu": 1024, "cpu": 2**13}  # elements of each step: enough to start all threads


def copying(kind: str) -> Kernel:
    """Return what copies `n` numbers of 4 bytes, a multiple of `CHUNK`."""
    knl = make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]", name="copy")
    knl = assume(add_dtypes(knl, {"a": "float32"}), f"n > 0 and n mod {CHUNK} = 0")
    if kind == "gpu":
        knl = split_iname(knl, "i", 4 * ITEMS, outer_tag="g.0")
        return split_iname(knl, "i_inner", ITEMS, outer_tag="unr", inner_tag="l.0")
    knl = split_iname(knl, "i", CHUNK, outer_tag="g.0")
    return split_iname(knl, "i_inner", LANES_BYTES // 4, inner_tag="vec")


def multiplying(kind: str, dtype: str) -> Kernel:
    """Return what does ``x*f + g``, `m` times for each chain of each of `n` elements."""
    chains = CHAINS[kind]
    knl = make_kernel(
        f"{{ [i,t,first,k,last]: 0<=i<n and 0<=t<m and 0<=first,k,last<{chains} }}",
        """
        for i
            x[first] = a[i] + first  {id=begin}
            for t
                x[k] = x[k]*f + g  {id=step, dep=begin}
            end
            b[last,i] = x[last]  {dep=step}
        end
        """,
        [TemporaryVariable("x", None, chains), "..."],
        loop_priority="i,t,k",
        name=f"multiply_{dtype}",
    )
    knl = add_dtypes(knl, dict.fromkeys(("a", "b", "f", "g", "x"), dtype))
    knl = tag_inames(knl, dict.fromkeys(("first", "k", "last"), "unr"))
    lanes = lanes_of(kind, dtype)
    knl = assume(knl, f"n > 0 and n mod {lanes} = 0")
    if kind == "gpu":
        return split_iname(knl, "i", lanes, outer_tag="g.0", inner_tag="l.0")
    knl = split_iname(knl, "i", lanes, outer_tag="g.0", inner_tag="vec")
    return privatize_temporaries_with_inames(knl, "i_inner", ["x"])


def lanes_of(kind: str, dtype: str) -> int:
    """Return what the number of elements of `multiplying` is a multiple of."""
    if kind == "gpu":
        return ITEMS
    size = {"float16": 2, "float64": 8}.get(dtype, 4)
    return LANES_BYTES // size


def reading_local() -> Kernel:
    """Return what reads `h` elements of local memory `m` times, by each item of `n` groups.

    `h` is a multiple of 4, and at most `ROWS`: compilers are not to know it.
    """
    knl = make_kernel(
        f"{{ [g,row,w,l,r,k]: 0<=g<n and 0<=row<{ROWS} and 0<=w,l<{ITEMS} and 0<=r<m and 0<=k<h }}",
        """
        for g
            x[row,w] = a[row,w]  {id=fill}
            for l
                <> found = 0  {id=begin}
                for r
                    found = found + x[k,l]  {id=step, dep=begin:fill}
                end
                b[g,l] = found  {dep=step}
            end
        end
        """,
        [TemporaryVariable("x", None, (ROWS, ITEMS), address_space=AddressSpace.LOCAL), "..."],
        assumptions=f"m > 0 and 0 < h <= {ROWS} and h mod 4 = 0",
        loop_priority="g,l,r,k",
        name="read_local",
    )
    knl = add_dtypes(knl, dict.fromkeys(("a", "b", "x", "found"), "float32"))
    knl = split_iname(knl, "k", 4, inner_tag="unr")
    return tag_inames(knl, {"g": "g.0", "w": "l.0", "l": "l.0", "row": "unr"})


def following() -> Kernel:
    """Return what asks for `m` elements of global memory, each when the one before is there.

    Each call goes on where the one before ended.
    """
    knl = make_kernel(
        "{ [t]: 0<=t<m }",
        """
        <int32> at = last[0]  {id=begin, dep=*}
        for t
            at = place[at]  {id=step, dep=begin}
        end
        last[0] = at  {dep=step}
        """,
        name="follow",
        silenced_warnings=("NotParallel",),
    )
    return add_dtypes(knl, dict.fromkeys(("place", "last"), "int32"))


def stepping(kind: str) -> Kernel:
    """Return `2*m` launches with little to do, each of which needs what the one before wrote."""
    width = WIDTHS[kind]
    knl = make_kernel(
        f"{{ [t,i,j]: 0<=t<m and 0<=i,j<{width} }}",
        f"""
        for t
            b[i] = a[{width - 1} - i] + 1  {{id=there, dep=*}}
            a[j] = b[{width - 1} - j]  {{dep=there}}
        end
        """,
        loop_priority="t,i,j",
        name="steps",
    )
    knl = add_dtypes(knl, {"a": "float32", "b": "float32"})
    size, inner = (ITEMS, "l.0") if kind == "gpu" else (width // 64, None)
    knl = split_iname(knl, "i", size, outer_tag="g.0", inner_tag=inner)
    return split_iname(knl, "j", size, outer_tag="g.0", inner_tag=inner)


def adding(kind: str) -> Kernel:
    """Return `n` atomic updates of one element."""
    knl = make_kernel("{ [i]: 0<=i<n }", "total[0] = total[0] + a[i]  {atomic}", name="add")
    knl = assume(add_dtypes(knl, {"a": "float32"}), f"n > 0 and n mod {ITEMS} = 0")
    return split_iname(knl, "i", ITEMS, outer_tag="g.0", inner_tag="l.0" if kind == "gpu" else None)
