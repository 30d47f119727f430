"""Reductions in the order in which memory is walked: their results and their loops."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotOptimized, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.nvidia.nvrtc import compile_for
from tests.operators import ROWS, TYPES, arrays, expected
from tests.operators import kernel as rows
from tests.oracle.cases import kernel as made
from tests.properties.together import run_together
from tests.random_kernels.agree import cases_of, found_by

PRODUCT = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }"
MATRIX = "{ [i,j]: 0<=i<n and 0<=j<m }"
Expected = Callable[[Any, Any, Any], Any]
SIZES = ((3, 5, 17), (1, 2049, 8), (2, 1, 0), (0, 3, 4), (2, 3, 1), (5, 0, 3))


def typed(domains: Any, text: str, dtype: str = "float64", *data: Any, **options: Any) -> Kernel:
    knl = made(domains, text, *data, **options)
    arrays_read = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(arrays_read, dtype))


def ordered(*args: Any, **options: Any) -> Kernel:
    knl = typed(*args, **options)
    new = pg.order_sums(knl)
    assert new is not knl
    assert pg.order_sums(new) is new  # there is nothing left to gain
    return new


def small(shape: Any, dtype: Any = np.float64, seed: int = 1) -> Any:
    """Return small integers: their sums and products are exact in all types."""
    rng: Any = np.random.default_rng(seed)
    return np.asarray(rng.integers(-3, 4, size=shape), dtype)


def loops(knl: Kernel) -> list[str]:
    """Return the loops of the C code, each behind so many spaces as it is deep."""
    source = pg.generate_code(knl, "c").source
    return [f"{m[1]}{m[2]}"[4:] for m in re.finditer(r"\n( +)for \(int (\w+)", source)]


# --- all operations and types


def check_operations(types: Sequence[str], size: int, patch: pytest.MonkeyPatch) -> None:
    """Check all reductions of rows that lie side by side, in one loop over all of these."""
    kernels: list[tuple[Kernel, dict[str, Any]]] = []
    for name in types:
        given, plain = arrays(name, size), rows(name, size)
        used = {n: np.asfortranarray(v) for n, v in given.items() if n in plain.variables}
        knl = pg.add_dtypes(plain, {n: v.dtype for n, v in used.items()})
        new = pg.order_sums(pg.tag_array_axes(knl, ", ".join(used), "N0,N1"))
        assert {"realize_reduction", "duplicate_inames"} <= {step.name for step in new.history}
        outputs = {n: np.zeros_like(v) for n, v in expected(name, size).items()}
        kernels.append((new, used | outputs | {"n": ROWS}))
    for name, found in zip(types, run_together(kernels, "c", patch, ()), strict=True):
        assert found is not None
        for each, values in expected(name, size).items():
            np.testing.assert_array_equal(found[each], values, err_msg=f"{name} {each}")


FEW = ("int16", "complex64")


def test_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    check_operations(FEW, 41, monkeypatch)


@pytest.mark.more
def test_operations_on_other_types(monkeypatch: pytest.MonkeyPatch) -> None:
    check_operations([name for name in TYPES if name not in FEW], 50, monkeypatch)


# --- forms of sums


def window(a: Any, b: Any, _: Any) -> Any:
    n, m = (extent - 5 for extent in a.shape)
    return sum(a[p : p + n, q : q + m] * b[p, q] for p in range(6) for q in range(6))


FORMS: Mapping[str, tuple[Any, str, Sequence[Mapping[str, tuple[int, ...]]], Expected]] = {
    "product": (
        PRODUCT,
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        [{"a": (n, d), "b": (d, m)} for n, m, d in SIZES],
        lambda a, b, _: a @ b,
    ),
    "transposed": (
        PRODUCT,
        "c[i,j] = sum(k, a[k,i]*b[k,j])",
        [{"a": (d, n), "b": (d, m)} for n, m, d in SIZES],
        lambda a, b, _: a.T @ b,
    ),
    "columns": (
        MATRIX,
        "c[j] = sum(i, a[i,j])",
        [{"a": shape} for shape in ((0, 3), (1, 1), (37, 2049), (9, 0))],
        lambda a, _b, _d: a.sum(0),
    ),
    "of a column-major array": (
        MATRIX,
        "c[0] = sum((i,j), a[j,i])",
        [{"a": shape} for shape in ((0, 3), (1, 1), (130, 1100))],
        lambda a, _b, _d: a.sum().reshape(1),
    ),
    "dot": (
        "{ [i]: 0<=i<n }",
        "c[0] = sum(i, a[i]*b[i])",
        [{"a": (n,), "b": (n,)} for n in (0, 1, 63, 65, 5000)],
        lambda a, b, _: (a @ b).reshape(1),
    ),
    "sums of sums": (
        "{ [i,j,k,l]: 0<=i<n and 0<=j<m and 0<=k<p and 0<=l<q }",
        "c[i,j] = sum(k, a[i,k]*sum(l, b[k,l]*d[l,j]))",
        [{"a": (3, k), "b": (k, 9), "d": (9, m)} for k, m in ((0, 2), (5, 2050), (1, 1))],
        lambda a, b, d: a @ (b @ d),
    ),
    "triangle": (
        "{ [j,i]: 0<=j<=i<n }",
        "c[j] = sum(i, a[i,j]*b[i])",
        [{"a": (n, n), "b": (n,)} for n in (0, 1, 33)],
        lambda a, b, _: b @ np.tril(a),
    ),
    "triangle of two domains": (
        ["{ [j]: 0<=j<n }", "{ [i]: j<i<n }"],
        "c[j] = sum(i, a[i,j]*b[i])",
        [{"a": (n, n - 1), "b": (n,)} for n in (1, 2, 33)],
        lambda a, b, _: np.append(b @ np.tril(a, -1)[:, : len(b)], 0),
    ),
    "window": (
        "{ [y,x,p,q]: 0<=y<n and 0<=x<m and 0<=p,q<6 }",
        "c[y,x] = sum((p,q), a[y+p,x+q]*b[p,q])",
        [{"a": (10, 2070), "b": (6, 6)}, {"a": (6, 6), "b": (6, 6)}, {"a": (5, 7), "b": (6, 6)}],
        window,
    ),
    "two sums in an instruction": (
        PRODUCT,
        "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) - max(k, b[k,j])",
        [{"a": (n, d), "b": (d, m)} for n, m, d in ((3, 5, 17), (1, 2049, 8))],
        lambda a, b, _: 2 * (a @ b) - b.max(0),
    ),
    "some of which are read": (
        MATRIX,
        "c[j] = sum(i, a[i,j])  {if=b[j] > 0}",
        [{"a": (37, 29), "b": (29,)}],
        lambda a, b, _: np.where(b > 0, a.sum(0), 0),
    ),
    "chosen by data": (
        MATRIX,
        "c[j] = if(b[j] > 0, sum(i, a[i,j]), 7)",
        [{"a": (37, 29), "b": (29,)}],
        lambda a, b, _: np.where(b > 0, a.sum(0), 7),
    ),
    "several readers": (
        MATRIX,
        """
        for j
            <> s = sum(i, a[i,j])
            c[j] = s*s
            d[j] = s + b[j]
        end
        """,
        [{"a": (37, 29), "b": (29,)}],
        lambda a, b, _: a.sum(0) ** 2,
    ),
    "of what is made in the same loop": (
        MATRIX,
        """
        for j
            <> t = b[j] + 1
            c[j] = sum(i, a[i,j]) * t
        end
        """,
        [{"a": (37, 29), "b": (29,)}],
        lambda a, b, _: a.sum(0) * (b + 1),
    ),
    "a rule": (
        PRODUCT,
        "term(x) := a[i,x]*b[x,j]\nc[i,j] = sum(k, term(k))",
        [{"a": (3, 17), "b": (17, 5)}],
        lambda a, b, _: a @ b,
    ),
    "updates of the result": (
        PRODUCT,
        "c[i,j] = c[i,j] + sum(k, a[i,k]*b[k,j])",
        [{"a": (3, 17), "b": (17, 5)}],
        lambda a, b, _: a @ b,
    ),
}


QUICK = ("product", "sums of sums", "triangle of two domains", "two sums in an instruction")


def check_forms(names: Sequence[str], target: str, patch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Kernel, dict[str, Any]]] = []
    results: list[tuple[str, Any]] = []
    for name in names:
        domains, text, shapes, reference = FORMS[name]
        knl = ordered(domains, text)
        for each in shapes:
            given = {n: small(shape, seed=k) for k, (n, shape) in enumerate(each.items())}
            wanted = reference(given["a"], given.get("b"), given.get("d"))
            results.append((f"{name} {each}", wanted))
            outputs = {"c": np.zeros_like(results[-1][1])}
            if name == "several readers":
                outputs["d"] = np.zeros(29)
            calls.append((knl, given | outputs))
    for (name, wanted), found in zip(results, run_together(calls, target, patch, ()), strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["c"], wanted, err_msg=name)


@pytest.mark.more
def test_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    check_forms([*QUICK, "several readers", "of what is made in the same loop"], "c", monkeypatch)


@pytest.mark.more
def test_other_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    check_forms([name for name in FORMS if name not in QUICK], "c", monkeypatch)


def test_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    check_forms(["columns", "triangle"], "opencl", monkeypatch)


@pytest.mark.more
def test_all_forms_of_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    check_forms([*FORMS], "opencl", monkeypatch)


# --- which loops there are


def test_loops_of_a_product() -> None:
    knl = ordered(PRODUCT, "c[i,j] = sum(k, a[i,k]*b[k,j])")
    found = loops(knl)
    assert [name.strip() for name in found] == [
        *("i", "j_block", "j_start", "k_several", "j_near_add", "k_several", "j_near_add"),
        "j_near",
    ]
    assert [len(name) - len(name.lstrip()) for name in found] == [0, 4, 8, 8, 12, 8, 12, 8]


def test_a_short_row_is_no_block() -> None:
    knl = ordered("{ [i,j]: 0<=i<n and 0<=j<100 }", "c[j] = max(i, a[i,j])")
    assert knl.temporaries[-1].shape == (100,)
    assert "j_block" not in knl.inames


def test_blocks_of_a_long_row_are_alike() -> None:
    knl = ordered("{ [i,j]: 0<=i<n and 0<=j<3000 }", "c[j] = sum(i, a[i,j])")
    assert knl.temporaries[-1].shape == (1500,)


def test_layouts_decide() -> None:
    """Of arrays with their columns side by side, the rows of the result are innermost."""
    knl = pg.tag_array_axes(typed(PRODUCT, "c[i,j] = sum(k, a[i,k]*b[k,j])"), "a, b, c", "N0,N1")
    knl = pg.order_sums(knl)
    assert [name.strip() for name in loops(knl)][:2] == ["i_block", "j"] or (
        [name.strip() for name in loops(knl)][:2] == ["j", "i_block"]
    )
    a, b = (np.asfortranarray(small(shape)) for shape in ((5, 9), (9, 4)))
    c = np.zeros((5, 4), order="F")
    knl.executor("c")(a=a, b=b, c=c)
    np.testing.assert_array_equal(c, a @ b)


def test_order_is_kept_without_leave_to_change_it() -> None:
    """Rows are added one after the other, as NumPy does it: no digit differs."""
    text = "c[j] = sum(i, a[i,j])"
    knl = pg.set_options(typed(MATRIX, text, "float32"), allow_reassociation=False)
    knl = pg.order_sums(knl)
    assert "realize_reduction" in [step.name for step in knl.history]
    a = np.random.default_rng(3).normal(size=(1001, 37)).astype(np.float32)
    expected = np.add.accumulate(a, axis=0)[-1]
    np.testing.assert_array_equal(knl.executor("c")(a=a)[1][0], expected)


def test_many_numbers_lose_no_digits() -> None:
    knl = ordered("{ [i]: 0<=i<n }", "c[0] = sum(i, a[i])", "float32")
    a = np.full(1 << 24, 0.1, np.float32)
    found = knl.executor("c")(a=a)[1][0][0]
    assert abs(float(found) / (float(a[0]) * len(a)) - 1) < 5e-7  # as NumPy's; 0.15 in a row


# --- what is left as it is


@pytest.mark.parametrize(
    ("domains", "text"),
    [
        (MATRIX, "c[i,j] = a[i,j] + 1"),
        ("{ [i,j]: 0<=i<n and 0<=j<16 }", "c[i] = sum(j, a[i,j])"),
        ("{ [i,j]: 0<=i<n and 0<=j<=i }", "c[i] = sum(j, a[j])"),
        (MATRIX, "c[i] = max(j, a[i,j])"),
        (PRODUCT, "c[i,j] = max(k, a[i,k] + b[j,k])"),
        ("{ [i]: 0<=i<n }", "c[0] = min(i, a[0] - i)"),
    ],
)
def test_what_gains_nothing_is_the_same(domains: str, text: str) -> None:
    knl = typed(domains, text)
    assert pg.order_sums(knl) is knl


@pytest.mark.parametrize("tags", [{"j": "l.0"}, {"i": "l.0"}, {"j": "vec"}])
def test_shared_reductions_are_the_same(tags: dict[str, str]) -> None:
    knl = pg.tag_inames(typed("{ [i,j]: 0<=i<64 and 0<=j<8 }", "c[j] = max(i, a[i,j])"), tags)
    assert pg.order_sums(knl) is knl


def test_within_names_instructions() -> None:
    text = "c[j] = sum(i, a[i,j])  {id=c}\nd[j] = sum(i, b[i,j])  {id=d}"
    knl = pg.order_sums(typed(MATRIX, text), within="d")
    assert knl.instruction("c").reductions and not knl.instruction("d").reductions
    with pytest.raises(UnknownInstruction):
        pg.order_sums(knl, within="e")


def test_what_a_refused_step_leaves_is_told() -> None:
    """Each sum is of what the one before has made: no row can be added at once."""
    text = "for j\n c[j] = sum(i, a[i,j]*c[j - 1])\nend"
    knl = pg.add_dtypes(
        made("{ [i,j]: 0<=i<n and 1<=j<m }", text, pg.GlobalArg("c", "float64", "m")),
        {"a": "float64"},
    )
    with pytest.warns(NotOptimized, match="'insn' is left as it is"):
        assert pg.order_sums(knl) is knl
    quiet = pg.set_options(knl, silenced_warnings=["NotOptimized"])
    assert pg.order_sums(quiet) is quiet


def test_each_step_is_in_the_history() -> None:
    knl = typed(MATRIX, "c[j] = sum(i, a[i,j])")
    new = pg.order_sums(knl)
    assert pg.replay(knl, new.history[len(knl.history) :]) == new


def test_cuda() -> None:
    for name in ("columns", "triangle of two domains"):
        source = pg.generate_code(ordered(*FORMS[name][:2]), "cuda").source
        assert "[2048]" in source
        size, log = compile_for("compute_90", source)
        assert size, log


@pytest.mark.more
def test_random_kernels() -> None:
    """Kernels with what sums depend on: conditions, other instructions, data, tags."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotOptimized)
        ordered_ones = [(case, pg.order_sums(case.changed)) for case in cases_of(0, 300)]
    cases = [case for case, new in ordered_ones if new is not case.changed]
    changed = [replace(case, changed=new) for case, new in ordered_ones if new is not case.changed]
    assert len(cases) > 10
    for case, before, after in zip(
        cases, found_by(cases, "c"), found_by(changed, "c"), strict=True
    ):
        assert (before is None) == (after is None)
        for name in before or ():
            np.testing.assert_allclose(
                (after or {})[name], (before or {})[name], rtol=1e-4, atol=1e-4, err_msg=str(case)
            )
