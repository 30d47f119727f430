"""Products of packed matrices: sizes, types, layouts, and what is no product."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAProduct, NotPaddable, Reassociated, UnknownInstruction
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from tests.few import few
from tests.oracle.cases import kernel as made
from tests.properties.together import run_together

DOMAIN = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<d }"
PLAIN = "c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}"
# No block is full, one is, some are; a panel has one vector, or a part of its second; nothing to
# add up, no result.
SIZES = (
    *((1, 1, 1), (12, 16, 384), (97, 31, 5), (13, 135, 3), (3, 5, 771)),
    *((7, 24, 5), (5, 26, 4), (2, 3, 0), (0, 3, 4)),
)

# What an instruction computes of a[i,k] and b[k,j], and of c as it was.
FORMS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    PLAIN: lambda a, b, c: a @ b,
    "c[i,j] = sum(k, b[k,j]*a[i,k])  {id=c}": lambda a, b, c: a @ b,
    "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) - 3*c[i,j]  {id=c}": lambda a, b, c: 2 * (a @ b) - 3 * c,
    "c[i,j] = sum(k, (a[i,k] - 2)*(b[k,j] + 1))  {id=c}": (lambda a, b, c: (a - 2) @ (b + 1)),
}


def product(text: str = PLAIN, dtype: str = "float64", domain: str = DOMAIN) -> Kernel:
    knl = made(domain, text, target="c")
    return pg.add_dtypes(knl, {name: dtype for name in "abc" if name in knl.variables})


def arguments(sizes: Sequence[int], dtype: str) -> dict[str, Any]:
    """Return matrices of small integers, whose products are exact."""
    n, m, d = sizes
    rng = np.random.default_rng(sum(sizes))
    shapes = {"a": (n, d), "b": (d, m), "c": (n, m)}
    factor = 1 + 2j if dtype.startswith("complex") else 1
    return {n: (factor * rng.integers(-9, 9, size=s)).astype(dtype) for n, s in shapes.items()}


def test_sizes() -> None:
    run = pg.pack_product(product(), "c").executor("c")
    for sizes in SIZES:
        given = arguments(sizes, "float64")
        run(**given)
        np.testing.assert_array_equal(given["c"], given["a"] @ given["b"])


def check_forms(
    cases: Sequence[tuple[str, str, int]], patch: pytest.MonkeyPatch, sizes: Sequence[int]
) -> None:
    """Compare forms with NumPy, each with a type and the size of vectors."""
    given = [arguments(sizes, dtype) for _, dtype, _ in cases]
    kernels = [
        pg.pack_product(product(text, dtype), "c", vector_bytes=size) for text, dtype, size in cases
    ]
    results = run_together(list(zip(kernels, given, strict=True)), "c", patch, ())
    for (text, dtype, _), each, found in zip(cases, given, results, strict=True):
        assert found is not None
        expected = FORMS[text](each["a"], each["b"], each["c"])
        np.testing.assert_array_equal(found["c"], expected, err_msg=f"{text} {dtype}")


@pytest.mark.more
def test_types_and_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    _, swapped, updated, *_ = FORMS
    cases = [(swapped, "float32", 64), (updated, "float64", 32), (updated, "complex64", 64)]
    check_forms(cases, monkeypatch, (13, 55, 200))


@pytest.mark.more
def test_all_types_and_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    types = ("float32", "float64", "int64", "complex64", "complex128")
    cases = [(text, dtype, size) for text in FORMS for dtype in types for size in (16, 32, 64)]
    check_forms(cases, monkeypatch, (201, 55, 100))
    check_forms(cases, monkeypatch, (7, 497, 3))


@pytest.mark.parametrize("layout", ["N1,N0", pytest.param("N0,N1", marks=pytest.mark.more)])
def test_layouts(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The left matrix, transposed, and all arrays with their columns side by side."""
    text = "c[i,j] = sum(k, a[k,i]*b[k,j])  {id=c}"
    knl = pg.pack_product(pg.tag_array_axes(product(text), "a, b, c", layout), "c")
    given = arguments((35, 29, 100), "float64")
    order: Any = "F" if layout == "N0,N1" else "C"
    passed = {n: np.array(v.T if n == "a" else v, order=order) for n, v in given.items()}
    (found,) = run_together([(knl, passed)], "c", monkeypatch, ())
    assert found is not None
    np.testing.assert_array_equal(found["c"], given["a"] @ given["b"])


LAYOUTS = ("a[i,k]*b[j,k]", "a[k,i]*b[k,j]", "a[k,i]*b[j,k]", "b[j,k]*a[k,i]")


def check_transposed(texts: Sequence[str], dtype: str, patch: pytest.MonkeyPatch) -> None:
    """Compare products of transposed matrices with NumPy."""
    given = arguments((25, 37, 400), dtype)
    kernels: list[tuple[Kernel, dict[str, Any]]] = []
    for text in texts:
        knl = pg.pack_product(product(f"c[i,j] = sum(k, {text})  {{id=c}}", dtype), "c")
        a = given["a"] if "a[i,k]" in text else given["a"].T.copy()
        b = given["b"] if "b[k,j]" in text else given["b"].T.copy()
        kernels.append((knl, {"a": a, "b": b, "c": np.zeros_like(given["c"])}))
    results = run_together(kernels, "c", patch, ())
    for text, found in zip(texts, results, strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["c"], given["a"] @ given["b"], err_msg=text)


@pytest.mark.more
def test_both_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    check_transposed(LAYOUTS[2:3], "float32", monkeypatch)


@pytest.mark.more
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_transposed(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_transposed(LAYOUTS, dtype, monkeypatch)


@pytest.mark.more
def test_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of a network: a product, and what is done with each of its elements."""
    text = """
        <> t[i,j] = sum(k, a[i,k]*b[k,j])  {id=c}
        e[i,j] = max(0, t[i,j] + f[j])  {dep=c}
        """
    domain = "{ [i,j,k]: 0<=i<20 and 0<=j<30 and 0<=k<40 }"
    knl = pg.add_dtypes(made(domain, text, target="c"), {"f": "float64"})
    knl = pg.pack_product(pg.add_dtypes(knl, dict.fromkeys("ab", "float64")), "c")
    given = arguments((20, 30, 40), "float64")
    call = {"a": given["a"], "b": given["b"], "f": np.arange(30.0) - 15, "e": np.zeros((20, 30))}
    (found,) = run_together([(knl, call)], "c", monkeypatch, ())
    assert found is not None
    expected = np.maximum(0, given["a"] @ given["b"] + call["f"])
    np.testing.assert_array_equal(found["e"], expected)


def test_sums_that_keep_their_order() -> None:
    knl = pg.set_options(product(dtype="complex64"), allow_reassociation=False)
    with pytest.raises(Reassociated, match="the sum of 'c' otherwise"):
        pg.pack_product(knl, "c")


@pytest.mark.more
def test_sizes_that_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiles fit, nothing is padded."""
    kernels: list[tuple[Kernel, dict[str, Any]]] = []
    for rows in (24, 25):
        sizes = (rows, 48, 96)
        knl = pg.fix_parameters(product(), **dict(zip("nmd", sizes, strict=True)))
        knl = pg.pack_product(knl, "c", vector_bytes=64)
        assert ("if(" in str(knl)) == (rows == 25)
        kernels.append((knl, arguments(sizes, "float64")))
    results = run_together(kernels, "c", monkeypatch, ())
    for (_, given), found in zip(kernels, results, strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["c"], given["a"] @ given["b"])


@pytest.mark.more
def test_a_panel_of_one_vector_has_code_of_its_own() -> None:
    """Of a tile of 12 rows and two vectors, sums are in 24 registers; of one vector, in 12."""
    knl = pg.pack_product(product(), "c", vector_bytes=64)
    code = str(pg.generate_code(knl, "c"))
    loops = [part.split("}")[0] for part in code.split("for (int k_near")[1:]]
    assert [part.count(" += ") for part in loops] == [24, 12]
    assert not any("if (" in part for part in loops)
    whole = pg.fix_parameters(product(), m=32)
    code = str(pg.generate_code(pg.pack_product(whole, "c", vector_bytes=64), "c"))
    assert code.count("for (int k_near") == 1


@pytest.mark.more
def test_loops_of_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{PLAIN}\ne[i,j] = 2*c[i,j]\nf[k] = 3*b[k,0]"
    knl = pg.pack_product(product(text), "c")
    given = arguments((9, 5, 7), "float64")
    outputs = {"e": np.zeros((9, 5)), "f": np.zeros(7)}
    (found,) = run_together([(knl, given | outputs)], "c", monkeypatch, ())
    assert found is not None
    np.testing.assert_array_equal(found["e"], 2 * (given["a"] @ given["b"]))
    np.testing.assert_array_equal(found["f"], 3 * given["b"][:, 0])


@pytest.mark.more
def test_a_product_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = pg.add_dtypes(
        made("{ [i,j,k]: 0<=i,j<n and 0<=k<d }", "c[i,j] = sum(k, a[i,k]*a[j,k])", target="c"),
        {"a": "float64"},
    )
    a = arguments((29, 1, 100), "float64")["a"]
    call = {"a": a, "c": np.zeros((29, 29))}
    (found,) = run_together([(pg.pack_product(knl, "insn"), call)], "c", monkeypatch, ())
    assert found is not None
    np.testing.assert_array_equal(found["c"], a @ a.T)


def test_what_is_made() -> None:
    """Copies and blocks are on threads; the sums of a tile take 24 of 32 registers."""
    knl = pg.pack_product(product(), "c", vector_bytes=64)
    groups = {i for i, tag in knl.tags.items() if isinstance(tag, GroupTag)}
    assert groups == {"left_tile", "right_panel", "i_rows", "j_columns"}
    own = {
        t.name: t.shape for t in knl.temporaries if knl.address_space(t.name) != AddressSpace.GLOBAL
    }
    assert (12, 2, 8) in own.values()
    assert sum(prod(map(int, map(str, shape))) for shape in own.values()) < 2**12
    assert pg.replay(product(), knl.history[len(product().history) :]) == knl


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("c[i,j] = a[i,j]  {id=c}", "has not one sum"),
        ("c[i,j] = sum(k, a[i,k]) + sum(k, b[k,j])  {id=c}", "has not one sum"),
        ("c[i,j] = sum(k, a[i,k]*b[k,j])  {id=c, if=c[i,j] > 0}", "has a condition on its sum"),
        ("c[i,j] = if(c[i,j] > 0, sum(k, a[i,k]*b[k,j]), 1)  {id=c}", "has a condition on its sum"),
        ("c[i,j] = max(k, a[i,k]*b[k,j])  {id=c}", "has no sum over one iname"),
        ("c[i,j] = sum(k, a[i,k] + b[k,j])  {id=c}", "something else than products"),
        ("c[i,j] = sum(k, a[i,k]*b[k,0])  {id=c}", "do not both depend on 'k', and each on one"),
        ("c[i,j] = sum(k, a[i,0]*b[k,j])  {id=c}", "do not both depend on 'k', and each on one"),
        ("c[i,j] = sum(k, a[i,k]*b[i,k])  {id=c}", "not within the loops of rows and columns"),
    ],
)
def test_what_is_no_product(text: str, why: str) -> None:
    with pytest.raises(NotAProduct, match=why):
        pg.pack_product(product(text), "c")


def test_other_refusals() -> None:
    with pytest.raises(UnknownInstruction):
        pg.pack_product(product(), "d")
    for dtype in ("int8", "float16"):
        with pytest.raises(NotAProduct, match="not of one type, which vectors may have"):
            pg.pack_product(product(dtype=dtype), "c")
    with pytest.raises(NotAProduct, match="loops that are tagged"):
        pg.pack_product(pg.tag_inames(product(), {"i": "g.0"}), "c")
    domain = "{ [i,j,k]: 0<=i<n and 0<=j<m and j<n and 0<=k<d }"
    with pytest.raises(NotPaddable, match="it ends with"):
        pg.pack_product(product(domain=domain), "c")


# Which elements a result has, as a set and in NumPy.
PARTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "0<=j<=i<n": lambda i, j: j <= i,
    "0<=i<=j<n": lambda i, j: i <= j,
    "0<=i<j<n": lambda i, j: i < j,
    "0<=i,j<n and i+j<n": lambda i, j: i + j < len(i),
    "0<=i,j<n and i-9<=j<=i+20": lambda i, j: (i - 9 <= j) & (j <= i + 20),
}
UPDATE = "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) - 3*c[i,j]  {id=c}"


@few(1, "part", PARTS)
def test_part_of_a_result(part: str) -> None:
    """What lies outside stays as it was; tiles without an element are not computed."""
    domain = f"{{ [i,j,k]: {part} and 0<=k<d }}"
    shapes = {"a": "n,d", "b": "d,n", "c": "n,n"}
    arrays = [pg.GlobalArg(name, "float64", shape) for name, shape in shapes.items()]
    run = pg.pack_product(made(domain, UPDATE, *arrays, target="c"), "c").executor("c")
    for sizes in ((1, 1, 1), (12, 12, 3), (97, 97, 5), (101, 101, 400), (5, 5, 0), (0, 0, 3)):
        given = arguments(sizes, "float64")
        before = given["c"].copy()
        run(**given)
        there = PARTS[part](*np.indices(sizes[:2]))
        expected = np.where(there, 2 * (given["a"] @ given["b"]) - 3 * before, before)
        np.testing.assert_array_equal(given["c"], expected, str(sizes))


@few(1, "dtype", ("float32", "complex128"))
def test_triangles_of_other_types(dtype: str) -> None:
    domain = "{ [i,j,k]: 0<=i<=j<n and 0<=k<d }"
    text = "c[j,i] = sum(k, a[k,i]*a[k,j])  {id=c}"
    run = pg.pack_product(product(text, dtype, domain), "c").executor("c")
    for n, d in ((13, 5), (61, 390)):
        a = np.ascontiguousarray(arguments((n, d, 1), dtype)["a"].T)
        c = np.zeros((n, n), dtype)
        run(a=a, c=c)
        np.testing.assert_array_equal(c, np.tril((a.T @ a).T))


# Which k are added up for a row i, or a column j, as a set and in NumPy.
DEPTHS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "0<=k<=i": lambda i, j, k: k <= i,
    "i<k<n": lambda i, j, k: i < k,
    "0<=k<n and i-30<=k<i+2": lambda i, j, k: (i - 30 <= k) & (k < i + 2),
    "0<=k<=j and k<n": lambda i, j, k: k <= j,
    "0<=k<=i and k<=j": lambda i, j, k: (k <= i) & (k <= j),
}


@few(1, "depth", DEPTHS)
def test_sums_that_end_with_rows_or_columns(depth: str) -> None:
    """What is not added up is not touched: infinity times 0 would be no number."""
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }", f"{{ [k]: {depth} }}"]
    if depth == "0<=k<=i":
        domains = ["{ [i,k]: 0<=k<=i<n }", "{ [j]: 0<=j<m }"]
    shapes = {"a": "n,n", "b": "n,m", "c": "n,m"}
    arrays = [pg.GlobalArg(name, "float64", shape) for name, shape in shapes.items()]
    knl = made(domains, UPDATE, *arrays, target="c")
    run = pg.pack_product(knl, "c", vector_bytes=32).executor("c")
    for n, m in ((1, 1), (6, 8), (97, 31), (405, 17), (0, 3)):
        given = arguments((n, m, n), "float64")
        i, j, k = np.indices((n, m, n))
        there = DEPTHS[depth](i, j, k)
        before, a, b = given["c"].copy(), given["a"], given["b"]
        expected = 2 * (a[:, None] * np.swapaxes(b, 0, 1)[None] * there).sum(axis=2) - 3 * before
        if "j" not in depth and n:  # what no row adds up
            a[~there[:, 0]] = np.inf
        run(**given)
        np.testing.assert_array_equal(given["c"], expected, f"{n} {m}")


def test_several_terms_and_factors() -> None:
    """Those of syr2k, whose matrices have several factors, in a triangle."""
    text = "c[i,j] = c[i,j] + sum(k, x*a[i,k]*b[j,k] + b[i,k]*a[j,k]*x)  {id=c}"
    shapes = {"a": "n,d", "b": "n,d", "c": "n,n"}
    arrays = [pg.GlobalArg(name, "float64", shape) for name, shape in shapes.items()]
    domains = ["{ [i,k]: 0<=i<n and 0<=k<d }", "{ [j]: 0<=j<=i }"]
    knl = made(domains, text, *arrays, pg.ValueArg("x", "float64"), target="c")
    run = pg.pack_product(knl, "c").executor("c")
    for n, d in ((1, 1), (30, 400), (101, 7)):
        a, b, c = (
            arguments((n, size, seed), "float64")["c"] for size, seed in ((d, 1), (d, 2), (n, 3))
        )
        expected = c + np.tril(2 * (a @ b.T + b @ a.T))
        run(a=a, b=b, c=c, x=2.0)
        np.testing.assert_array_equal(c, expected, f"{n} {d}")
    kept = pg.set_options(knl, allow_reassociation=False)
    with pytest.raises(Reassociated):
        pg.pack_product(kept, "c")


def test_a_triangle_takes_half_of_the_work() -> None:
    """Multiplications are counted: those of tiles below the diagonal, and of those on it."""
    knl = product(domain="{ [i,j,k]: 0<=j<=i<n and 0<=k<d }")
    packed = pg.pack_product(knl, "c", vector_bytes=32)
    total = _multiplications(packed, n=960, d=8)
    assert 1.0 <= total / (960 * 961 / 2 * 8) < 1.03


def _multiplications(knl: Kernel, **sizes: int) -> int:
    found = pg.get_op_map(knl).filter_by(name=["mul"], dtype=[np.dtype("float64")])
    return int(found.eval_and_sum(sizes))
