"""The last write before each read."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.latest import greatest

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
    latest = greatest(times)
    assert len(found) > 3
    for read, written in found.items():
        time = max(written)
        (of_read,) = read
        assert isl.Map(f"{{ R[{of_read}] -> {list(time)} }}").is_subset(latest)
    assert latest.wrap().count_val().to_python() == len(found)
