"""Contractions on grids: what is one, in which tiles, and that results are NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAProduct
from polygen.ir.kernel import Kernel
from polygen.schedules.contractions import contraction_of
from polygen.schedules.nests import Extents
from polygen.schedules.product_forms import as_product
from polygen.schedules.register_tiles import Shape, in_register_tiles
from tests.few import few
from tests.nvidia.nvrtc import compile_for

QUIET = ("AmbiguousNesting", "PriorityIgnored")
SMALL = Shape(rows=8, columns=16, depth=4, items=(2, 2, 2), lanes=2)
LIMITS = pg.Limits.named("H200")
PLANE = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }"
BATCH = "{ [e,i,j,k]: 0<=e<g and 0<=i<n and 0<=j<m and 0<=k<l }"
SIZES = ({"n": 1, "m": 1, "l": 1}, {"n": 17, "m": 33, "l": 7}, {"n": 8, "m": 16, "l": 8})
NOTHING = ({"n": 5, "m": 3, "l": 0}, {"n": 0, "m": 3, "l": 5})


def kernel(domain: Any, text: str, *data: Any, **options: Any) -> Kernel:
    return pg.make_kernel(domain, text, [*data, "..."], silenced_warnings=QUIET, **options)


@dataclass(frozen=True)
class Case:
    """A contraction as a text, and as NumPy writes it."""

    text: str
    shapes: Mapping[str, str]
    expected: Callable[..., Any]
    domain: str = PLANE

    def kernel(self, dtype: str = "float32", target: str | None = None) -> Kernel:
        arrays = [pg.GlobalArg(x, dtype, s) for x, s in self.shapes.items()]
        text = f"{self.text}  {{id=c}}"
        return kernel(self.domain, text, *arrays, target=target)

    def arrays(self, sizes: Mapping[str, int], dtype: str = "float32") -> dict[str, Any]:
        """Return small whole numbers, whose sums are exact in any order."""
        rng = np.random.default_rng(sizes["n"])
        return {
            x: rng.integers(-4, 5, tuple(_extents(shape, sizes))).astype(dtype)
            for x, shape in self.shapes.items()
        }


def _extents(shape: str, sizes: Mapping[str, int]) -> list[int]:
    parts = [part.strip() for part in shape.split(",")]
    return [2 * sizes[p[2:]] if p.startswith("2*") else sizes[p] for p in parts]


NN = {"a": "n,l", "b": "l,m", "c": "n,m"}
CASES = {
    "a b": Case("c[i,j] = sum(k, a[i,k]*b[k,j])", NN, lambda a, b, c: a @ b),
    "aT b": Case("c[i,j] = sum(k, a[k,i]*b[k,j])", {**NN, "a": "l,n"}, lambda a, b, c: a.T @ b),
    "a bT": Case("c[i,j] = sum(k, a[i,k]*b[j,k])", {**NN, "b": "m,l"}, lambda a, b, c: a @ b.T),
    "b a": Case("c[i,j] = sum(k, b[k,j]*a[i,k])", NN, lambda a, b, c: a @ b),
    "result transposed": Case(
        "c[j,i] = sum(k, a[i,k]*b[k,j])", {**NN, "c": "m,n"}, lambda a, b, c: (a @ b).T
    ),
    "epilogue": Case(
        "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) + 3*c[i,j]", NN, lambda a, b, c: 2 * (a @ b) + 3 * c
    ),
    "bias": Case(
        "c[i,j] = fmax(sum(k, a[i,k]*b[k,j]) + d[j], 0)",
        {**NN, "d": "m"},
        lambda a, b, c, d: np.maximum(a @ b + d, 0),
    ),
    "producer": Case(
        "c[i,j] = sum(k, (a[i,k]*a[i,k] + 1)*b[k,j])", NN, lambda a, b, c: (a * a + 1) @ b
    ),
    "strides": Case(
        "c[i,j] = sum(k, a[2*i+1,k]*b[k,m-1-j])",
        {**NN, "a": "2*n,l"},
        lambda a, b, c: a[1::2] @ b[:, ::-1],
    ),
    "syrk": Case(
        "c[i,j] = sum(k, a[i,k]*a[j,k])",
        {"a": "n,l", "c": "n,n"},
        lambda a, c: a @ a.T,
        "{ [i,j,k]: 0<=i,j<n and 0<=k<l }",
    ),
    "batch": Case(
        "c[e,i,j] = sum(k, a[e,i,k]*b[e,k,j])",
        {"a": "g,n,l", "b": "g,l,m", "c": "g,n,m"},
        lambda a, b, c: a @ b,
        BATCH,
    ),
    "two batches": Case(
        "c[e,h,i,j] = sum(k, a[e,i,k]*b[h,k,j])",
        {"a": "g,n,l", "b": "g,l,m", "c": "g,g,n,m"},
        lambda a, b, c: a[:, None] @ b[None],
        "{ [e,h,i,j,k]: 0<=e,h<g and 0<=i<n and 0<=j<m and 0<=k<l }",
    ),
}
FEW = ("producer",)
ALL = [pytest.param(name, marks=[] if name in FEW else pytest.mark.more, id=name) for name in CASES]


def tiled(knl: Kernel, shape: Shape = SMALL) -> Kernel:
    return in_register_tiles(knl, contraction_of(knl, "c", Extents(knl, {})), shape)


@pytest.mark.parametrize("name", ALL)
def test_tiles_of_any_sizes(name: str) -> None:
    case = CASES[name]
    run = tiled(case.kernel()).executor("c")
    for sizes in (*SIZES, *NOTHING):
        arrays = case.arrays({**sizes, "g": 2})
        expected = case.expected(**arrays)
        run(**arrays)
        np.testing.assert_array_equal(arrays["c"], expected, str(sizes))


@pytest.mark.parametrize("name", ["a b", *(pytest.param(n, marks=pytest.mark.more) for n in FEW)])
def test_tiles_in_opencl(name: str) -> None:
    case = CASES[name]
    run = tiled(case.kernel("float64")).executor("opencl")
    for sizes in SIZES:
        arrays = case.arrays({**sizes, "g": 2}, "float64")
        _, (found,) = run(**arrays)
        np.testing.assert_array_equal(found, case.expected(**arrays), str(sizes))


@pytest.mark.more
def test_rows_of_whole_vectors_are_copied_as_vectors() -> None:
    """Of an aligned array whose rows are whole vectors, and of no other."""
    knl = CASES["a b"].kernel(target="cuda")
    aligned = kernel(
        PLANE,
        "c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}",
        *(pg.GlobalArg(x, "float32", s, alignment=16) for x, s in NN.items()),
        target="cuda",
    )
    shape = Shape(rows=16, columns=16, depth=4, items=(2, 2, 1), lanes=4)
    for given, m, expected in ((knl, 32, False), (aligned, 32, True), (aligned, 33, False)):
        source = str(pg.generate_code(tiled(pg.fix_parameters(given, n=32, m=m, l=8), shape)))
        assert ("pg_copy((pg_vector<float, 4>" in source) == expected
    code, log = compile_for("compute_90", source)
    assert code, log


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("c[i,j] = sum(k, a[i,k])", "products of two factors"),
        ("c[i,j] = sum(k, a[i,k]*b[k,j]*s[k])", "products of two factors"),
        ("c[i,j] = sum(k, a[i,k]*s[k])", "each on a loop of its own"),
        ("c[i,j] = sum(k, a[i,k]*b[0,j])", "both depend on 'k'"),
        ("c[i,j] = max(k, a[i,k]*b[k,j])", "has no sum"),
        ("c[i,j] = sum(k, a[i,k]*b[k,j]) + sum(k, a[i,k])", "has not one sum"),
        ("c[i,j] = if(i < j, sum(k, a[i,k]*b[k,j]), 0)", "has a condition"),
        ("c[i,j] = sum(k, a[i,k]*b[k,j])  {if=i < j}", "has a condition"),
        ("c[0,j] = sum(k, a[i,k]*b[k,j])  {inames=i:j}", "in an order"),
    ],
)
def test_what_is_no_contraction(text: str, why: str) -> None:
    options = "id=c, " + text.partition("{")[2].rstrip("}") if "{" in text else "id=c"
    knl = kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        f"{text.partition('{')[0]} {{{options}}}",
        pg.GlobalArg("a, b, c", "float32", "n,n"),
        pg.GlobalArg("s", "float32", "n"),
    )
    with pytest.raises(NotAProduct, match=why):
        contraction_of(knl, "c", Extents(knl, {}))


def test_loops_on_axes_and_integers_of_two_types_are_left() -> None:
    knl = CASES["a b"].kernel()
    with pytest.raises(NotAProduct, match="tagged"):
        contraction_of(pg.tag_inames(knl, {"i": "g.0"}), "c", Extents(knl, {}))
    mixed = kernel(
        PLANE,
        "c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}",
        pg.GlobalArg("a", "float32", "n,l"),
        pg.GlobalArg("b", "float64", "l,m"),
    )
    with pytest.raises(NotAProduct, match="one type"):
        contraction_of(mixed, "c", Extents(mixed, {}))


TRIANGLE = "{ [i,j,k]: 0<=j<=i<n and 0<=k<l }"
SQUARE = {"a": "n,l", "b": "n,l", "c": "n,n"}
FORMS = {
    "triangle": Case(
        "c[i,j] = 2*c[i,j] + sum(k, a[i,k]*a[j,k])",
        {"a": "n,l", "c": "n,n"},
        lambda a, c: np.where(_lower(c), 2 * c + a @ a.T, c),
        TRIANGLE,
    ),
    "upper, transposed": Case(
        "c[i,j] = sum(k, a[k,i]*b[k,j])",
        {"a": "l,n", "b": "l,n", "c": "n,n"},
        lambda a, b, c: np.where(_lower(c).T, a.T @ b, c),
        "{ [i,j,k]: 0<=i<=j<n and 0<=k<l }",
    ),
    "several products": Case(
        "c[i,j] = c[i,j] + sum(k, a[i,k]*b[j,k] + b[i,k]*a[j,k])",
        SQUARE,
        lambda a, b, c: np.where(_lower(c), c + a @ b.T + b @ a.T, c),
        TRIANGLE,
    ),
    "three factors": Case(
        "c[i,j] = sum(k, s[k]*a[i,k]*b[k,j])", {**NN, "s": "l"}, lambda a, b, c, s: (a * s) @ b
    ),
    "two sums": Case(
        "c[i,j] = sum((q,k), a[i,q,k]*b[q,k,j])",
        {"a": "n,l,l", "b": "l,l,m", "c": "n,m"},
        lambda a, b, c: np.einsum("iqk,qkj->ij", a, b),
        "{ [i,j,k,q]: 0<=i<n and 0<=j<m and 0<=k,q<l }",
    ),
    "triangular factor": Case(
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        {"a": "n,n", "b": "n,m", "c": "n,m"},
        lambda a, b, c: np.tril(a) @ b,
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<=i }",
    ),
}


def _lower(c: Any) -> Any:
    return np.tri(len(c), dtype=bool)


def formed(knl: Kernel) -> Kernel:
    new, name = as_product(knl, "c")
    return in_register_tiles(new, contraction_of(new, name, Extents(new, {})), SMALL)


@few(1, "name", FORMS)
def test_other_forms(name: str) -> None:
    """Parts of a result, several products, factors and sums: as NumPy's, and CUDA C++."""
    case = FORMS[name]
    knl = formed(case.kernel())
    run = knl.executor("c")
    for sizes in (*SIZES, {"n": 20, "m": 7, "l": 6}, *NOTHING):
        arrays = case.arrays(sizes)
        expected = case.expected(**{key: value.copy() for key, value in arrays.items()})
        run(**arrays)
        np.testing.assert_array_equal(arrays["c"], expected, str(sizes))
    code, log = compile_for("compute_90", str(pg.generate_code(knl.copy(target="cuda"))))
    assert code, log


@few(0, "name", FORMS)
def test_other_forms_in_opencl(name: str) -> None:
    case = FORMS[name]
    run = formed(case.kernel("float64")).executor("opencl")
    for sizes in SIZES:
        arrays = case.arrays(sizes, "float64")
        expected = case.expected(**{key: value.copy() for key, value in arrays.items()})
        _, found = run(**arrays)
        np.testing.assert_array_equal(found[0], expected, str(sizes))


@few(1, "name", FORMS)
def test_optimize_takes_tiles_for_other_forms(name: str) -> None:
    knl = FORMS[name].kernel(target="cuda")
    sizes = {"n": 1024, "m": 1024, "l": 1024 if name != "two sums" else 32}
    fast = optimized(knl, **sizes)
    assert "in registers" in str(fast.choices[0])
    assert fast.choices[0].is_taken
    has_triangle = any(word in name for word in ("triang", "upper", "several"))
    assert has_triangle == ("pad_tiles" in [step.name for step in fast.history])


def optimized(knl: Kernel, **sizes: int) -> Kernel:
    return pg.optimize(knl, LIMITS, sizes=sizes)


def test_optimize_takes_tiles_and_says_why() -> None:
    knl = CASES["a b"].kernel(target="cuda")
    fast = optimized(knl, n=4096, m=4096, l=4096)
    (choice,) = fast.choices
    assert choice.is_taken
    assert "tiles of 128 x 128 in registers" in str(choice)
    assert "1024 groups for 132 units" in str(choice)
    names = [step.name for step in fast.history]
    assert names.count("pad_iname") == 2
    assert names.count("double_buffer") == 1
    assert "launch_bounds__(256)" in str(pg.generate_code(fast))


@few(1, ("n", "m", "depth"), [(12, 4096, 4096), (32, 32, 32)])
def test_small_ones_are_reductions_as_others(n: int, m: int, depth: int) -> None:
    names = [step.name for step in optimized(CASES["a b"].kernel(), n=n, m=m, l=depth).history]
    assert "double_buffer" not in names


@pytest.mark.more
def test_long_sums_of_few_results_are_divided() -> None:
    knl = CASES["a b"].kernel(target="opencl")
    fast = optimized(knl, n=64, m=64, l=4096)
    assert "sums in 32 parts" in str(fast.choices[0])
    assert len(pg.generate_code(fast).launches) == 2
    case = CASES["a b"]
    for sizes in ({"n": 33, "m": 40, "l": 600}, {"n": 3, "m": 1, "l": 5}):
        arrays = case.arrays(sizes)
        _, (found,) = fast(**arrays)
        np.testing.assert_array_equal(found, case.expected(**arrays))


@pytest.mark.more
def test_what_else_there_is_gets_axes_of_its_own() -> None:
    """A product, an element-wise nest in its loops, a sum of its rows, and a second product."""
    knl = kernel(
        "{ [i,j,k,p,q,r,s,t]: 0<=i,j,k,p,q,r,s,t<n }",
        """
        c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}
        d[i,j] = a[i,j] + b[i,j]
        e[p] = sum(q, c[p,q])
        f[r,s] = sum(t, c[r,t]*c[t,s]) + e[r]
        """,
        pg.GlobalArg("a, b, c, d, f", "float64", "n,n"),
        pg.GlobalArg("e", "float64", "n"),
        target="opencl",
        seq_dependencies=True,
    )
    fast = optimized(knl, n=512)
    assert sum("in registers" in str(c) for c in fast.choices if c.is_taken) == 2
    n = 37
    rng = np.random.default_rng(3)
    a, b = rng.integers(-3, 4, (2, n, n)).astype(float)
    c = a @ b
    found = dict(zip("cdfe", fast(a=a, b=b)[1], strict=True))
    np.testing.assert_array_equal(found["c"], c)
    np.testing.assert_array_equal(found["d"], a + b)
    np.testing.assert_array_equal(found["e"], c.sum(1))
    np.testing.assert_array_equal(found["f"], c @ c + c.sum(1)[:, None])


@pytest.mark.more
def test_steps_of_time_stay_around_products() -> None:
    knl = kernel(
        "{ [t,i,j,k,p,q]: 0<=t<T and 0<=i,j,k,p,q<n }",
        """
        for t
            c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c, inames=t:i:j, dep=*}
            b[p,q] = c[p,q] - b[p,q]  {id=b, inames=t:p:q, dep=c}
        end
        """,
        pg.GlobalArg("a, b, c", "float32", "n,n"),
        target="opencl",
    )
    fast = optimized(knl, n=512, T=10)
    assert "in registers" in str(fast.choices[0])
    n = 20
    rng = np.random.default_rng(4)
    a, b = rng.integers(-1, 2, (2, n, n)).astype(np.float32)
    expected = b.copy()
    for _ in range(3):
        expected = a @ expected - expected
    fast(a=a, b=b, c=np.zeros_like(a), T=3)
    np.testing.assert_array_equal(b, expected)
