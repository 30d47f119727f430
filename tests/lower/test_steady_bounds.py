"""Loops whose number of iterations is nearly constant get constant bounds, and a guard inside."""

from __future__ import annotations

import pytest

from tests.oracle.cases import agree, kernel, loops, lowered, split, steps, tag


@pytest.mark.parametrize(
    ("domain", "length", "bounds"),
    [
        # 18 work items of 16: two iterations, of which the second has few
        ("0<=i<18", 16, (0, 2)),
        ("0<=i<33", 16, (0, 3)),
        ("3<=i<21", 16, (0, 2)),
        ("-2<=i<14", 16, (-1, 1)),
        ("0<=i<16", 16, (0, 1)),
    ],
)
def test_an_outer_loop_of_constant_length(
    domain: str, length: int, bounds: tuple[int, int]
) -> None:
    knl = kernel(f"{{ [i]: {domain} }}", "out[i + 2] = a[i + 2]")
    step = split("i", length, inner_tag="l.0")
    found = [(loop.lower, loop.upper) for loop in loops(lowered(step(knl)))]
    # a loop with one iteration is none
    assert found == ([bounds] if bounds[1] - bounds[0] > 1 else [])
    agree(knl, [{}], step)


def test_a_triangle_keeps_its_bounds() -> None:
    knl = kernel("{ [i,j]: 0<=i<64 and 0<=j<=i }", "out[i,j] = 1")
    step = steps(split("j", 3), tag(i="l.0"))
    (outer, _) = loops(lowered(step(knl)))
    assert not isinstance(outer.upper, int)
    small = kernel("{ [i,j]: 0<=i<9 and 0<=j<=i }", "out[i,j] = 1")
    agree(small, [{}], step)
