"""Nests are fused where that is legal, keeps loops parallel and saves bytes; and else not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.schedules.contracted_arrays import arrays_contracted
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.nests import nests_of
from tests.schedules.stage_runs import array, check, left, nests, staged, temporary


def test_a_chain_is_one_loop() -> None:
    count = 10
    inames = [f"i{m}" for m in range(count)]
    names = ["a", *(f"t{m}" for m in range(count - 1)), "out"]
    text = "\n".join(
        f"{names[m + 1]}[{i}] = 2*{names[m]}[{i}] + b[{i}]" for m, i in enumerate(inames)
    )
    data = [temporary(name) for name in names[1:-1]]
    knl = nests(f"{{ [{','.join(inames)}]: 0<={','.join(inames)}<n }}", text, array("a, b"), *data)
    plan = staged(knl, nests_fused, arrays_contracted)
    new = plan.kernel
    assert [len(nest.ids) for nest in nests_of(new)] == [count]
    assert [choice.what[:14] for choice in plan.choices] == ["10 nests fused", "t0, t1, t2, t3"]
    assert all(not t.shape for t in new.temporaries)
    assert [step.name for step in new.history] == [
        "rename_inames",
        "unprivatize_temporaries_with_inames",
        "set_temporary_address_space",
    ]

    def expected(a: Any, b: Any) -> Any:
        for _ in range(count):
            a = 2 * a + b
        return {"out": a}

    check(new, expected, lambda n: {"a": n, "b": n})


def fused(text: str, *data: Any, domains: str = "") -> list[list[str]]:
    """Return the instructions of each nest after fusion."""
    loops = [name for name in "ijkl" if re.search(rf"\b{name}\b", text)]
    knl = nests(domains or f"{{ [{','.join(loops)}]: 0<={','.join(loops)}<n }}", text, *data)
    return [[*nest.ids] for nest in nests_of(staged(knl, nests_fused).kernel)]


def test_neighbours_in_the_graph_of_dependences() -> None:
    """What stands between two nests in the text may be in the way of neither."""
    text = "t[i] = 2*a[i] {id=x}\nc[j] = 2*c[n-1-j] {id=y}\nb[k] = t[k] + a[k] {id=z}"
    assert fused(text, array("a, c"), temporary("t")) == [["x", "z"], ["y"]]
    chained = "t[i] = 2*a[i] {id=x}\nc[j] = t[n-1-j] {id=y}\nb[k] = t[k] + c[k] {id=z}"
    assert fused(chained, array("a, c"), temporary("t")) == [["x"], ["y", "z"]]
    between = "t[i] = 2*a[i] {id=x}\nc[j] = t[n-1-j] {id=y}\nb[k] = t[k] + c[n-1-k] {id=z}"
    assert fused(between, array("a, c"), temporary("t")) == [["x"], ["y"], ["z"]]


def test_idle_dependencies_are_taken_out_first() -> None:
    text = "t[i] = 2*a[i] {id=x}\nc[j] = 2*c[n-1-j] {id=y, dep=x}\nb[k] = t[k]+a[k] {id=z, dep=y:x}"
    assert fused(text, array("a, c"), temporary("t")) == [["x", "z"], ["y"]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b[i] = a[i]\nc[j] = b[j-1]", "iterations of 'i' would need each other, by 'b'"),
        ("b[i] = a[i]\na[j] = b[j+1]", "iterations of 'i' would need each other, by 'b'"),
        ("b[i] = a[i-1]\na[j] = b[j]", "iterations of 'i' would need each other, by 'a'"),
        (
            "b[i] = a[i]\nc[j] = c[j-1] + b[j]",
            "along 'i', one of the two loops is parallel, the other one is not",
        ),
        (
            "b[i] = a[i]\nb[p[j]] = a[j]",
            "along 'i', one of the two loops is parallel, the other one is not",
        ),
    ],
)
def test_loops_stay_parallel(text: str, why: str) -> None:
    data = [array(name) for name in "abc" if f"{name}[" in text]
    data += [array("p", dtype=np.int32)] if "p[" in text else []
    knl = nests("{ [i,j]: 1<=i,j<n-1 }", text, *data)
    plan = staged(knl, nests_fused)
    assert plan.kernel is knl
    assert left(plan) == [why]


@pytest.mark.parametrize(
    ("domains", "text", "data"),
    [
        ("", "b[i] = a[i]\nd[j] = c[j]", (array("a, c"),)),  # nothing is saved
        ("", "b[i] = a[i]\nc[j] = b[n-1-j]", (array("a"),)),
        ("{ [i,j]: 0<=i<n and 0<=j<n-1 }", "b[i] = a[i]\nd[j] = a[j]", (array("a"),)),
        ("{ [i,j,k]: 0<=i,j,k<n }", "b[i,k] = a[i]\nd[j] = a[j]", (array("a"),)),
        ("", "b[i] = a[i]\nd[j] = sum(k, c[j,k])*a[j]", (array("a"), array("c", "n, n"))),
        (
            "{ [i,j,k,l]: 0<=i,j,k,l<n }",
            "for i, j\nb[i,j] = a[i,j]\nend\nfor k, l\nc[l,k] = b[l,k] + d[l,k]\nend",
            (array("a, b, c, d", "n, n"),),
        ),  # loops the other way round
    ],
)
def test_what_stays_apart(domains: str, text: str, data: Any) -> None:
    assert len(fused(text, *data, domains=domains)) == 2


def test_many_streams_at_once() -> None:
    inames = [f"i{m}" for m in range(8)]
    text = "\n".join(f"c{m}[{i}] = a[{i}]*d[{i}]*b{m}[{i}]" for m, i in enumerate(inames))
    data = array(", ".join(["a, d", *(f"b{m}" for m in range(8))]))
    knl = nests(f"{{ [{','.join(inames)}]: 0<={','.join(inames)}<n }}", text, data)
    plan = staged(knl, nests_fused)
    assert [len(nest.ids) for nest in nests_of(plan.kernel)] == [4, 4]
    assert "12 streams at once are too many for caches" in left(plan)
    on_grid = staged(knl.copy(target="cuda"), nests_fused, limits=pg.Limits.named("H200"))
    assert len(nests_of(on_grid.kernel)) == 1


def test_other_values_of_the_inames() -> None:
    """One loop begins at 0, the other one at 1; both touch the same elements."""
    knl = nests(
        "{ [i,j]: 0<=i<n and 1<=j<=n }",
        "t[i] = 2*a[i]\nb[j-1] = t[j-1] + a[j-1]",
        array("a, b"),
        temporary("t"),
    )
    new = staged(knl, nests_fused, arrays_contracted).kernel
    assert len(nests_of(new)) == 1
    assert new.temporaries[0].shape == ()
    check(new, lambda a, b: {"b": 3 * a}, lambda n: {"a": n, "b": n})


def test_two_loops_and_triangles() -> None:
    knl = nests(
        ["{ [i,j]: 0<=i<n and 0<=j<=i }", "{ [k,l]: 0<=k<n and 0<=l<=k }"],
        "for i, j\nt[i,j] = 2*a[i,j] + i\nend\nfor k, l\nb[k,l] = t[k,l]*a[k,l]\nend",
        array("a, b", "n, n"),
        temporary("t", "n, n"),
    )
    new = staged(knl, nests_fused, arrays_contracted).kernel
    assert [nest.loops for nest in nests_of(new)] == [("i", "j")]

    def expected(a: Any, b: Any) -> Any:
        full = (2 * a + np.arange(len(a))[:, None]) * a
        return {"b": np.where(np.tri(len(a), dtype=bool), full, b)}

    check(new, expected, lambda n: {"a": (n, n), "b": (n, n)})


def test_in_loops_of_time() -> None:
    knl = nests(
        "{ [s,i,j,k,l]: 0<=s<3 and 1<=i,j,k,l<n-1 }",
        """
        for s
            t[i] = a[i-1] + a[i+1] + s
            b[j] = t[j]/2
            u[k] = b[k-1] + b[k+1]
            a[l] = u[l]/2
        end
        """,
        array("a, b"),
        temporary("t"),
        temporary("u"),
    )
    plan = staged(knl, nests_fused, arrays_contracted)
    (nest,) = nests_of(plan.kernel)
    assert [len(inner.ids) for inner in nest.inner] == [2, 2]
    assert "iterations of 'i' would need each other, by 'b'" in left(plan)

    def expected(a: Any, b: Any) -> Any:
        for s in range(3):
            b[1:-1] = (a[:-2] + a[2:] + s) / 2
            a[1:-1] = (b[:-2] + b[2:]) / 2
        return {"a": a, "b": b}

    a, b = np.random.default_rng(1).random((2, 9))
    right = expected(a.copy(), b.copy())
    plan.kernel(a=a, b=b)
    np.testing.assert_allclose(a, right["a"])
    np.testing.assert_allclose(b, right["b"])


def test_both_serial() -> None:
    """Two recurrences share a loop, where one element of theirs after the other is needed."""
    knl = nests(
        "{ [i,j]: 1<=i,j<n }",
        "b[i] = b[i-1] + a[i]  {id=x}\nc[j] = c[j-1] + a[j]*b[j-1]  {id=y}",
        array("a, b, c"),
    )
    new = staged(knl, nests_fused).kernel
    assert [nest.ids for nest in nests_of(new)] == [("x", "y")]

    def expected(a: Any, b: Any, c: Any) -> Any:
        for i in range(1, len(a)):
            b[i] = b[i - 1] + a[i]
        for i in range(1, len(a)):
            c[i] = c[i - 1] + a[i] * b[i - 1]
        return {"b": b, "c": c}

    check(new, expected, lambda n: dict.fromkeys("abc", n))


def test_scalars_of_one_name() -> None:
    knl = nests(
        "{ [i,j]: 0<=i,j<n }",
        "for i\n<> s = 2*a[i]\nb[i] = s*s\nend\nfor j\ns = 3*a[j] + b[j]\nc[j] = s*s\nend",
        array("a"),
    )
    new = staged(knl, nests_fused).kernel
    assert len(nests_of(new)) == 1
    check(
        new,
        lambda a: {"b": 4 * a * a, "c": (3 * a + 4 * a * a) ** 2},
        lambda n: {"a": n},
    )


def test_tagged_loops_stay() -> None:
    knl = nests("{ [i,j]: 0<=i,j<n }", "b[i] = a[i]\nc[j] = b[j]", array("a"))
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    assert staged(knl, nests_fused).kernel is knl


def test_nothing_to_do_for_empty_loops() -> None:
    knl = nests("{ [i,j]: 0<=i,j<n }", "b[i] = a[i]\nc[j] = b[j] + a[j]", array("a"))
    new = staged(knl, nests_fused).kernel
    _, (b, c) = new(a=np.empty(0))
    assert b.shape == c.shape == (0,)
