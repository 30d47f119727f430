"""Kernels whose groups look back, for the host's processor and for a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.expression import Variable
from polygen.lower.look_back import preambles

OPERATIONS: dict[tuple[str, str], Any] = {
    ("sum", "int32"): np.cumsum,
    ("sum", "float32"): np.cumsum,
    ("product", "float64"): np.cumprod,
    ("max", "int32"): np.maximum.accumulate,
    ("min", "float32"): np.minimum.accumulate,
}


def running(operation: str, dtype: str, length: int = 64) -> pg.Kernel:
    """Return a scan in which a group takes what those before it came to."""
    knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", f"b[i] = {operation}(j, a[j])", name="running")
    knl = pg.split_scan(pg.add_dtypes(knl, {"a": dtype}), "i", length)
    knl = pg.assignment_to_subst(knl, "total_j")
    knl = pg.rename_iname(knl, "i_before", "i_outer", existing_ok=True)
    knl = pg.tag_inames(knl, {"i_outer": "g.0", "i_inner": "l.0", "j_total": "l.0"})
    return pg.set_options(knl, look_back=True)


def numbers(operation: str, dtype: str, count: int) -> Any:
    """Return numbers to scan: results are exact."""
    rng = np.random.default_rng(count)
    if operation == "product":
        return rng.choice([-1, 1], count).astype(dtype)
    return rng.integers(-9, 10, count).astype(dtype)


def alone(small: bool) -> pg.Kernel:
    """Return a kernel of one group that looks back, and finds what its argument says of others."""
    dtype = np.int32 if small else np.int64
    look = pg.CInstruction(
        (("place", Variable("part")),),
        "pg_look_back<pg_look_back_sum>(state, place, own, taken);",
        read_variables=frozenset(("own", "state")),
        assignees=(Variable("taken"), Variable("state")),
        within_inames=frozenset(("lane",)),
        id="look",
    )
    knl = pg.make_kernel(
        "{ [lane]: 0<=lane<32 }",
        [look],
        [
            pg.GlobalArg("state", np.uint64, "m"),
            pg.GlobalArg("own", dtype, 1),
            pg.GlobalArg("taken", dtype, 1),
            pg.ValueArg("part, m", np.int32),
        ],
        name="alone",
    )
    with pg.without_proofs():  # all write the same
        knl = pg.tag_inames(knl, {"lane": "l.0"})
    return knl.copy(preambles=tuple(preambles("sum", ())))


def told(small: bool, part: int, nearest: int, rng: Any) -> tuple[Any, int, int]:
    """Return a state, what a part comes to, and what all before it come to.

    Parameters:
        small: whether numbers have four bytes.
        part: the part that looks back.
        nearest: the last one before it that has told what it comes to with all before.
        rng: makes random numbers.
    """
    own = rng.integers(-1000, 1000, part + 1)
    kinds = np.where(np.arange(part) > nearest, 1, rng.integers(0, 3, part))
    kinds[nearest] = 2
    whole = np.cumsum(own)
    if small:
        values = np.where(kinds == 2, whole[:part], own[:part]).astype(np.int32).view(np.uint32)
        words = kinds.astype(np.uint64) << np.uint64(32) | values
        state = np.concatenate([[0], words, [0]])
    else:
        cells = np.stack([kinds, own[:part], whole[:part]], axis=1).reshape(-1)
        state = np.concatenate([[0], cells, [0, 0, 0]])
    return state.astype(np.uint64), int(own[part]), int(whole[part - 1])
