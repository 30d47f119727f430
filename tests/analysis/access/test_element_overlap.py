"""Which elements of an array lie in one place: against enumeration."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from polygen.analysis.access.element_overlap import find_overlap


def place(index: tuple[int, ...], strides: list[int]) -> int:
    return sum(i * s for i, s in zip(index, strides, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_random_strides(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        axes = random.randint(0, 3)
        shape = [random.randint(0, 4) for _ in range(axes)]
        strides = [random.randint(-9, 9) for _ in range(axes)]
        elements = list(itertools.product(*map(range, shape)))
        distinct = {place(index, strides) for index in elements}
        found = find_overlap(shape, strides)
        assert (found is None) == (len(distinct) == len(elements)), (shape, strides)
        if found is not None:
            first, second = found
            assert first != second
            assert {first, second} <= set(elements)
            assert place(first, strides) == place(second, strides)


def test_large_ones() -> None:
    large = 2**40
    assert find_overlap([large, large], [large, 1]) is None
    assert find_overlap([large + 1, large + 1], [large, 1]) == ((0, large), (1, 0))
    assert find_overlap([5, 7, 9], [63, -9, 1]) is None
