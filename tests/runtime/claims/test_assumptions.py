"""Calls with `check_assumptions`: what data may not be, found without running the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AssumptionViolated,
    ClaimViolated,
    ObligationUnchecked,
    ObligationViolated,
    ReservedName,
    TooManyToCheck,
    UninitializedRead,
    UnknownArgument,
)
from polygen.ir.kernel import Kernel
from polygen.runtime.backends.opencl.opencl_driver import pyopencl
from tests.oracle.cases import kernel
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret

LINE = "{ [i]: 0<=i<n }"
ROWS = [LINE, "{ [j]: start<=j<stop }"]
A = pg.GlobalArg("a", "float64", "m")


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def int_arg(name: str, shape: str) -> pg.GlobalArg:
    return pg.GlobalArg(name, "int32", shape)


SCATTER = kernel(LINE, "a[idx[i]] = b[i]  {id=s}", A, int_arg("idx", "n"), "...")
CSR = kernel(
    ROWS,
    """
    <int32> start = rows[i]
    <int32> stop = rows[i+1]
    y[i] = sum(j, values[j]*x[columns[j]])  {id=product}
    """,
    pg.GlobalArg("x", "float64", "m"),
    pg.GlobalArg("values", "float64", "l"),
    int_arg("columns", "l"),
    int_arg("rows", "n+1"),
    "...",
)


def call(knl: Kernel, **arguments: Any) -> Any:
    return knl(check_assumptions=True, **arguments)


def scatter(*idx: int, m: int = 4, knl: Kernel = SCATTER) -> Any:
    a = np.zeros(m)
    call(knl, a=a, idx=ints(*idx), b=np.arange(1.0, len(idx) + 1))
    return a


# --- inside


def test_elements_that_exist() -> None:
    np.testing.assert_array_equal(scatter(2, 0, 2), [2, 0, 3, 0])
    assert scatter(m=0).size == 0


def test_elements_that_do_not_exist() -> None:
    with pytest.raises(ObligationViolated) as caught:
        scatter(2, 0, 4)
    assert caught.value.what == (
        "kernel 'polygen_kernel' was called with data for which an access is outside of its "
        "array: for i=2, a[idx[i]] in 's' needs a[4], and 'a' has the shape (4,)"
    )
    assert "-> [i] a[idx[i]] = b[i]" in str(caught.value)
    with pytest.raises(AssumptionViolated, match=r"for i=0, .* needs a\[-1\]"):
        scatter(-1)


def test_nothing_is_run_then() -> None:
    a = np.zeros(4)
    with pytest.raises(ObligationViolated):
        call(SCATTER, a=a, idx=ints(0, 7), b=np.ones(2))
    assert not a.any()


def _csr(rows: Any, columns: Any, m: int) -> dict[str, Any]:
    columns = np.array(columns, np.int32)
    return {
        "rows": ints(*rows),
        "columns": columns,
        "values": np.ones(len(columns)),
        "x": np.ones(m),
    }


def test_sparse_rows() -> None:
    _, (y,) = call(CSR, **_csr((0, 2, 3), (0, 1, 2), 3))
    np.testing.assert_array_equal(y, [2, 1])
    with pytest.raises(ObligationViolated, match=r"i=1, j=3, values\[j\] .* needs values\[3\]"):
        call(CSR, **_csr((0, 2, 4), (0, 1, 2), 3))
    with pytest.raises(ObligationViolated, match=r"i=1, j=2, x\[columns\[j\]\] .* needs x\[3\]"):
        call(CSR, **_csr((0, 2, 3), (0, 1, 3), 3))
    with pytest.raises(ObligationViolated, match=r"i=1, j=-2, values\[j\]"):
        call(CSR, **_csr((0, -2, 3), (0, 1, 2), 3))
    _, (y,) = call(CSR, **_csr((3, 2, 2), (0, 1, 2), 3))  # empty rows
    np.testing.assert_array_equal(y, [0, 0])


TABLES = [
    ("b[i] = a[idx[jdx[i]]]", LINE),
    ("b[i] = a[2*idx[i] - jdx[i]]", LINE),
    ("b[i] = a[min(idx[i], jdx[i])] + a[max(idx[i], 1)]", LINE),
    ("b[i] = if(idx[i] >= 0 and jdx[i] < m, a[idx[i]], 0)", LINE),
    ("b[i] = if(i > 0, a[idx[i-1]], 0)", LINE),
    ("b[i] = a[if(idx[i] < 0, 0, idx[i])]", LINE),
    ("b[i] = a[i]  {if=idx[i] > 1 or jdx[i] == 0}", LINE),
    ("b[i] = sum(j, a[idx[j]])", "{ [i,j]: 0<=i<n and 0<=j<=i and j mod 2 = 0 }"),
    ("b[i] = sum(j, a[j])", [LINE, "{ [j]: c<=j<c+2 or j = 0 }"]),
    ("b[i] = a[c] + a[c//2] + a[(c + 1) % 3]", LINE),
]


@pytest.mark.parametrize(("text", "domain"), TABLES)
def test_random_data_beside_an_execution(text: str, domain: Any) -> None:
    """An access is outside if, and only if, the interpreter meets one."""
    text = text if "c" not in text + str(domain) else f"<int32> c = idx[i] {{id=c}}\n{text}"
    knl = kernel(
        domain,
        text,
        A,
        int_arg("idx", "n"),
        int_arg("jdx", "n"),
        pg.GlobalArg("b", "float64", "n"),
        "...",
        assumptions="n >= 0 and m >= 0",
    )
    random = np.random.default_rng(0)
    found = [_outside(knl, random) for _ in range(60)]
    assert sum(found) > 5
    assert sum(found) < 60


def _outside(knl: Kernel, random: Any) -> bool:
    n, m = int(random.integers(1, 4)), int(random.integers(1, 5))
    arguments = {
        "a": np.ones(m), "b": np.zeros(n), "n": n, "m": m,
        "idx": random.integers(-1, 4, n).astype(np.int32),
        "jdx": random.integers(0, 4, n).astype(np.int32),
    }  # fmt: skip
    arguments = {a.name: arguments[a.name] for a in knl.arguments}
    try:
        interpret(knl, arguments)
    except OracleError:
        with pytest.raises(ObligationViolated):
            knl.executor("c").check(None, None, arguments)
        return True
    knl.executor("c").check(None, None, arguments)
    return False


# --- in no order


def test_distinct_elements() -> None:
    racy = pg.tag_inames(SCATTER, {"i": "g.0"}, unsafe=True)  # type: ignore[call-arg]
    assert [o.kind for o in pg.obligations(racy)] == ["ordered", "inside"]
    np.testing.assert_array_equal(scatter(2, 0, knl=racy), [2, 0, 1, 0])
    with pytest.raises(ObligationViolated) as caught:
        scatter(2, 0, 1, 0, knl=racy)
    assert "s[i=1] and s[i=3] both touch a[0], one writing it" in caught.value.what


ORDERS = [
    # two instructions; two loops of which either may be outside; axes, with a loop inside
    ("a[idx[i]] = 1 {id=s}\na[jdx[i]] = 2 {id=u}", LINE, {}),
    ("a[idx[i]] = b[j] {id=s}", "{ [i,j]: 0<=i,j<n }", {}),
    ("a[idx[i] + idx[j]] = a[jdx[i] + j] + 1 {id=s}", "{ [i,j]: 0<=i,j<n }", {}),
    ("a[idx[i]] = a[jdx[i]] + 1 {id=s}", LINE, {"i": "g.0"}),
    ("a[idx[i] + j] = 1 {id=s}", "{ [i,j]: 0<=i,j<n }", {"i": "g.0"}),
    ("a[idx[i] + j] = 1 {id=s}", "{ [i,j]: 0<=i,j<n }", {"i": "g.0", "j": "l.0"}),
]


@pytest.mark.parametrize(("text", "domain", "tags"), ORDERS)
def test_random_data_beside_all_pairs(text: str, domain: str, tags: dict[str, str]) -> None:
    data = [A, int_arg("idx", "n"), int_arg("jdx", "n"), "..."]
    with pg.without_proofs():
        knl = kernel(domain, text, *data, assumptions="0 <= n <= 4 and m = 16")
        knl = pg.tag_inames(knl, tags)
    random = np.random.default_rng(1)
    found: list[bool] = []
    for _ in range(60):
        n = int(random.integers(1, 4))
        arguments = {"a": np.zeros(16), "b": np.ones(n), "n": n, "m": 16}
        for name in ("idx", "jdx"):
            arguments[name] = random.integers(0, 5, n).astype(np.int32)
        expected = _clash(text, tags, arguments)
        passed = {a.name: arguments[a.name] for a in knl.arguments}
        if expected:
            with pytest.raises(ObligationViolated):
                knl.executor("opencl").check(None, None, passed)
        else:
            knl.executor("opencl").check(None, None, passed)
        found.append(expected)
    assert len(set(found)) == 2


def _clash(text: str, tags: Mapping[str, str], arguments: Mapping[str, Any]) -> bool:
    """Compare all pairs of accesses, from the text."""
    lines = [line.partition(" {")[0] for line in text.splitlines()]
    names = ("i", "j") if "j" in text.replace("jdx", "") else ("i",)
    touched: list[tuple[int, dict[str, int], int, bool]] = []
    for number, line in enumerate(lines):
        target, _, value = line.partition(" = ")
        for values in product(range(arguments["n"]), repeat=len(names)):
            at = dict(zip(names, values, strict=True))
            for place, writes in ((target, True), (value, False)):
                if place.startswith("a["):
                    inside = place[2 : place.rindex("]")]
                    element = eval(inside, {}, {**arguments, **at})  # noqa: S307
                    touched.append((number, at, int(element), writes))
    return any(
        x[2] == y[2] and (x[3] or y[3]) and _in_no_order(x[0], x[1], y[0], y[1], tags)
        for x in touched
        for y in touched
    )


def _in_no_order(
    s: int, x: dict[str, int], u: int, y: dict[str, int], tags: Mapping[str, str]
) -> bool:
    loops = [i for i in x if i not in tags]
    signs = {np.sign(y[i] - x[i]) for i in loops} - {0}
    if len(signs) == 2:
        return True  # the nesting decides
    return not signs and (s != u or x != y)


def test_arrays_that_may_overlap() -> None:
    x = pg.GlobalArg("x", "float64", "n", may_alias=True)
    with pg.without_proofs():
        knl = kernel(LINE, "x[i] = y[n-1-i]  {id=s}", x, pg.GlobalArg("y", "float64", "n"))
        knl = pg.tag_inames(knl, {"i": "g.0"})
    memory = np.arange(12.0)
    check = knl.executor("c").check
    for first, second in ((memory[:4], memory[4:8]), (memory[::2], memory[1::2])):
        check(None, None, {"x": first, "y": second})
    # One element is in both, and one instance touches it.
    check(None, None, {"x": memory[:4], "y": memory[3:7]})
    with pytest.raises(ObligationViolated, match="touch the same memory, in 'x' and 'y'"):
        check(None, None, {"x": memory[:4], "y": memory[2:6]})
    with pytest.raises(ObligationViolated, match="touch the same memory"):
        check(None, None, {"x": memory[:4], "y": memory[:4]})


# --- claims


def test_wrong_claims() -> None:
    knl = pg.tag_inames(pg.assume_injective(SCATTER, "idx"), {"i": "g.0"})
    np.testing.assert_array_equal(scatter(2, 0, knl=knl), [2, 0, 1, 0])
    with pytest.raises(ClaimViolated) as caught:
        scatter(2, 0, 3, 0, knl=knl)
    what = "relies on assume_injective('idx'), and idx[1] and idx[3] are both 0"
    assert caught.value.what == f"kernel 'polygen_kernel' {what}"
    knl = pg.tag_inames(pg.assume_independent(SCATTER, "s", "s"), {"i": "g.0"})
    np.testing.assert_array_equal(scatter(2, 0, knl=knl), [2, 0, 1, 0])
    with pytest.raises(ClaimViolated, match=r"'s'\), and s\[i=0\] and s\[i=2\] both touch a\[2\]"):
        scatter(2, 0, 2, knl=knl)


def test_wrong_claims_about_two_instructions() -> None:
    text = "a[idx[i]] = b[i]  {id=s}\na[jdx[i]] = b[i]  {id=u, dep=s}"
    knl = kernel(LINE, text, A, int_arg("idx", "n"), int_arg("jdx", "n"), "...")
    knl = pg.assume_independent(knl, "u", "s")
    arguments = {"a": np.zeros(8), "b": np.ones(2), "idx": ints(0, 0)}
    call(knl, **arguments, jdx=ints(3, 3))
    with pytest.raises(ClaimViolated, match=r"u\[i=1\] and s\[i=0\] both touch a\[0\]"):
        call(knl, **arguments, jdx=ints(3, 0))


def test_a_table_of_two_axes() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }", "a[idx[i,j]] = 1", A, int_arg("idx", "n, 3"), "..."
    )
    knl = pg.assume_injective(knl, "idx")
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    call(knl, a=np.zeros(6), idx=table)
    table[1, 2] = 1
    with pytest.raises(ClaimViolated, match=r"idx\[0, 1\] and idx\[1, 2\] are both 1"):
        call(knl, a=np.zeros(6), idx=table)


# --- what the kernel computes

TWO = [LINE, "{ [j]: 0<=j<n }"]
GLOBAL = pg.AddressSpace.GLOBAL
COMPUTED = [
    # in one loop; in loops of their own, in another order, by way of a scalar, a second, a choice
    ("t[i] = 2*idx[i] - jdx[i]\nb[i] = a[t[i]]", LINE),
    ("t[j] = idx[j] + 1  {id=t}\nb[i] = a[t[n-1-i]]  {dep=t}", TWO),
    ("t[j] = idx[j]  {id=t}\n<> c = t[i] + 1  {id=c, dep=t}\nb[i] = a[c]  {dep=c}", TWO),
    ("t[j] = 2*idx[j]  {id=t}\nu[j] = t[j] - 1  {id=u, dep=t}\nb[i] = a[u[i]]  {dep=u}", TWO),
    ("t[j] = idx[j]  {id=t}\nb[i] = if(t[i] > 0, a[t[i] + jdx[i]], 0)  {dep=t}", TWO),
    ("t[j] = idx[j]  {id=t}\nb[i] = a[t[jdx[i] % n]]  {dep=t}", TWO),
    ("t[j] = idx[j]  {id=t}\nb[i] = sum(k, a[k])  {dep=t}", [*TWO, "{ [k]: 0<=k<c }"]),
    ("w[j,k] = idx[j] + k  {id=w}\nb[i] = a[w[i,1]]  {dep=w}", [*TWO, "{ [k]: 0<=k<2 }"]),
    ("w[i,k] = idx[i] + k  {id=w}\nb[i] = a[w[i,0]]  {dep=w}", [*TWO, "{ [k]: 0<=k<2 }"]),
    # in types that wrap around
    ("s[j] = idx[j] + 126  {id=s}\nb[i] = a[s[i] - 125]  {dep=s}", TWO),
]


@pytest.mark.parametrize(("text", "domain"), COMPUTED)
def test_computed_data_beside_an_execution(text: str, domain: Any) -> None:
    if "c" in str(domain):
        text = text.replace("b[i] =", "<int32> c = t[i]  {id=c, dep=t}\nb[i] =")
    knl = kernel(
        domain,
        text,
        A,
        int_arg("idx", "n"),
        int_arg("jdx", "n"),
        pg.GlobalArg("b", "float64", "n"),
        *[pg.TemporaryVariable(x, "int32", ("n",), GLOBAL) for x in "tu" if f"{x}[" in text],
        *[pg.TemporaryVariable("w", "int32", ("n", 2), GLOBAL) for _ in range("w[" in text)],
        *[pg.TemporaryVariable("s", "int8", ("n",), GLOBAL) for _ in range("s[" in text)],
        assumptions="n >= 0 and m >= 0",
    )
    random = np.random.default_rng(0)
    found = [_outside(knl, random) for _ in range(25)]
    assert 2 < sum(found) < 25


NOT_KNOWN = [
    # of an iteration that is yet to come, only in parts, twice, under a condition, a running sum
    ("t[i] = idx[i]  {id=t}\na[t[n-1-i]] = 1  {dep=t}", r"t\[n - 1 - i\]"),
    ("t[2*j] = idx[j]  {id=t, if=2*j < n}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
    ("t[j] = idx[j]  {id=t, if=j > 1}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
    ("t[n-1-j] = idx[j]  {id=t}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
    ("t[j] = idx[j]  {id=t}\nt[i] = 0  {id=u, dep=t}\na[t[i]] = 1  {dep=u}", r"t\[i\]"),
    ("t[k] = t[k-1] + idx[k]  {id=t}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
    ("t[k] = idx[k]  {id=t}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
    ("a[t[i]] = 1  {id=a, dep=*}\nt[j] = idx[j]  {dep=a}", r"t\[i\]"),
    ("t[j] = x[j]**0.5  {id=t}\na[t[i]] = 1  {dep=t}", r"t\[i\]"),
]


@pytest.mark.parametrize(("text", "unknown"), NOT_KNOWN)
def test_what_is_not_known_before_is_refused(text: str, unknown: str) -> None:
    inames = [
        i for i in ("i", "j", "k") if f"[{i}]" in text or f"-{i}]" in text or f"*{i}]" in text
    ]
    domains = [f"{{ [{i}]: {int(i == 'k')}<={i}<n }}" for i in inames]
    t, idx = int_arg("t", "n"), int_arg("idx", "n")
    with pg.without_proofs():
        knl = kernel(domains, text, A, t, *[idx] * ("idx" in text), "...")
    given: dict[str, Any] = {"a": np.zeros(3), "t": ints(1, 1), "idx": ints(1, 1), "x": np.ones(2)}
    given = {a.name: given[a.name] for a in knl.arguments if a.name in given}
    with pytest.raises(ObligationUnchecked, match=f"before it runs: {unknown}\\)") as caught:
        call(knl, **given)
    assert "call it without check_assumptions=True if" in str(caught.value.remedy)
    assert not given["a"].any()  # nothing was run


def test_what_is_not_met_is_said_before_what_is_not_known() -> None:
    text = "a[t[i]] = 1  {id=x, dep=*}\nt[j] = idx[j]  {id=t, dep=x}\na[idx[j]] = 2  {id=y, dep=t}"
    knl = kernel(TWO, text, A, int_arg("t", "n"), int_arg("idx", "n"), "...")
    given: dict[str, Any] = {"a": np.zeros(3), "t": ints(0, 1)}
    with pytest.raises(ObligationViolated, match=r"needs a\[7\]"):
        call(knl, **given, idx=ints(0, 7))
    with pytest.raises(ObligationUnchecked, match=r"^.*computes: x: a\[t\[i\]\] is inside"):
        call(knl, **given, idx=ints(0, 1))


def test_all_that_is_not_known_is_named() -> None:
    text = "t[i] = t[i] + 1  {id=t}\na[t[i]] = 1  {id=x, dep=t}\na[t[i] + 1] = 1 {id=y, dep=x}"
    knl = kernel(LINE, text, A, int_arg("t", "n"))
    with pytest.raises(ObligationUnchecked, match=r" x: a\[t\[i\]\] .*; y: a\[t\[i\] \+ 1\] "):
        call(knl, a=np.zeros(3), t=ints(0))


def test_whether_all_was_written_is_not_checked() -> None:
    t = pg.TemporaryVariable("t", "float64", (4,))
    text = "t[idx[i]] = 1  {id=t}\nb[i] = t[jdx[i]]  {id=s}"
    knl = kernel("{ [i]: 0<=i<4 }", text, t, int_arg("idx", "4"), int_arg("jdx", "4"), "...")
    with pytest.raises(ObligationUnchecked, match=r"t\[jdx\[i\]\] was written before it is read"):
        call(knl, idx=ints(0, 1, 2, 3), jdx=ints(0, 1, 2, 3), b=np.zeros(4))


PARTS = [
    ("0<=j<3", {}, "elements of 't'"),
    ("0<=j<4", {"i": "l.0", "j": "l.0"}, "which copy of 't'"),
]


@pytest.mark.parametrize(("bounds", "tags", "unknown"), PARTS)
def test_what_is_written_in_parts(bounds: str, tags: Any, unknown: str) -> None:
    text = "t[j] = 1  {id=t}\nb[i] = t[idx[i]]  {id=s, dep=t}"
    t = pg.TemporaryVariable("t", "float64", (4,))
    b = pg.GlobalArg("b", "float64", (4,))
    domains = ["{ [i]: 0<=i<4 }", f"{{ [j]: {bounds} }}"]
    with pg.without_proofs():
        knl = pg.tag_inames(kernel(domains, text, t, int_arg("idx", "4"), b), tags)
    given: dict[str, Any] = {"b": np.zeros(4), "idx": ints(0, 1, 2, 3)}
    with pytest.raises(ObligationUnchecked, match=f"was written .* before it runs: .*{unknown}"):
        call(knl, **given)
    if not tags:
        call(knl, **given | {"idx": ints(2, 1, 0, 2)})
        assert given["b"].all()


def test_too_many_instances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.runtime.claims.instance_tables._MOST_ROWS", 2)
    with pytest.raises(TooManyToCheck, match=r"more than 2 instances: s: a\[idx\[i\]\] is inside"):
        scatter(0, 1, 2)


def test_a_kernel_that_is_not_well_formed() -> None:
    with pg.without_proofs():
        knl = kernel(LINE, "out[i] = t", pg.TemporaryVariable("t", "float64"), "...")
    with pytest.raises(UninitializedRead):
        call(knl, n=3)


# --- where arrays are


def test_on_a_device(queue: Any) -> None:
    array = pyopencl().array
    knl = pg.make_kernel(LINE, "a[idx[i]] = b[i]  {id=s}", [A, int_arg("idx", "n"), "..."])
    idx = array.to_device(queue, ints(3, 9, 1, 9, 0, 9))
    b = array.to_device(queue, np.arange(1.0, 4.0))
    every_other = idx[::2]
    a = array.zeros(queue, 4, np.float64)
    event, _ = knl(queue, a=a, idx=every_other, b=b, check_assumptions=True)
    event.wait()
    np.testing.assert_array_equal(a.get(), [3, 2, 0, 1])
    with pytest.raises(ObligationViolated, match=r"i=1, .* needs a\[9\]"):
        knl(queue, a=a, idx=idx[:3], b=b, check_assumptions=True, wait_for=[event])


def test_executors_check_too(target: str) -> None:
    run = SCATTER.executor(target)
    arguments = {"a": np.zeros(4), "idx": ints(0, 4), "b": np.ones(2)}
    with pytest.raises(ObligationViolated):
        run(None, check_assumptions=True, **arguments)
    arguments["idx"] = ints(0, 3)
    run(None, check_assumptions=True, **arguments)
    np.testing.assert_array_equal(arguments["a"], [1, 0, 0, 1])


def test_other_mistakes_are_found_first() -> None:
    with pytest.raises(UnknownArgument, match="no argument 'c'"):
        call(SCATTER, c=1)
    with pytest.raises(ReservedName, match="'check_assumptions' can be no argument"):
        kernel(LINE, "check_assumptions[i] = 1")
