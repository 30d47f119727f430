"""The two instances that a refusal names are ones of the kernel that the user has, and conflict."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

import polygen as pg
from polygen.errors import IllegalStep
from tests.oracle.cases import kernel

_SIZES = r"for (?P<sizes>[^,]*(?:, \w+=-?\d+)*), "
_PAIR = r"s\[(?P<first>[^]]*)\] (?P<does>writes|reads) .* that s\[(?P<second>[^]]*)\] "
_NEW = r".*the step would make them s\[(?P<one>[^]]*)\] and s\[(?P<two>[^]]*)\]"


def _point(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (part.split("=") for part in text.split(", "))}


def _refusal(step: Callable[[], object]) -> tuple[str, dict[str, dict[str, int]]]:
    with pytest.raises(IllegalStep) as info:
        step()
    found = re.search(_SIZES + _PAIR + _NEW, info.value.what)
    assert found is not None, info.value.what
    points = {k: _point(v) for k, v in found.groupdict().items() if k != "does"}
    return found["does"], points


# Where a point was, of what it is after the step.
LINES: dict[str, tuple[Callable[[pg.Kernel], object], Callable[[int, int, int], int]]] = {
    "reverse": (lambda k: pg.reverse(k, "i"), lambda i, n, back: n - 1 + back - i),
    "map_domain": (
        lambda k: pg.map_domain(k, "[n] -> { [i] -> [i'] : i' = n + 3 - i }"),
        lambda i, n, _: n + 3 - i,
    ),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("back", [1, 2])
def test_a_line(name: str, back: int) -> None:
    step, was = LINES[name]
    knl = kernel(f"{{ [i]: {back}<=i<n }}", f"a[i] = a[i-{back}] + b[i]  {{id=s}}")
    does, points = _refusal(lambda: step(knl))
    n, first, second = points["sizes"]["n"], points["first"]["i"], points["second"]["i"]
    # By brute force: which instances of the kernel as it is write and read one element?
    conflicts = {(w, r) for w, r in product(range(back, n), repeat=2) if w == r - back}
    assert does == "writes"
    assert (first, second) in conflicts
    assert first < second
    now = points["one"]["i"], points["two"]["i"]
    assert (was(now[0], n, back), was(now[1], n, back)) == (first, second)
    assert now[1] < now[0]  # the second would come first


def test_a_plane() -> None:
    knl = kernel(
        "{ [i,j]: 1<=i<n and 1<=j<m }",
        "a[i,j] = a[i-1,j+1] + b[i,j]  {id=s}",
        loop_priority="i, j",
    )
    does, points = _refusal(lambda: pg.map_domain(knl, "{ [i,j] -> [i',j'] : i' = -i and j' = j }"))
    sizes, first, second = points["sizes"], points["first"], points["second"]
    assert does == "writes"
    for point in (first, second):
        assert 1 <= point["i"] < sizes["n"]
        assert 1 <= point["j"] < sizes["m"]
    assert (second["i"] - 1, second["j"] + 1) == (first["i"], first["j"])
    for old, new in ((first, points["one"]), (second, points["two"])):
        assert new == {"i": -old["i"], "j": old["j"]}


def test_two_instructions() -> None:
    knl = kernel(
        "{ [i]: 1<=i<n }",
        "<> t = 0  {id=z, inames=}\nout[i] = t  {id=r, dep=z}\nt = b[i]  {id=s, dep=r}",
    )
    with pytest.raises(IllegalStep) as info:
        pg.reverse(knl, "i")
    found = re.search(
        r"for n=(\d+), r\[i=(\d+)\] reads .* that s\[i=(\d+)\] writes later .*would make them "
        r"r\[i=(\d+)\] and s\[i=(\d+)\]",
        info.value.what,
    )
    assert found is not None, info.value.what
    n, read, write, read_now, write_now = map(int, found.groups())
    assert 1 <= read <= write < n  # in an iteration, it is read first
    assert (read_now, write_now) == (n - read, n - write)
    assert write_now < read_now


def test_new_names_need_no_explanation() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + b[i]  {id=s}")
    with pytest.raises(IllegalStep) as info:
        pg.map_domain(knl, "{ [i] -> [p] : p = -i }")
    assert "the step would make them" not in info.value.what
    assert re.search(r"s\[p=-1\] writes .* that s\[p=-2\] reads", info.value.what)
    assert "a[-p] = a[-p - 1]" in str(info.value)
