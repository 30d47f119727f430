"""How far apart neighbours are in memory, also along joined inames."""

from __future__ import annotations

from collections import Counter

import pytest

import polygen as pg
from polygen.analysis.access.strides import Address
from polygen.language.parser import parse_expression
from tests.analysis.python_values import python_value

NAMES = ("r", "p", "i", "n", "m", "u", "v")
# shape, subscripts, then for each iname its stride everywhere, and in runs
CASES = [
    ("n,m", "i, p", {"i": ("m", "m"), "p": (1, 1), "r": (0, 0)}),
    ("n,m", "2*i + 1, p*p", {"i": ("2*m", "2*m"), "p": (None, None)}),
    ("n,m", "r//m, r % m", {"r": (1, 1)}),
    ("n,m,u", "r//m, r % m, p", {"r": ("u", "u"), "p": (1, 1)}),
    ("n,m,u", "r//u//m, r//u % m, r % u", {"r": (1, 1)}),
    ("n,m,u,v", "r//u, p//v, r % u, p % v", {"r": (None, "v"), "p": (None, 1)}),
    (
        "n,m,u,v", "r//(u*v), p, r % (u*v) // v, r % (u*v) % v",
        {"r": (None, 1), "p": ("u*v", "u*v")},
    ),
    ("8,2,10,5", "r//50, p, r//5 - 10*(r//50), r % 5", {"r": (None, 1), "p": (50, 50)}),
    ("8,2,10,5", "r//100, r//50 - 2*(r//100), r//5 - 10*(r//50), r % 5", {"r": (1, 1)}),
    ("8,2,10,5", "r//10, p//5, r % 10, p % 5", {"r": (None, 5), "p": (None, 1)}),
    ("n,m", "i//2, p % 3", {"i": (None, 0), "p": (None, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "index", "strides"), CASES)
def test_strides(shape: str, index: str, strides: dict[str, tuple[object, object]]) -> None:
    with pg.without_proofs():
        knl = pg.make_kernel("{ [r]: 0<=r<1 }", "b[r] = 1", [pg.GlobalArg("a", shape=shape), "..."])
    subscripts = tuple(map(parse_expression, index.split(", ")))
    address = Address(knl.array("a"), subscripts, NAMES)
    for iname, expected in strides.items():
        found = address.stride(iname), address.stride_in_runs(iname)
        assert tuple(None if s is None else str(s) for s in found) == tuple(
            None if s is None else str(s) for s in expected
        )


@pytest.mark.parametrize(("shape", "index", "strides"), CASES)
def test_brute_force(shape: str, index: str, strides: dict[str, tuple[object, object]]) -> None:
    """How far apart elements of neighbours are: always, and most of the time."""
    values = dict.fromkeys(NAMES, 0) | {"n": 4, "m": 3, "u": 4, "v": 5}
    extents = [int(python_value(extent, values)) for extent in shape.split(",")]

    def place(at: dict[str, int]) -> int:
        offset = 0
        for position, extent in zip(index.split(","), extents, strict=True):
            offset = offset * extent + int(python_value(position, values | at))
        return offset

    for iname, (exact, in_runs) in strides.items():
        steps = Counter(place({iname: k + 1}) - place({iname: k}) for k in range(60))
        if exact is not None:
            assert list(steps) == [python_value(str(exact), values)]
        else:
            assert len(steps) > 1
        if in_runs:
            ((most, _),) = steps.most_common(1)
            assert most == python_value(str(in_runs), values)
