"""Work that one work item of a GPU does alone, and what is said of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotParallel
from polygen.runtime.calls.serial_work import serial_work, warn_of_serial_work

SQUARE = "{ [i,j]: 0<=i<n and 0<=j<m }"
A = {"a": np.float32}


def counted(knl: pg.Kernel, **sizes: int) -> dict[str, int]:
    program = pg.generate_code(knl, "cuda").loop_program
    return serial_work(knl.without_rules, program, sizes)


def said(knl: pg.Kernel, **sizes: int) -> list[str]:
    program = pg.generate_code(knl, "cuda").loop_program
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_serial_work(knl.without_rules, program, sizes)
    assert all(w.category is NotParallel for w in caught)
    return [str(w.message) for w in caught]


def typed(domain: str | list[str], text: str | list[str], **options: Any) -> pg.Kernel:
    return pg.add_dtypes(pg.make_kernel(domain, text, **options), A)


def doubling() -> pg.Kernel:
    return typed("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


def split(knl: pg.Kernel, iname: str, length: int = 16) -> pg.Kernel:
    return pg.split_iname(knl, iname, length, outer_tag="g.0", inner_tag="l.0")


# --- how often, by hand


COUNTS: Mapping[str, tuple[Callable[[], pg.Kernel], dict[str, int]]] = {
    "a loop": (doubling, {"insn": 1500}),
    "one assignment": (lambda: typed("{ : }", "out[0] = 2*a[0]"), {"insn": 1}),
    "lanes alone": (
        lambda: pg.split_iname(doubling(), "i", 4, inner_tag="vec"),
        {"insn": 1500},
    ),
    "copies": (
        lambda: pg.prioritize_loops(
            pg.split_iname(doubling(), "i", 4, inner_tag="unr"), "i_outer, i_inner"
        ),
        {"insn": 1500},
    ),
    "on axes": (lambda: split(doubling(), "i"), {}),
    "on work items alone": (lambda: pg.split_iname(doubling(), "i", 4, inner_tag="l.0"), {}),
    "to be shared by work items, of which there is one": (
        lambda: pg.split_iname(doubling(), "i", 4, inner_tag="l.auto"),
        {"insn": 1500},
    ),
    "two loops": (
        lambda: typed(SQUARE, "out[i,j] = 2*a[i,j]", loop_priority="i, j"),
        {"insn": 1500 * 7},
    ),
    "a triangle": (
        lambda: typed("{ [i,j]: 0<=j<i<n }", "out[i,j] = a[i]", loop_priority="i, j"),
        {"insn": 1500 * 750},  # about 1500 * 1499 / 2
    ),
    "a sum": (lambda: typed(SQUARE, "out[i] = sum(j, a[i,j])"), {"insn": 1500 * 7}),
    "a shared sum": (
        lambda: pg.tag_inames(typed("{ [i]: 0<=i<64 }", "out[0] = sum(i, a[i])"), {"i": "l.0"}),
        {},
    ),
    "rows of data": (
        lambda: typed(
            ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
            [
                "<int32> start = p[i]    {id=start}",
                "<int32> end = p[i + 1]  {id=end}",
                "out[i] = sum(j, a[j])   {id=sum}",
            ],
        ),
        {"sum": 1500},
    ),
    "one of two launches": (
        lambda: split(
            typed(SQUARE, ["u[i] = a[i]  {id=u}", "v[j] = u[0] + j  {id=v, dep=u}"]), "i"
        ),
        {"v": 7},
    ),
    "beside a parallel loop": (
        lambda: split(typed(SQUARE, ["u[i] = a[i]  {id=u}", "v[j] = j  {id=v}"]), "i"),
        {"v": 7},
    ),
    "for all work items": (
        lambda: split(
            typed(SQUARE, ["<> t = sum(j, a[j])  {id=t}", "v[i] = t  {id=v, dep=t}"]), "i"
        ),
        {},
    ),
    "a loop on the host": (
        lambda: pg.prioritize_loops(
            split(
                typed(
                    "{ [t,i,j]: 0<=t<9 and 0<=i<n and 0<=j<m }",
                    [
                        "u[i] = a[i] + t     {id=u}",
                        "v[j] = u[j] + v[j]  {id=v, dep=u, inames=+t}",
                    ],
                    seq_dependencies=True,
                ),
                "i",
            ),
            "t, j",
        ),
        {"v": 7},  # in each launch
    ),
}


@pytest.mark.parametrize("case", COUNTS)
def test_how_often(case: str) -> None:
    make, expected = COUNTS[case]
    knl = pg.set_options(make(), silenced_warnings=["AmbiguousNesting"])
    if "p" in {arg.name for arg in knl.arguments}:
        knl = pg.add_dtypes(knl, {"p": np.int32})
    found = counted(knl, n=1500, m=7)
    assert found.keys() == expected.keys()
    assert all(abs(found[name] - n) <= 1500 + 2 for name, n in expected.items())
    assert bool(said(knl, n=1500, m=7)) == (max(expected.values(), default=0) > 1024)


def test_functions_that_are_called() -> None:
    twice = pg.make_function("{ [k]: 0<=k<n }", "y[k] = 2*x[k]", name="twice")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<m }",
        "[k]: out[i,k] = twice(n, [k]: a[i,k])",
        [pg.GlobalArg("a", np.float32, "m, n"), pg.GlobalArg("out", np.float32, "m, n"), "..."],
    )
    knl = pg.merge([knl, twice]).default_entrypoint
    (count,) = counted(knl, n=300, m=7).values()
    assert count == 2100
    (text,) = said(knl, n=300, m=7)
    assert "2100 times" in text


# --- when it is said, and what


def test_little_work_is_no_news() -> None:
    knl = doubling()
    assert not [n for n in (0, 1, 2, 1024) if said(knl, n=n)]
    assert len(said(knl, n=1025)) == 1


def test_it_is_said_once() -> None:
    knl = doubling()
    assert len(said(knl, n=5000)) == 1
    assert not said(knl, n=5000)
    assert not said(pg.reverse(knl, "i"), n=6000)
    assert not said(pg.set_options(doubling(), silenced_warnings=["NotParallel"]), n=5000)


def steps_in(text: str, knl: pg.Kernel) -> pg.Kernel:
    """Return the kernel after the steps that a remedy names."""
    steps = re.findall(r"(?:split_iname|tag_inames)\(kernel, [^)]*\)", text)
    assert steps
    for step in steps:
        knl = eval(step, {**vars(pg), "kernel": knl})  # noqa: S307
    return knl


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"),
        (SQUARE, "out[i,j] = 2*a[i,j]"),
        (SQUARE, "out[j,i] = 2*a[i,j]"),
        ("{ [i,j,k,l]: 0<=i,j,k,l<n }", "out[i,j,k,l] = a[i,j,k,l]"),
        (SQUARE, "out[i] = sum(j, a[i,j])"),
        ("{ [t,i]: 0<=t<m and 1<=i<n }", "a[t + 1, i] = a[t, i] + a[t, i - 1]"),
        ("{ [i,c]: 0<=i<n and 0<=c<3 }", "out[i,c] = a[i,c]"),
    ],
)
def test_what_it_says_helps(domain: str, text: str) -> None:
    knl = typed(
        domain, text, loop_priority="i, j" if domain == SQUARE and "sum" not in text else ()
    )
    knl = pg.set_options(knl, silenced_warnings=["AmbiguousNesting"])
    (message,) = said(knl, n=2000, m=2000)
    assert counted(steps_in(message, knl), n=2000, m=2000) == {}


def test_a_short_loop_is_not_what_work_items_get() -> None:
    (text,) = said(
        typed("{ [i,c]: 0<=i<n and 0<=c<3 }", "out[i,c] = a[i,c]", loop_priority="i,c"), n=900
    )
    assert "split_iname(kernel, 'i', 256" in text


def test_where_no_step_helps() -> None:
    (text,) = said(typed("{ [i]: 1<=i<n }", "a[i] = a[i-1]/2"), n=2000)
    assert "iterations of its loops need each other" in text
    (text,) = said(typed("{ [i]: 0<=i<n }", "out[0] = sum(i, a[i])"), n=2000)
    assert text.endswith("(optimize_reductions shares its reductions)")


def test_it_names_what_is_heavy() -> None:
    knl = typed(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
        ["u[i] = a[i]  {id=u}", "v[j] = a[j]  {id=v}", "w[k] = a[k]  {id=w}"],
    )
    (text,) = said(knl, n=2000, m=3000)
    assert "executes 'u' 2000 times and 'v' 3000 times or so, alone" in text
    assert "split_iname(kernel, 'j', 256" in text
    assert "'w'" not in text


# --- calls


class OfPocl:
    def __init__(self, is_gpu: bool) -> None:
        self.is_gpu = is_gpu

    def __call__(self, device: Any) -> bool:
        assert device.name
        return self.is_gpu


def test_calls_on_processors_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones(2000, np.float32)
    for target in ("c", "opencl"):
        doubling().executor(target)(a=a)
    monkeypatch.setattr("polygen.runtime.backends.opencl.opencl_backend.is_gpu", OfPocl(True))
    executor = doubling().executor("opencl")
    executor(a=a[:9])
    with pytest.warns(NotParallel, match="'insn' 2000 times or so") as caught:
        executor(a=a)
    assert caught[0].filename == __file__
    executor(a=np.ones(3000, np.float32))
