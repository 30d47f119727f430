"""The last write before each read."""

from __future__ import annotations

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.dataflow import latest_instances
from polygen.analysis.dataflow.latest_instances import greatest
from polygen.analysis.dataflow.read_sources import sources

MAPS = [
    # isl 0.27 fails to find the greatest element of this one.
    "{ R[e] -> [1, o1, o2, -4 + e, 1] : (e + o1) mod 2 = 0 and 4 <= e <= 7 and 0 <= o1 <= 1 "
    "and o2 >= -o1 and 2o2 <= 3 - 3o1 }",
    "{ R[e] -> [a, b] : 0 <= e <= 5 and 0 <= a <= e and a + b = 3; R[9] -> [2, 2] }",
]


@pytest.mark.parametrize("text", MAPS)
def test_greatest_times(text: str) -> None:
    times = isl.Map(text)
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}

    def note(point: isl.Point) -> None:
        numbers = [
            point.get_coordinate_val(isl.dim_type.set, place).to_python()
            for place in range(times.dim(isl.dim_type.in_) + times.dim(isl.dim_type.out))
        ]
        found.setdefault(tuple(numbers[:1]), []).append(tuple(numbers[1:]))

    times.wrap().foreach_point(note)
    last = greatest(times)
    assert len(found) > 3
    for read, written in found.items():
        time = max(written)
        (of_read,) = read
        assert isl.Map(f"{{ R[{of_read}] -> {list(time)} }}").is_subset(last)
    assert last.wrap().count_val().to_python() == len(found)


WRITTEN = ("i", "2*i + 1", "7 - i", "i//2", "i % 4", "3")  # elements: of one instance each, or not
LOOPS = ("{ [i]: 0<=i<n }", "{ [i]: 0<=i<n and i % 3 = 0 }")


def _never(*_: object) -> bool:
    return False


@pytest.mark.parametrize("domain", LOOPS)
@pytest.mark.parametrize("written", WRITTEN)
def test_a_loop_that_is_over(domain: str, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = pg.GlobalArg("t", "float32", "2*n + 20")
    with pg.without_proofs():
        knl = pg.make_kernel(
            [domain, "{ [j]: 0<=j<m }"],
            f"t[{written}] = 1 {{id=w}}\nout[j] = t[(2*j) % 7 + j//3] {{id=r, dep=w}}",
            [array, pg.GlobalArg("out", "float32", "m"), "..."],
            assumptions="n >= 0 and m >= 0",
        )
    (read,) = (a for a in touched(knl, "r")["t"] if not a.is_write)
    assert read.reference is not None
    found = sources(knl, read.reference)
    monkeypatch.setattr(latest_instances, "_is_plain", _never)
    monkeypatch.setattr(latest_instances, "_last", latest_instances._last.__wrapped__)  # type: ignore[attr-defined]
    searched = sources(knl.copy(name="again"), read.reference)
    assert found is not None
    assert searched is not None
    assert [s.writer for s in found] == [s.writer for s in searched]
    assert all(a.pairs.is_equal(b.pairs) for a, b in zip(found, searched, strict=True))
