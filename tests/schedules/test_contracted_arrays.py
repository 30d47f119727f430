"""Arrays of which an iteration uses one element become scalars; others do not."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.schedules.contracted_arrays import arrays_contracted
from tests.schedules.stage_runs import array, check, nests, staged, temporary

LOOPS = "{ [i,j]: 0<=i,j<n }"


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("t[i,j] = 2*a[i,j]\nb[i,j] = t[i,j] + 1", {"t": 0}),
        ("t[j,i] = 2*a[i,j]\nt[j,i] = t[j,i]*a[i,j]\nb[i,j] = t[j,i]", {"t": 0}),
        ("t[i,j] = 2*a[i,j]\nu[i,j] = t[i,j]*t[i,j]\nb[i,j] = u[i,j]", {"t": 0, "u": 0}),
        ("t[i,j] = 2*a[i,j]\nb[i,j] = if(j > 0, t[i,j-1], 0)", {"t": 2}),
        ("b[i,j] = if(j > 0, t[i,j-1], 0)\nt[i,j] = 2*a[i,j]", {"t": 2}),
        ("t[i,0] = 2*a[i,j]\nb[i,j] = t[i,0]", {"t": 2}),  # no subscript counts `j`
        ("if a[i,j] > 0.5\nt[i,j] = 2\nend\nb[i,j] = if(a[i,j] > 0.5, t[i,j], 0)", {"t": 2}),
    ],
)
def test_which_are(body: str, shapes: dict[str, int]) -> None:
    data = [temporary(name, "n, n") for name in shapes]
    knl = nests(LOOPS, f"for i, j\n{body}\nend", array("a", "n, n"), *data)
    new = staged(knl, arrays_contracted).kernel
    assert {t.name: len(t.shape or ()) for t in new.temporaries} == shapes
    if 0 in shapes.values():
        assert all(t.address_space is pg.AddressSpace.PRIVATE for t in new.temporaries)

    def expected(a: Any) -> Any:
        _, (b,) = knl(a=a)
        return {"b": b}

    check(new, expected, lambda n: {"a": (n, n)})


def test_what_another_nest_reads_stays() -> None:
    knl = nests(
        "{ [i,j]: 0<=i,j<n }",
        "for i\nt[i] = 2*a[i]\nu[i] = t[i] + 1\nb[i] = u[i]\nend\nc[j] = t[n-1-j]",
        array("a"),
        temporary("t"),
        temporary("u"),
    )
    new = staged(knl, arrays_contracted).kernel
    assert {t.name: len(t.shape or ()) for t in new.temporaries} == {"t": 1, "u": 0}
    check(new, lambda a: {"b": 2 * a + 1, "c": 2 * a[::-1]}, lambda n: {"a": n})


def test_an_element_for_each_iteration_of_an_inner_loop() -> None:
    """The loop of time is outside: an iteration of it reads what it has written."""
    knl = nests(
        "{ [s,i]: 0<=s<3 and 0<=i<n }",
        "for s, i\nt[i] = a[i] + s\na[i] = 2*t[i]\nend",
        array("a"),
        temporary("t"),
    )
    new = staged(knl, arrays_contracted).kernel
    assert new.temporaries[0].shape == ()
    check(new, lambda a: {"a": 8 * a + 2 * (2 * (2 * 0 + 1) + 2)}, lambda n: {"a": n})
