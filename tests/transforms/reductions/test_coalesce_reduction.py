"""`coalesce_reduction`: whatever the order of axes, one loop of what is reduced, and one around."""

from __future__ import annotations

import math
import re
from itertools import chain, combinations, permutations
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    ExtentNotConstant,
    IllegalStep,
    InvalidArgument,
    MapMixesInames,
    NoSuchReduction,
    TagConflict,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.operators import check as check_operators
from tests.oracle.cases import agree, kernel
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret

NAMES = "ijkl"
EXTENTS = {"i": 3, "j": 2, "k": 4, "l": 3}
SIZES = {"i": "n", "j": "m", "k": "v", "l": "w"}
TARGETS = ("cuda", "opencl", "c", "c", "c", "c")


def coalesced(knl: Kernel, insn: str = "insn") -> Kernel:
    """Return the kernel with loops `r` and `p`."""
    return pg.coalesce_reduction(knl, insn, reduced_iname="r", parallel_iname="p")


def total(axes: str, reduced: str, written: str, *, symbolic: bool, **options: Any) -> Kernel:
    """Return the sum over some axes of an array; what is left has its axes as they are written."""
    extents = SIZES if symbolic else {i: str(n) for i, n in EXTENTS.items()}
    bounds = " and ".join(f"0<={i}<{extents[i]}" for i in sorted(axes))
    kept = ", ".join(i for i in written if i not in reduced)
    over = ", ".join(i for i in written if i in reduced)
    shape = ", ".join(extents[i] for i in axes)
    return kernel(
        f"{{ [{','.join(written)}]: {bounds} }}",
        f"s[{kept or 0}] = sum(({over},), a[{', '.join(axes)}])".replace(",)", ")"),
        pg.GlobalArg("a", "float64", shape),
        **options,
    )


def runs(axes: str, chosen: str) -> int:
    """Return of how many parts of neighbours some of the axes consist."""
    inside = [axis in chosen for axis in axes]
    return sum(now and not before for before, now in zip([False, *inside], inside, strict=False))


def inner_loop(knl: Kernel, target: str) -> str:
    """Return the text of the loop over `r`."""
    return str(pg.generate_code(knl, target)).partition("for (int r ")[2]


def check(axes: str, reduced: str, written: str, *, symbolic: bool, target: str) -> None:
    knl = coalesced(total(axes, reduced, written, symbolic=symbolic))
    kept = [i for i in written if i not in reduced]
    insn = knl.instruction("insn")
    assert [node.inames for node in insn.reductions] == [("r",)]
    assert insn.within_inames == ({"p"} if kept else set())
    code = inner_loop(knl, target)
    assert code
    if runs(axes, reduced) == 1:
        assert not re.search(r"\br\)* [/%]", code)
    sizes = {SIZES[i]: EXTENTS[i] for i in axes} if symbolic else {}
    arguments = make_arguments(knl, sizes)
    where = [axes.index(i) for i in (*kept, *(i for i in axes if i in reduced))]
    turned = arguments["a"].transpose(where)
    expected = turned.sum(axis=tuple(range(len(kept), len(axes))))
    found = interpret(knl, arguments).arrays["s"]
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def some(axes: str) -> list[str]:
    """Return all ways to choose some of the axes."""
    counts = range(1, len(axes) + 1)
    return ["".join(c) for c in chain.from_iterable(combinations(axes, n) for n in counts)]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@few(1, "symbolic", [False, True])
def test_all_orders_of_a_few_axes(dimensions: int, *, symbolic: bool) -> None:
    names = NAMES[:dimensions]
    for number, axes in enumerate(permutations(names)):
        for reduced in some(names):
            check("".join(axes), reduced, names, symbolic=symbolic, target=TARGETS[number])


def test_orders_of_four_axes() -> None:
    """All ways to reduce, each for three of the orders, which are all there."""
    orders = ["".join(axes) for axes in permutations(NAMES)]
    for number, reduced in enumerate(some(NAMES)):
        for place in range(3):
            axes = orders[(5 * number + 8 * place) % 24]
            check(axes, reduced, NAMES, symbolic=place % 2 == 0, target="c")


# --- what else may be in a kernel

PRODUCER = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    "t[i,j,k] = 2*a[i,j,k]  {id=t}\ns[j] = sum((k,i), t[i,j,k] + b[j])  {id=s, dep=t}",
    pg.GlobalArg("t", shape="n,m,4"),
)
SCALED = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    "<> f = b[j,i] + 1  {id=f}\ns[i,j] = f*sum(k, a[k,i,j])  {id=s, dep=f}",
)
TWO = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    "s[k] = sum((i,j), a[i,j,k]) - sum((j,i), a[i,j,k]*b[j])  {id=s}",
)
NESTED = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
    "f(x) := sum(j, a[x,j,k])\ns[k] = sum(i, f(i))*b[k]  {id=s}",
)
SUMS = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (5, 2), (0, 3))]


@pytest.mark.parametrize("knl", [PRODUCER, SCALED, TWO, NESTED])
def test_among_others(knl: Kernel) -> None:
    new = coalesced(knl, "s")
    assert len({node.inames for node in new.expanded.instruction("s").reductions}) == 1
    agree(knl, SUMS, lambda k: coalesced(k, "s"))
    assert pg.replay(knl, new.history) == new
    assert [step.name for step in new.history] == ["coalesce_reduction"]
    assert pg.obligations(new) == ()


def test_one_kernel_of_all_forms_agrees_with_numpy() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<v }",
        """
        whole = sum((k,j,i), a[i,j,k])         {id=whole}
        rows[i] = max((k,j), a[i,j,k])         {id=rows, dup=i}
        columns[k] = sum((j,i), a[i,j,k]**2)   {id=columns, dup=k}
        between[i,k] = sum(j, a[i,j,k]*b[j])   {id=between}
        around[j] = sum((i,k), a[i,j,k])       {id=around, dup=j}
        turned[k,i] = sum(j, a[i,j,k])         {id=turned, dup=i:k}
        """,
        pg.GlobalArg("a", "float64", "n,m,v"),
        pg.GlobalArg("b", "float64", "m"),
        pg.GlobalArg("whole", shape=()),
    )
    for insn in knl.instructions:
        knl = pg.coalesce_reduction(knl, insn.id)
    run = knl.executor("c")
    for n, m, v in ((1, 1, 1), (2, 3, 5), (7, 1, 4), (3, 8, 9), (0, 3, 2), (16, 17, 15)):
        rng = np.random.default_rng(n)
        a, b = (rng.integers(-8, 9, shape).astype(np.float64) for shape in ((n, m, v), m))
        expected = {
            "whole": a.sum(), "around": a.sum((0, 2)), "between": np.einsum("ijk,j->ik", a, b),
            "columns": (a**2).sum((0, 1)), "rows": a.max((1, 2), initial=-np.inf),
            "turned": a.sum(1).T,
        }  # fmt: skip
        found = dict(zip(expected, run(a=a, b=b)[1], strict=True))
        for name, right in expected.items():
            np.testing.assert_array_equal(found[name], right, err_msg=name)


def test_all_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    def form(knl: Kernel) -> Kernel:
        knl = pg.split_iname(pg.split_iname(knl, "j", 9), "j_inner", 3)
        for insn in knl.instructions:
            knl = pg.coalesce_reduction(knl, insn.id)
        assert len(knl.inames) == 2
        return knl

    check_operators([(form, 45)], "c", monkeypatch, ("int8", "float16"))


def test_what_is_read_most_decides() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<8 and 0<=j<9 and 0<=k<10 }",
        "s = sum((k,j,i), a[k,i,j]*b[j,k]*c[i])", pg.GlobalArg("s", shape=()),
        pg.GlobalArg("a", shape="10,8,9"), pg.GlobalArg("b", shape="9,10"),
    )  # fmt: skip
    assert "a[r]" in inner_loop(pg.add_dtypes(coalesced(knl), {"a,b,c": "float32"}), "c")
    turned = pg.tag_array_axes(knl, "a", "N1,N0,N2")
    assert "a[r]" in inner_loop(pg.add_dtypes(coalesced(turned), {"a,b,c": "float32"}), "c")


def test_what_a_factor_lacks_is_outside() -> None:
    """Each pass is over all of the larger one."""
    knl = kernel(
        "{ [i,j,k]: 0<=i<8 and 0<=j<9 and 0<=k<10 }",
        "s = sum((j,k,i), a[j,k]*b[i])", pg.GlobalArg("s", shape=()),
    )  # fmt: skip
    code = inner_loop(pg.add_dtypes(coalesced(knl), {"a,b": "float32"}), "c")
    assert "a[r % 90]" in code
    assert "b[r / 90]" in code


def test_one_quotient_for_each_gap() -> None:
    """What is contiguous is one number, whichever of the extents are sizes."""
    for extents, offset in (
        ("n,m,10,5", "(r / 50 * m + p) * 50 + r % 50"),
        ("40,20,10,5", "950 * (r / 50) + 50 * p + r"),
        ("n,m,10,v", "10 * r_div * m * v + 10 * p * v + r_mod"),
        ("n,20,v,5", "100 * r_div * v + 5 * p * v + r_mod"),
    ):
        sizes = extents.split(",")
        bounds = " and ".join(f"0<={i}<{n}" for i, n in zip(NAMES, sizes, strict=True))
        array = pg.GlobalArg("a", "float64", extents)
        knl = kernel(f"{{ [i,j,k,l]: {bounds} }}", "s[j] = sum((l,i,k), a[i,j,k,l])", array)
        assert f"a[{offset}]" in inner_loop(coalesced(knl), "opencl")


@pytest.mark.parametrize("reduced", ["ikl", "ij", "ijkl", "ik"])
def test_what_has_to_move_is_what_it_was(reduced: str) -> None:
    """All of the array, and of the sums, in 8 bytes each."""
    new = coalesced(total(NAMES, reduced, NAMES, symbolic=True))
    found = pg.gather_access_footprint_bytes(pg.add_dtypes(new, {"s": "float64"}))
    for extents in ((3, 4, 5, 2), (1, 1, 1, 7), (2, 0, 3, 4)):
        sizes = dict(zip((SIZES[i] for i in NAMES), extents, strict=True))
        kept = [n for i, n in zip(NAMES, extents, strict=True) if i not in reduced]
        read, written = 8 * math.prod(extents), 8 * math.prod(kept)
        assert found["a", "read"].eval_with_dict(sizes) == read
        assert found["s", "write"].eval_with_dict(sizes) == written


def test_nothing_to_join() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "s[i] = sum(j, a[i,j])")
    assert pg.coalesce_reduction(knl, "insn") is knl
    assert coalesced(knl).inames == ("p", "r")


def test_a_loop_that_says_not_what_is_written_stays() -> None:
    knl = kernel(
        "{ [t,i,j,k]: 0<=t<3 and 0<=i,j<n and 0<=k<4 }",
        "s[i,j] = s[i,j] + sum(k, a[k,i,j])  {inames=t:i:j}", loop_priority="t, i, j",
    )  # fmt: skip
    assert coalesced(knl).instruction("insn").within_inames == {"t", "p"}
    agree(knl, [{"n": 2}, {"n": 0}], coalesced)


# --- arrays that lie across the loops

ACROSS = kernel(
    "{ [i,j]: 0<=i<19 and 0<=j<33 }", "s[0] = sum((i,j), a[i,j]*b[j,i])",
    pg.GlobalArg("a,b", "float64"),
)  # fmt: skip
ACROSS_4 = kernel(
    "{ [i,j,k,l]: 0<=i<3 and 0<=j<17 and 0<=k<2 and 0<=l<9 }",
    "s[k] = sum((i,j,l), a[i,j,k,l]*b[j,l,k,i])", pg.GlobalArg("a,b", "float64"),
)  # fmt: skip


@pytest.mark.parametrize("knl", [ACROSS, ACROSS_4])
def test_copies_along_the_loops(knl: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(coalesced(knl).instructions) == 1  # small arrays stay in caches
    monkeypatch.setattr("polygen.transforms.reductions._transposed_copies._LARGE", 8)
    new = coalesced(knl)
    assert [step.name for step in new.history] == ["coalesce_reduction"]
    assert {t.name for t in new.temporaries} == {"b_turned", "b_tile"}
    code = inner_loop(new, "cuda")
    assert re.search(r"\* b_turned\[([^]]*)\]", code)[1] == re.search(r" a\[([^]]*)\]", code)[1]  # type: ignore[index]
    assert len(pg.generate_code(new, "cuda").launches) == 2
    assert pg.obligations(new) == ()
    arguments = make_arguments(new, {})
    a, b = arguments["a"], arguments["b"]
    places = "ij,ji->" if knl is ACROSS else "ijkl,jlki->k"
    expected = np.einsum(places, a, b).reshape(-1)
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(new.executor(target)(a=a, b=b)[1][0], expected)
    unturned = pg.coalesce_reduction(knl, "insn", turned=False)
    assert len(unturned.instructions) == 1


def test_what_a_copy_does_not_pay_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.transforms.reductions._transposed_copies._LARGE", 8)
    sizes = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "s[0] = sum((i,j), a[i,j]*b[j,i])")
    product = kernel(
        "{ [i,j,k]: 0<=i,j,k<40 }", "c[i,j] = sum(k, a[i,k]*b[k,j])"
    )  # each element is read 40 times
    narrow = kernel("{ [i,j]: 0<=i<40 and 0<=j<4 }", "s[0] = sum((i,j), a[i,j]*b[j,i])")
    shifted = kernel("{ [i,j]: 0<=i,j<40 }", "s[0] = sum((i,j), a[i,j]*b[j+1,i])")
    both = kernel("{ [i,j]: 0<=i,j<40 }", "s[0] = sum((i,j), a[i,j]*a[j,i])")
    for knl in (sizes, product, shifted, both):
        assert len(coalesced(knl).instructions) == 1
    assert "b_turned" in str(coalesced(narrow))
    near = kernel("{ [i,j]: 0<=i<4 and 0<=j<40 }", "s[0] = sum((i,j), a[i,j]*b[j,i])")
    assert "b_turned" not in str(coalesced(near))  # neighbours are in one sector


# --- what is refused


def test_order_is_kept_where_it_matters() -> None:
    pg.register_reduction("horner_coal", "3*a + b", 0)
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "s = horner_coal((i,j), a[j,i])",
        pg.GlobalArg("s", shape=()), loop_priority="i, j",
    )  # fmt: skip
    assert "a[r % m, r//m]" in str(coalesced(knl))
    fixed = pg.set_options(
        kernel(
            "{ [i,j]: 0<=i<n and 0<=j<m }", "s = sum((j,i), a[i,j])",
            pg.GlobalArg("s", "float32", ()), pg.GlobalArg("a", "float32", "n,m"),
            loop_priority="j, i",
        ),
        allow_reassociation=False,
    )  # fmt: skip
    assert "a[r % n, r//n]" in str(coalesced(fixed))


@pytest.mark.parametrize(
    ("knl", "kind", "text"),
    [
        (kernel("{ [i]: 0<=i<n }", "b[i] = a[i]"), NoSuchReduction, "no reduction in 'insn'"),
        (
            kernel("{ [i,j,k]: 0<=i<n and 0<=j,k<=i }", "s[i] = sum((j,k), a[j,k])"),
            ExtentNotConstant,
            "cannot be joined: how many values each has depends on sizes",
        ),
        (
            pg.tag_inames(
                kernel("{ [i,j,k]: 0<=i,j,k<n }", "s[i,j] = sum(k, a[i,j,k])"), {"i": "g.0"}
            ),
            TagConflict,
            "it is tagged g.0",
        ),
        (
            kernel("{ [i,j]: 0<=i,j<n }", "s[0] = sum((i,j), a[i,j]) + max(j, b[j])"),
            MapMixesInames,
            "is within 'j' alone",
        ),
        (
            kernel(
                "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
                "<> t = 2*b[i]  {id=t}\ns[i,j] = t*sum(k, a[i,j,k])  {id=insn, dep=t}",
            ),
            IllegalStep,
            "for m=1, n=2, insn[i_0=0, j_0=0] reads the element of 't' that t[i=1] writes later",
        ),
        (
            kernel(
                "{ [i,j,k]: 0<=i<n-1 and 1<=j<m and 0<=k<4 }",
                "s[i,j] = s[i+1,j-1] + sum(k, a[i,j,k])",
                pg.GlobalArg("s", shape="n,m"), loop_priority="j, i",
            ),
            IllegalStep,
            "would change what",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(knl: Kernel, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        coalesced(knl)


def test_arguments() -> None:
    knl = PRODUCER
    with pytest.raises(UnknownInstruction, match="no instruction 'x'"):
        pg.coalesce_reduction(knl, "x")
    with pytest.raises(InvalidArgument, match="insn=3"):
        pg.coalesce_reduction(knl, 3)  # type: ignore[arg-type]
