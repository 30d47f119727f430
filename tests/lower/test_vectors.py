"""Components of one vector that several work items write are not written with the whole vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.vectors import shared_vectors

LOOPS = "{ [i, j]: 0<=i<n and 0<=j<4 }"
BOTH = "a[i, 0] = 1 \n a[n - 1 - i, 1] = 2"
A = pg.GlobalArg("a", "float32", "n, 4", dim_tags="N0, vec")


def kernel(text: str, tags: dict[str, str], loops: str = LOOPS, *more: Any) -> Kernel:
    knl = pg.make_kernel(loops, text, [A, *more, "..."], loop_priority="i, j")
    if "j" in knl.inames:
        tags = {"j": "unr", **tags}
    return pg.tag_inames(knl, tags)


CASES: list[tuple[str, dict[str, str], bool]] = [
    # what is written, the axes, whether two items may write to one vector
    ("a[i, j] = i", {"i": "g.0"}, False),
    ("a[i, j] = i  {if=j % 2 == i % 2}", {"i": "g.0"}, False),
    ("a[n - 1 - i, 3 - j] = i", {"i": "g.0"}, False),
    ("a[i, 0] = 1 \n a[i, 1] = 2", {"i": "g.0"}, False),
    (BOTH, {"i": "g.0"}, True),
    (BOTH, {}, False),
    ("a[i, 0] = 1 \n a[i + 1, 1] = 2  {if=i + 1 < n}", {"i": "g.0"}, True),
    ("a[idx[i], j] = i", {"i": "g.0"}, True),  # as far as is known
    ("out[i] = a[n - 1 - i, 1] + a[i, 0]", {"i": "g.0"}, False),
]


@pytest.mark.parametrize(("text", "tags", "shared"), CASES, ids=lambda x: str(x)[:40])
def test_which_vectors_are_shared(text: str, tags: dict[str, str], shared: bool) -> None:
    loops = LOOPS if "j" in text else "{ [i]: 0<=i<n }"
    with pg.without_proofs():
        knl = pg.make_kernel(loops, text, [A, "..."], loop_priority="i, j" if "j" in text else ())
        knl = pg.tag_inames(knl, {**tags, **({"j": "unr"} if "j" in text else {})})
    assert (shared_vectors(knl) == {"a"}) is shared


def test_groups_have_their_own_local_vectors() -> None:
    tile = pg.TemporaryVariable("t", "float32", (8, 4), pg.AddressSpace.LOCAL, dim_tags="N0, vec")
    text = "t[l, 0] = a[g, l] \n t[7 - l, 1] = 2  {inames=g:l} \n out[g, k] = t[k, 0] + t[k, 1]"
    knl = pg.make_kernel(
        "{ [g, l, k]: 0<=g<n and 0<=l,k<8 }",
        text,
        [tile, pg.GlobalArg("a", "float32", "n, 8"), "..."],
        loop_priority=("g, l", "g, k"),
        seq_dependencies=True,
    )
    assert shared_vectors(pg.tag_inames(knl, {"g": "g.0"})) == frozenset()
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "k": "l.0"})
    assert shared_vectors(knl) == {"t"}
    assert "((__local float *) &t[7 - l])[1] = 2.0f;" in str(pg.generate_code(knl, "opencl"))
    a = np.arange(24, dtype=np.float32).reshape(3, 8)
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], a + 2)


def test_text_and_values() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", BOTH, [A, "n"])
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    source = str(pg.generate_code(knl, "opencl"))
    assert "((__global float *) &a[16 * i_outer + i_inner])[0] = 1.0f;" in source
    assert "((float *) &a[" in str(pg.generate_code(knl, "c"))
    wanted = np.zeros((1000, 4), np.float32)
    wanted[:, :2] = 1, 2
    for target in ("c", "opencl"):
        _, (a,) = knl.executor(target)(a=np.zeros((1000, 4), np.float32))
        np.testing.assert_array_equal(a, wanted)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_vectors_of_three_leave_alone_what_is_beside_them(target: str) -> None:
    a = pg.GlobalArg("a", "float32", "n, 3", dim_tags="N0, vec")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i, 2] = i \n a[i, 0] = 7", [a, "n"])
    assert shared_vectors(knl) == {"a"}
    whole = np.full((5, 4), -1, np.float32)
    knl.executor(target)(a=whole[:, :3])
    np.testing.assert_array_equal(whole[:, 3], -1)
    np.testing.assert_array_equal(whole[:, 2], np.arange(5))
    np.testing.assert_array_equal(whole[:, 0], 7)
