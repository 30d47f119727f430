"""What the text of a program does once: copies of accumulators, and conditions of work items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel, tag


def code(knl: Kernel, target: str = "c") -> str:
    """Return the generated code for numbers in single precision."""
    arrays = {a.name: "float32" for a in knl.arguments if isinstance(a, pg.GlobalArg)}
    return str(pg.generate_code(pg.add_dtypes(knl, arrays), target))


TWO = kernel(
    "{ [i,k]: 0<=i<n and 0<=k<3 }",
    """
    <> p = sum(k, a[i,k])
    <> q = sum(k, a[i,k]*a[i,k])
    b[i] = p*q
    c[i] = p + q
    """,
)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_what_is_assigned_a_sum_is_what_adds_it_up(target: str) -> None:
    text = code(TWO, target)
    assert "acc" not in text
    assert text.count("float p = 0.0f;") == text.count("float q = 0.0f;") == 1
    a = np.arange(15, dtype=np.float32).reshape(5, 3)
    _, (b, c) = TWO.executor(target)(a=a)
    np.testing.assert_array_equal(b, a.sum(1) * (a * a).sum(1))
    np.testing.assert_array_equal(c, a.sum(1) + (a * a).sum(1))


@pytest.mark.parametrize(
    ("instructions", "declarations"),
    [
        # the first of two is needed once more
        ("<> p = a[i,0]\n<> q = p\nb[i] = p*q", ("float const p", "float const q")),
        ("<> p = a[i,0]\n<> q = p\nb[i] = q*q", ("float const q",)),
        ("<> p = a[i,0]\n<> q = p\n<> r = q\nb[i] = r*r", ("float const r",)),
        # another type
        ("<> p = a[i,0]\n<float64> q = p\nb[i] = q*q", ("float const p", "double const q")),
        # one that changes
        (
            "<> p = a[i,0] {id=p}\n<> q = p {id=q, dep=p}\nq = q + 1 {id=r, dep=q, inames=i}\n"
            "b[i] = q {dep=r}",
            ("float q",),
        ),
    ],
)
def test_copies(instructions: str, declarations: tuple[str, ...]) -> None:
    text = code(kernel("{ [i]: 0<=i<n }", instructions))
    lines = [line.strip() for line in text.split("\n")]
    found = [line.partition(" =")[0] for line in lines if line.startswith(("float ", "double "))]
    assert tuple(found) == declarations


def test_verbatim_c_knows_a_variable_by_its_name() -> None:
    make: Any = pg.CInstruction
    pasted = make("i", "b[i] = p;", "p", "b[i]", id="c", depends_on="p", within_inames="i")
    arguments = [pg.GlobalArg(name, "float32", "n") for name in ("a", "b", "c")]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["<> p = a[i]  {id=p}", pasted, "<> q = p  {dep=c}", "c[i] = q"],
        [*arguments, "n"],
    )
    assert "float const p = a[i];" in code(knl)


GROUPS = kernel("{ [i,p,q]: 0<=p<4 and 0<=q<5 and 0<=4*i+p<n }", "b[4*i+p,q] = 2*a[4*i+p,q]")


def test_items_ask_once_what_is_the_same_for_them() -> None:
    tagged = tag(i="g.0", p="l.1", q="l.0")(GROUPS)
    assert code(tagged).splitlines()[8:] == [
        "    for (int i = 0; i < (n + 3) / 4; ++i) {",
        "        for (int p = 0; p < pg_min_i32(4, n - 4 * i); ++p) {",
        "            #pragma omp simd",
        "            for (int q = 0; q < 5; ++q)",
        "                b[20 * i + 5 * p + q] = 2.0f * a[20 * i + 5 * p + q];",
        "        }",
        "    }",
        "}",
    ]
    for n in (0, 1, 7, 8):
        a = np.arange(5 * n, dtype=np.float32).reshape(n, 5)
        _, (b,) = tagged.executor("c")(a=a)
        np.testing.assert_array_equal(b, 2 * a)


def test_items_that_do_less_are_fewer() -> None:
    knl = kernel(
        "{ [g,p,q]: 0<=g<n and 0<=p<8 and 0<=q<3 }",
        "t[p] = a[g,p]  {id=t, inames=g:p}\nb[g,q] = t[7-q]  {dep=t}",
        pg.TemporaryVariable("t", shape=(8,), address_space=pg.AddressSpace.LOCAL),
        "...",
    )
    knl = tag(g="g.0", p="l.0", q="l.0")(knl)
    text = code(knl)
    assert "if (" not in text
    assert text.count("< 8; ") == text.count("< 3; ") == 1
    a = np.arange(40, dtype=np.float32).reshape(5, 8)
    _, (b,) = knl.executor("c")(a=a)
    np.testing.assert_array_equal(b, a[:, :4:-1])


def test_loops_that_run_in_parallel_together_stay_nested() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "b[j,i] = 2*a[j,i]  {if=i > 1}", loop_priority="i, j"
    )
    text = code(tag(i="g.1", j="g.0")(knl))
    first, second, third = text.split("collapse(2)")[1].splitlines()[1:4]
    assert first.strip().startswith("for")
    assert second.strip().startswith("for")
    assert third.strip() == "if (i > 1)"


def test_a_condition_with_nothing_but_a_condition_in_it() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<3 }", "b[i] = sum(j, c[i,j])")
    knl = pg.split_iname(pg.add_dtypes(knl, {"c": "float64"}), "i", 4, inner_tag="l.0")
    knl = pg.tag_inames(knl, {"i_outer": "g.0", "j": "l.1"})
    assert "if (4 * i_outer + i_inner < n && j == 0) {" in str(pg.generate_code(knl, "opencl"))
    text = str(pg.generate_code(knl, "c"))
    assert "if (j" not in text
    assert "for (int j = 0; j < 1; ++j)" in text
    c = np.arange(15.0).reshape(5, 3)
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(knl.executor(target)(c=c)[1], [c.sum(1)])
