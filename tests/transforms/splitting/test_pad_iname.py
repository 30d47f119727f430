"""`pad_iname`: iterations beyond the end of a loop, of which nothing is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NotPaddable,
    PolygenError,
    UnknownIname,
)
from polygen.ir import walk
from polygen.ir.domain import parse_domain
from polygen.proof import Rearranged, prove
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, kernel, steps
from tests.transforms.numpy_runs import numpy_agrees


def padded(iname: str, multiple: int) -> Step:
    """Return the step that pads a loop."""
    return lambda knl: pg.pad_iname(knl, iname, multiple)


def rows(text: str = "s = s + a[i, j]", dtype: Any = np.float64) -> pg.Kernel:
    return kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n }",
        f"""
        for i
            <> s = 0  {{id=s}}
            {text}  {{id=add, dep=s}}
            out[i] = s  {{id=out, dep=add}}
        end
        """,
        pg.GlobalArg("a", dtype, "n, n"),
        pg.GlobalArg("out", np.float64, "n"),
    )


def test_what_becomes_of_instructions() -> None:
    knl = pg.pad_iname(rows(), "i", 4)
    assert knl.home_domains["i"].flat.is_equal(
        parse_domain("[n] -> { [i]: 0<=i<4*floor((n+3)/4) }").flat
    )
    lines = str(knl).splitlines()
    assert "[i] s = 0  {id=s}" in lines
    assert "[i, j] s = s + if(i < n, a[i, j], 0)  {id=add, dep=s}" in lines
    assert "[i] out[i] = s  {id=out, dep=add, if=i < n}" in lines
    assert pg.replay(rows(), knl.history) == knl


def test_nothing_to_add() -> None:
    knl = pg.fix_parameters(rows(), n=12)
    assert pg.pad_iname(knl, "i", 4) is knl
    assert pg.pad_iname(pg.assume(rows(), "n mod 8 = 0"), "i", 4) == pg.assume(
        rows(), "n mod 8 = 0"
    )


def test_numpy_agrees() -> None:
    tiles = steps(
        padded("i", 4), lambda k: pg.split_iname(k, "i", 4, outer_tag="g.0", inner_tag="l.0")
    )
    numpy_agrees(rows(), tiles, lambda a: {"out": a.sum(axis=1)}, dimensions=2)
    # A rule, whose reads are padded where it stands; and bounds that do not begin at 0.
    rule = kernel("{ [i]: 2<=i<n+2 }", "f(x) := a[x-2]\n<> t = f(i)\nout[i-2] = t*t")
    numpy_agrees(pg.add_dtypes(rule, {"a": np.float64}), padded("i", 3), lambda a: {"out": a * a})


def test_a_tile_with_zeros() -> None:
    def tiled(knl: pg.Kernel) -> pg.Kernel:
        knl = pg.split_iname(pg.pad_iname(knl, "i", 4), "i", 4, outer_tag="g.0", inner_tag="l.0")
        knl = pg.split_iname(knl, "j", 4)
        knl = pg.extract_subst(knl, "or_0", "if(row < n, a[row, column], 0)", "row, column")
        return pg.precompute(knl, "or_0", "i_inner, j_inner", temporary_address_space="local")

    numpy_agrees(rows(), tiled, lambda a: {"out": a.sum(axis=1)}, dimensions=2)
    code = str(pg.generate_code(tiled(rows()), "c"))
    assert code.count("< n ?") == 1  # where the tile is filled, not where it is read


@pytest.mark.parametrize(
    ("text", "iname", "kind", "why"),
    [
        # What is read after the loop, or in a later iteration, is not what was read.
        (
            "for i\nt = a[i] {id=t,dep=z}\nend\nout[0] = t {dep=t}",
            "i",
            IllegalStep,
            r"what t\[i=3\] wrote",
        ),
        (
            "for i\nt = t + a[i] {id=t,dep=z}\nend\nout[0] = t {dep=t}",
            "i",
            IllegalStep,
            r"t\[i=3\]",
        ),
        (
            "out[0] = sum(j, a[j]) {dep=z}",
            "j",
            NotPaddable,
            "'j' is what a reduction runs over, in ",
        ),
        (
            "out[p] = a[q] {dep=z}",
            "p",
            NotPaddable,
            "that depends on 'q', a loop of the same domain",
        ),
        ("out[k] = a[k] {dep=z}", "k", NotPaddable, "ends with .* for m=., n=., but with .* for m"),
    ],
)
def test_refused(text: str, iname: str, kind: type[PolygenError], why: str) -> None:
    domains = [
        "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<n and k<m }",
        "{ [p,q]: 0<=p<n and p<=q<=p }",
    ]  # fmt: skip
    knl = kernel(
        domains,
        f"<> t = 0 {{id=z}}\n{text}",
        pg.GlobalArg("a", np.float32, "n"),
        pg.GlobalArg("idx", np.int32, "n"),
        pg.GlobalArg("out", np.float32, "n+2"),
    )
    with pytest.raises(kind, match=why):
        pg.pad_iname(knl, iname, 4)


def test_types_decide() -> None:
    # Of truth values and 0, integers are chosen.
    for dtype in (None, np.bool_):
        with pytest.raises(CannotProve, match="may be of another type in a choice"):
            pg.pad_iname(rows("s = s + a[i, j]", dtype), "i", 4)


def test_arguments() -> None:
    with pytest.raises(UnknownIname, match="no iname 'r'"):
        pg.pad_iname(rows(), "r", 4)
    with pytest.raises(InvalidArgument, match="multiple=0"):
        pg.pad_iname(rows(), "i", 0)


# Domains, and which values of i (beside j) they have, in Python.
DOMAINS: dict[str, Callable[[int, int], Iterable[int]]] = {
    "{ [i]: 0<=i<n and i mod 2 = 0 }": lambda n, j: range(0, n, 2),
    "{ [i]: 2<=i<n and i mod 3 = 1 }": lambda n, j: range(4, n, 3),
    "{ [i]: -n<=i<n and (i + n) mod 3 = 0 }": lambda n, j: range(-n, n, 3),
    "{ [i]: exists(k: i = 2*k and 0<=k<n) }": lambda n, j: range(0, 2 * n, 2),
    "{ [i]: 0<=i<n and i != 5 }": lambda n, j: [i for i in range(n) if i != 5],
    "{ [i]: 0<=i<n and i mod 2 = 0 and i != 4 }": lambda n, j: [
        i for i in range(0, n, 2) if i != 4
    ],
    "{ [i]: 0<=i<n and (i mod 4 = 1 or i mod 4 = 2) }": lambda n, j: [
        i for i in range(n) if i % 4 in {1, 2}
    ],
    "{ [i]: 0<=i<n or 2*n<=i<3*n }": lambda n, j: [*range(n), *range(2 * n, 3 * n)],
    "{ [i]: exists(k: i = 3*k and 0<=k<n and n mod 2 = 0) or "
    "exists(k: i = 3*k and 0<=k<n and n mod 2 = 1) }": lambda n, j: range(0, 3 * n, 3),
    "{ [i,j]: 0<=i<n and 0<=j<3 and i != j }": lambda n, j: [i for i in range(n) if i != j],
}


@few(4, "domain", DOMAINS)
def test_steps_and_gaps(domain: str) -> None:
    """However the values of a loop lie, it gets a multiple of them, and the same is done."""
    place, shape = ("i + n, j", "4*n, 3") if "j" in domain else ("i + n", "4*n")
    text = f"<> t = 2*a[{place}]  {{id=t}}\nout[{place}] = t + i  {{dep=t}}"
    knl = kernel(domain, text, pg.GlobalArg("a, out", "float64", shape))
    agree_in_arrays(knl, [{"n": n} for n in (0, 1, 6, 9)], padded("i", 4))
    home = pg.pad_iname(knl, "i", 4).home_domains["i"].flat
    for n, j in product(range(1, 12), range(3 if "j" in domain else 1)):
        wanted = set(DOMAINS[domain](n, j))
        found = {i for i in range(-n, 4 * n + 60) if _has(home, i=i, j=j, n=n)}
        assert wanted <= found
        assert len(found) % 4 == 0
        inside = range(min(wanted), max(wanted) + 1) if wanted else ()
        assert len(found.difference(inside)) < 8  # few more than asked for


def test_gaps_for_sizes_without_any_value() -> None:
    """For n = 1 and m = 0 there is no iteration: nor is one that counts among those added."""
    text = "<> t = 2*a[i]  {id=t}\nout[i] = t + i  {dep=t}"
    array = pg.GlobalArg("a, out", "float64", "n")
    sizes = [{"n": n, "m": m} for n, m in ((0, 0), (1, 0), (2, 1), (6, 4), (5, 7))]
    for assumed in ("n >= 0", "n >= 0 and m >= 0"):  # that m is a size, the loop says alone, or not
        knl = kernel("{ [i]: 0<=i<n and i != m }", text, array, assumptions=assumed)
        agree_in_arrays(knl, sizes, padded("i", 4))
        assert pg.pad_iname(knl, "i", 4).parameters == knl.parameters


def _has(flat: isl.Set, **point: int) -> bool:
    for name, value in point.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(value))
    return not flat.is_empty()


BOUNDED_BY_DATA = {
    "a count": (["{ [i]: 0<=i<h }"], "<int32> h = c[0]  {id=h}\nout[i] = 2*a[i]  {dep=h}"),
    "a temporary": (
        ["{ [i]: 0<=i<h }"],
        "<int32> h = c[0]  {id=h}\n<> t = 2*a[i]  {id=t, dep=h}\nout[i] = t + h  {dep=t}",
    ),
    "rows": (
        ["{ [r]: 0<=r<n }", "{ [i]: lo<=i<h }"],
        "<int32> lo = c[r]  {id=lo}\n<int32> h = c[r+1]  {id=h}\nout[i] = 2*a[i] + r {dep=lo:h}",
    ),
    "an index": (["{ [i]: 0<=i<=n }"], "<> t = a[c[i]]  {id=t}\nout[i] = t  {dep=t}"),
}


@pytest.mark.parametrize("name", BOUNDED_BY_DATA)
def test_data_bounds_the_loop(name: str) -> None:
    domains, text = BOUNDED_BY_DATA[name]
    data = pg.GlobalArg("a, out", "float64", 32), pg.GlobalArg("c", "int32", "n + 1")
    knl = kernel(domains, text, *data, assumptions="0 <= n < 32")
    counts = {4: (0, 3, 3, 8, 20), 0: (5,), 3: (7, 9, 14, 30)}

    def ends(call: Mapping[str, int]) -> NDArray[Any]:
        return np.array(counts[call["n"]], np.int32)

    agree_in_arrays(knl, [{"n": n} for n in counts], padded("i", 4), padded("i", 5), c=ends)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        # What bounds the loop, or is asked, is not what it was.
        ("if=i < h", "how often it is executed depends on data"),
        ("if=i < h - 1", "how often it is executed depends on data"),
        ("if=i <= h", "how often it is executed depends on data"),
        ("if=i < c[0]", "how often it is executed depends on data"),
    ],
)
def test_other_iterations_that_data_bounds_are_refused(changed: str, why: str) -> None:
    data = pg.GlobalArg("a, out", "float64", 32), pg.GlobalArg("c", "int32", 2)
    text = "<int32> h = c[0]  {id=h}\n<int32> k = c[1]  {id=k}\nout[i] = 2*a[i]  {id=o, dep=h:k}"
    old = kernel("{ [i]: 0<=i<h }", text, *data)
    wider = "{ [i]: 0<=i<h + 4 }" if changed != "if=i < h" else "{ [i]: 0<=i<k }"
    with pg.without_proofs():
        new = kernel(wider, text.replace("dep=h:k", f"dep=h:k, {changed}"), *data)
    with pytest.raises(CannotProve, match=why):
        prove("step", old, Rearranged(new))
    with pg.without_proofs():
        right = kernel("{ [i]: 0<=i<h + 4 }", text.replace("dep=h:k", "dep=h:k, if=i < h"), *data)
    prove("step", old, Rearranged(right))


@pytest.mark.parametrize(
    ("domain", "says"),
    [
        ("{ [p]: n<=p<=n+2 or p=0 }", r"it begins with 0 for n=\d, but with n for n=-[1-3]\n"),
        ("{ [p]: p=0 or p=n }", r"it begins with 0 for n=\d, but with n for n=-[1-3]\n"),
        ("{ [p]: 0<=p<=2 or 5<=p<=n }", r"it ends with 2 for n=-?[0-4], but with n for n=[5-9]\n"),
    ],
)
def test_pieces_that_no_constraint_bounds_together(domain: str, says: str) -> None:
    arrays = [pg.GlobalArg(name, np.float64, 40) for name in "oa"]
    knl = pg.make_kernel(domain, "o[p+3] = a[p+3]", [*arrays, "..."], assumptions="-3 <= n <= 9")
    with pytest.raises(NotPaddable, match=says):
        pg.pad_iname(knl, "p", 4)


@pytest.mark.parametrize("domain", ["{ [p]: n<=p<=n+2 or p=0 }", "{ [p]: p=0 or p=n }"])
def test_pieces_whose_order_sizes_decide(domain: str) -> None:
    arrays = [pg.GlobalArg(name, np.float64, 40) for name in "oa"]
    knl = kernel(domain, "o[p] = 2*a[p]", *arrays, assumptions="1 <= n <= 9")
    agree_in_arrays(knl, [{"n": n} for n in (1, 2, 3, 4, 8, 9)], padded("p", 4))


ROWS = ["{ [r]: 4<=r<n }", "{ [p]: 0<=p<r and p<m }"]
HALF = "3<=n<=9 and 7<=m<=9"


@pytest.mark.parametrize(
    ("domains", "assumptions", "possible"),
    [
        (["{ [p]: 0<=p<n and p<m }"], HALF, lambda n, m, r: 3 <= n <= 9 and 7 <= m <= 9),
        (["{ [p]: 0<=p<n or m<=p<=m+1 }"], "0<=n<m<=9", lambda n, m, r: 0 <= n < m <= 9),
        (ROWS, "0<=n<=9 and 3<=m<=6", lambda n, m, r: 4 <= r < n <= 9 and 3 <= m <= 6),
    ],
    ids=["least", "pieces", "rows"],
)
def test_sizes_that_are_named_are_possible(
    domains: list[str], assumptions: str, possible: Callable[..., bool]
) -> None:
    """The two cases are for sizes that the kernel allows, and for loops around that there are."""
    arrays = [pg.GlobalArg(name, np.float64, 40) for name in "oa"]
    text = "o[p] = a[p] {inames=p:r}" if len(domains) > 1 else "o[p] = a[p]"
    knl = kernel(domains, text, *arrays, assumptions=assumptions)
    with pytest.raises(NotPaddable) as caught:
        pg.pad_iname(knl, "p", 4)
    told = re.findall(r" for ((?:\w=-?\d+(?:, )?)+)", str(caught.value))
    points = [{n: int(v) for n, v in re.findall(r"(\w)=(-?\d+)", one)} for one in told]
    assert len(points) == 2
    assert all(possible(**{"r": 0, **point}) for point in points), told


@pytest.mark.parametrize("around", [False, True])
def test_one_end_where_sizes_say_which(around: bool) -> None:
    """Of two ends, assumptions or the loop around leave one: no refusal, nor a condition."""
    domains = ["{ [p]: 0<=p<n and p<m }"]
    text = "<> t = 2*a[p]  {id=t}\no[p] = t + p  {dep=t}"
    if around:
        domains = ["{ [r]: 0<=r<n }", "{ [p]: 0<=p<r and p<m }"]
        text = "<> t = 2*a[p]  {id=t, inames=r:p}\no[r, p] = t + p  {dep=t}"
    shape = "n, n" if around else "n"
    arrays = pg.GlobalArg("a", "float64", "n"), pg.GlobalArg("o", "float64", shape)
    knl = kernel(domains, text, *arrays, assumptions="0 <= n <= m")
    sizes = [{"n": n, "m": m} for n, m in ((0, 0), (0, 3), (1, 1), (5, 5), (4, 7), (9, 11))]
    agree_in_arrays(knl, sizes, padded("p", 4))
    new = pg.pad_iname(knl, "p", 4)
    assert "m" not in new.home_domains["p"].parameters
    assert not any("m" in walk.free_variables(p) for i in new.instructions for p in i.predicates)


def test_a_loop_without_iterations() -> None:
    array = pg.GlobalArg("o", "float64", 4)
    for domain, assumed in (("{ [p]: 0<=p<n }", "n <= 0"), ("{ [p]: 0<=p<4 and p>n }", "n > 3")):
        knl = kernel(domain, "o[p] = p", array, assumptions=assumed)
        assert pg.pad_iname(knl, "p", 4) is knl
