"""Loops are turned to walk through memory, where their bounds allow it."""

from __future__ import annotations

import polygen as pg


def turned(domains: list[str]) -> bool:
    text = "for i\n for j\n  a[j, i] = 2*a[j, i]\n end\nend"
    arrays = [pg.GlobalArg("a", "float64", ("n", "n")), "..."]
    knl = pg.make_kernel(domains, text, arrays, seq_dependencies=True, target="c")
    made = pg.optimize(knl, sizes={"n": 500})
    return any("'i' inside" in choice.what and choice.is_taken for choice in made.choices)


def test_a_loop_moves_inside_that_walks_along_memory() -> None:
    assert turned(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"])


def test_a_loop_stays_outside_on_which_bounds_depend() -> None:
    """A priority against that would be ignored, with a warning, which is an error here."""
    assert not turned(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"])
