"""Keys of counts: strides however they are written, and what is said of keys that are not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pymbolic import var

import polygen as pg
from polygen import errors

M, N = var("m"), var("n")


def accesses() -> pg.CountMap[pg.MemAccess]:
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<r }",
        "out[i, j, k] = 2*a[i, k + 1]",
        [
            pg.GlobalArg("a", np.float32, "n, r + 1"),
            pg.GlobalArg("out", np.float32, "n, m, r"),
            "...",
        ],
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.get_mem_access_map(pg.tag_inames(knl, {"j": "g.1"}), subgroup_size=1)


def stored(lid: Any, gid: Any) -> pg.MemAccess:
    return pg.MemAccess(
        "global", np.float32, lid, gid, "store", "out", "workitem", "polygen_kernel"
    )


R = var("r")
WAYS: list[tuple[Any, Any]] = [
    ({0: M * R}, {0: 16 * M * R, 1: R}),
    ({0: R * M}, {0: R * 16 * M, 1: R * 1}),
    ({0: M * R + 0}, {0: R * M * 16, 1: 2 * R - R}),
    ({0: (M + 1) * R - R}, {0: 4 * (4 * R * M), 1: R}),
    ({0: M * R, 1: 0}, {1: R, 0: np.int64(16) * M * R, 2: M - M}),
]


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_strides_are_the_same_in_any_way(way: int) -> None:
    key = stored(*WAYS[way])
    counts = accesses()
    assert key == stored(*WAYS[0])
    assert hash(key) == hash(stored(*WAYS[0]))
    assert counts[key].eval_with_dict({"n": 5, "m": 7, "r": 3}) == 5 * 7 * 3
    assert key in counts
    assert len(counts.filter_by(gid_strides=[WAYS[way][1]], direction=["store"])) == 1


@pytest.mark.parametrize(
    "other", [({0: M}, {0: 16 * M * R, 1: R}), ({0: M * R}, {0: 16 * M * R}), ({}, {})]
)
def test_other_strides_are_others(other: tuple[Any, Any]) -> None:
    assert stored(*other) != stored(*WAYS[0])
    assert stored(*other) not in accesses()


def test_powers_are_products() -> None:
    for power, product in ((M**2, M * M), (16 * M**3 + 1, 1 + M * 16 * M * M), (M**1, M)):
        assert stored({0: power}, {}) == stored({0: product}, {})
    assert stored({0: M**2}, {}) != stored({0: M**3}, {})
    assert stored({0: M**N}, {}) == stored({0: M**N}, {})


def test_strides_that_are_no_polynomials_stay() -> None:
    assert stored({0: N // 2}, {}) == stored({0: N // 2}, {})
    assert stored({0: N // 2}, {}) != stored({0: N // 3}, {})
    assert stored({0: None}, {}).lid_strides == {0: None}


def test_what_is_said_of_a_key_that_is_not_there() -> None:
    counts = accesses()
    key = stored({0: M}, {0: 16 * M * R, 1: R})
    with pytest.raises(KeyError) as caught:
        counts[key]
    assert isinstance(caught.value, errors.UnknownCount)
    text = str(caught.value)
    assert f"nothing in kernel 'polygen_kernel' is counted as {key}" in text
    assert all(str(known) in text for known in counts)
    assert f"did you mean {stored(*WAYS[0])}?" in text
    assert counts.get(key) is None
    assert counts.get(key, 0) == 0


def test_every_map_says_so() -> None:
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"), {"a": np.float32})
    with pytest.raises(KeyError, match=r"counted as Op\(float32, ad, .*\n.*\n.*Op\(float32, mul"):
        pg.get_op_map(knl, subgroup_size=1)[pg.Op("float32", "ad")]
    with pytest.raises(KeyError, match=r"counted as Sync\(barrier_local, None\)\n"):
        pg.get_synchronization_map(knl)[pg.Sync("barrier_local")]
    with pytest.raises(KeyError, match="nothing is counted at all"):
        pg.get_op_map(knl, subgroup_size=1).filter_by(name=["pow"])[pg.Op("float32", "pow")]
    with pytest.raises(KeyError, match="is counted as mul"):
        pg.get_op_map(knl, subgroup_size=1)["mul"]  # type: ignore[index]


def test_many_keys_are_shortened() -> None:
    names = [f"f{at}" for at in range(20)]
    text = "\n".join(f"{name}[i] = 2*a[i]" for name in names)
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", text), {"a": np.float32})
    with pytest.raises(KeyError, match="and 9 more"):
        pg.get_mem_access_map(knl, subgroup_size=1)[pg.MemAccess()]
