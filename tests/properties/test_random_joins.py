"""Random loops over sizes, joined and rearranged, as C: what is behind validation is right, too.

Quotients by sizes are carried through loops, or loops divided where they change, when the loop
program has been compared with its kernel.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

SIZES = {"i": "n", "j": "m", "k": "v", "l": "w"}
LIKELY = (0, 1, 1, 2, 3, 5, 7, 18)


def rearranged(knl: Kernel, groups: list[list[str]], r: random.Random) -> Kernel:
    """Return the kernel with loops joined in any order, and something done to what results."""
    for name, inames in zip("RP", groups, strict=True):
        if len(inames) < 2:
            continue
        knl = pg.join_inames(knl, r.sample(inames, len(inames)), name)
        kind = r.choice(("split", "items", "shift", "reverse", "chunk", ""))
        if kind == "split":
            knl = pg.split_iname(knl, name, r.choice((3, 8, 20)))
        elif kind == "items":
            knl = pg.split_iname(knl, name, r.choice((4, 20)), inner_tag="l.0")
        elif kind == "shift":
            knl = pg.shift(knl, name, r.choice((-3, 4)))
        elif kind == "reverse":
            knl = pg.reverse(knl, name)
        elif kind == "chunk":
            knl = pg.chunk_iname(knl, name, r.choice((2, 3)))
    return knl


def check(seed: int) -> bool:
    """Check a random kernel on a few sizes; return whether its steps could be taken."""
    r = random.Random(seed)
    names = "ijkl"[: r.choice((2, 3, 4))]
    extents = {i: SIZES[i] if r.random() < 0.6 else str(r.choice((2, 3, 5, 17))) for i in names}
    reduced = [i for i in names if r.random() < 0.35]
    kept = [i for i in names if i not in reduced]
    axes = r.sample(names, len(names))
    value = f"a[{','.join(axes)}]" + "".join(f" + {n}*{i}" for n, i in enumerate(names, 2))
    if reduced:
        value = f"reduce(sum, ({', '.join(reduced)}), {value})".replace(
            "(" + reduced[0] + ")", reduced[0]
        )
    bounds = " and ".join(f"0<={i}<{extents[i]}" for i in names)
    array = pg.GlobalArg("a", "float64", ",".join(extents[i] for i in axes))
    knl = kernel(
        f"{{ [{','.join(names)}]: {bounds} }}", f"s[{','.join(kept) or 0}] = {value}", array
    )
    try:
        new = rearranged(knl, [reduced, kept], r)
    except UserError:
        return False
    run = new.executor("c")
    for _ in range(4):
        sizes = {size: r.choice(LIKELY) for size in SIZES.values()}
        shape = {i: int(sizes.get(extents[i], extents[i])) for i in names}
        a = np.random.default_rng(seed).integers(-8, 9, [shape[i] for i in axes]).astype(float)
        expected = a.transpose([axes.index(i) for i in names])
        for place, i in enumerate(names):
            along = np.arange(shape[i]).reshape([-1 if i == other else 1 for other in names])
            expected = expected + (place + 2) * along
        expected = expected.sum(tuple(names.index(i) for i in reduced))
        given = {size: n for size, n in sizes.items() if size in knl.parameters}
        (found,) = run(a=a, **given)[1]
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    return True


def test_a_few() -> None:
    assert sum(map(check, range(16))) >= 14


@pytest.mark.deep
def test_many() -> None:
    assert sum(map(check, range(1000, 1600))) > 550
