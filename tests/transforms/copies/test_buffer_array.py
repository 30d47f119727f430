"""Elements that are read once, changed in a temporary, and written once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    DependencyCycle,
    FootprintNotAffine,
    FootprintNotConstant,
    IllegalStep,
    InvalidArgument,
    NothingMatches,
    NotTheSame,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, same

UNSAFE: dict[str, Any] = {"unsafe": True}
SIZES = ((0, 0), (0, 3), (1, 1), (3, 0), (7, 5), (8, 4), (9, 2))


def rows(*, tiled: bool = False) -> Kernel:
    """Return a kernel that adds up rows in place."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[i] = out[i] + a[i, j]  {id=add}",
        [pg.GlobalArg("a", "float64", "n, m"), pg.GlobalArg("out", "float64", "n"), "..."],
        loop_priority="j, i" if tiled else "i, j",
    )
    if not tiled:
        return knl
    knl = pg.split_iname(knl, "i", 4)
    return pg.prioritize_loops(knl, "i_outer, j, i_inner")


def grid() -> Kernel:
    return pg.tag_inames(rows(tiled=True), {"i_outer": "g.0", "i_inner": "l.0"})


BUFFERED: dict[str, tuple[Kernel, Step]] = {
    "a scalar": (rows(), lambda k: pg.buffer_array(k, "out")),
    "a tile": (rows(tiled=True), lambda k: pg.buffer_array(k, "out", "i_inner", default_tag=None)),
    "a scalar an item": (grid(), lambda k: pg.buffer_array(k, "out")),
    "a tile that is shared": (grid(), lambda k: pg.buffer_array(k, "out", "i_inner")),
    "by its id": (rows(), lambda k: pg.buffer_array(k, "out", within="add")),
    "as it is": (rows(), lambda k: pg.buffer_array(k, "out", (), "base", "buffer")),
}


def square() -> Kernel:
    """Return a kernel that writes each element once, in tiles."""
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i,j,k<n }",
        "out[i, j] = sum(k, a[i, k]*a[k, j])",
        [pg.GlobalArg("a, out", "float64", "n, n"), "..."],
    )
    return pg.tile(knl, {"i": 4, "j": 4})


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("tag", [None, "l.auto"])
def test_what_is_written_first_is_not_read(tag: str | None, target: str) -> None:
    """A call need not pass the array that it need not before."""
    tiles = pg.tag_inames(square(), {"i_outer": "g.0", "j_outer": "g.1"})
    if tag is not None:
        tiles = pg.tag_inames(tiles, {"i_inner": "l.0", "j_inner": "l.1"})
    new = pg.buffer_array(tiles, "out", "i_inner, j_inner", default_tag=tag)
    assert [insn.id for insn in new.instructions] == ["insn", "out_store"]
    assert len(new.inames) == 7
    for n in (0, 1, 4, 7):
        a = np.random.default_rng(n).random((n, n))
        _, (out,) = new.executor(target)(a=a)
        np.testing.assert_allclose(out, a @ a)


def test_what_is_written_in_part_is_read() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<8 }"],
        "if p[j] > 0\n out[i, j] = a[i]\nend",
        [pg.GlobalArg("p", "float64", 8), pg.GlobalArg("a", "float64", "n"), "..."],
    )
    knl = pg.add_dtypes(knl, {"out": "float64"})
    new = pg.buffer_array(knl, "out", "j", default_tag=None, **UNSAFE)
    assert "out_init" in new.instructions_by_id
    out, p = np.arange(24.0).reshape(3, 8), np.array([1.0, -1.0] * 4)
    new.executor("c")(p=p, a=np.ones(3), out=out)
    np.testing.assert_array_equal(out[:, ::2], 1)
    np.testing.assert_array_equal(out[:, 1::2], np.arange(24).reshape(3, 8)[:, 1::2])


@few(2, "name", BUFFERED)
def test_sums_of_rows(name: str) -> None:
    old, step = BUFFERED[name]
    new = step(old)
    (add,) = [insn for insn in new.instructions if insn.id == "add"]
    assert "out" not in add.written_names
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history[len(old.history) :]) == new
    pg.check_well_formed(new)
    agree_in_arrays(old, [{"n": n, "m": m} for n, m in SIZES[3:5]], same, step)
    for target in ("c", "opencl"):
        for n, m in SIZES:
            random = np.random.default_rng(n)
            a, start = (random.integers(-8, 9, size=s).astype(np.float64) for s in ((n, m), n))
            out = start.copy()
            new.executor(target)(a=a, out=out, n=n, m=m)
            np.testing.assert_array_equal(out, start + a.sum(axis=1))


def test_the_code_of_a_tile() -> None:
    code = str(pg.generate_code(BUFFERED["a tile"][1](rows(tiled=True)), "c"))
    assert "double out_buf[4];" in code
    assert code.count("out[4 * i_outer + out_init_0]") == 1
    assert code.count("out[4 * i_outer + out_store_0] = out_buf[out_store_0];") == 1
    shared = str(pg.generate_code(BUFFERED["a tile that is shared"][1](grid()), "opencl"))
    assert "__local double out_buf[4];" in shared


def started() -> Kernel:
    """Return a kernel whose sums have a first instruction of their own."""
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        out[i] = b[i]             {id=start}
        out[i] = out[i]*a[i, j]   {id=add, dep=start}
        c[i] = out[i] + 1         {id=after, dep=add}
        """,
        [
            pg.GlobalArg("a", "float64", "n, m"),
            pg.GlobalArg("b", "float64", "n"),
            pg.GlobalArg("out", "float64", "n"),
            "...",
        ],
    )


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_first_and_last_values(target: str) -> None:
    old = started()
    zero = pg.buffer_array(old, "out", (), 0, within="start or add")
    assert "out_buf = 0" in str(zero)
    after = zero.instructions_by_id["after"]
    assert "out_store" in after.depends_on
    for n, m in SIZES:
        a, b = np.random.default_rng(n).random((n, m)), np.random.default_rng(m).random(n)
        _, found = zero.executor(target)(a=a, b=b, n=n, m=m)
        out = b * a.prod(axis=1)
        arrays = dict(
            zip([x.name for x in zero.arguments if x.name in zero.writers], found, strict=True)
        )
        np.testing.assert_allclose(arrays["out"], out, rtol=1e-12)
        np.testing.assert_allclose(arrays["c"], out + 1, rtol=1e-12)


def test_values_that_would_be_others() -> None:
    errors = (IllegalStep, CannotProve, NotTheSame)
    with pytest.raises(errors):
        pg.buffer_array(rows(), "out", (), 0)
    with pytest.raises(errors):
        pg.buffer_array(rows(), "out", (), None, "base + buffer")
    with pytest.raises(errors):
        pg.buffer_array(rows(), "out", (), None, False)
    with pytest.raises(DependencyCycle):  # what reads the array comes between
        pg.buffer_array(
            pg.make_kernel(
                "{ [i, j]: 0<=i<n and 0<=j<m }",
                """
                out[i] = out[i] + a[i, j]  {id=add}
                c[i, j] = out[i]           {id=see, dep=add}
                """,
                [pg.GlobalArg("a", "float64", "n, m"), pg.GlobalArg("out", "float64", "n"), "..."],
                loop_priority="i, j",
            ),
            "out",
            within="add",
        )


def test_sums_apart_are_not_proved() -> None:
    """A sum that starts at 0 and is added to the element: right, but for rounding; not proved."""
    parts: dict[str, Any] = {"init_expression": 0, "store_expression": "base + buffer"}
    with pytest.raises((IllegalStep, CannotProve, NotTheSame)):
        pg.buffer_array(rows(), "out", **parts)
    new = pg.buffer_array(rows(), "out", **parts, **UNSAFE)
    assert any("unsafe" in str(claim) for claim in new.claims)
    for target in ("c", "opencl"):
        for n, m in SIZES:
            random = np.random.default_rng(n)
            a, start = (random.integers(-8, 9, size=s).astype(np.float64) for s in ((n, m), n))
            out = start.copy()
            new.executor(target)(a=a, out=out, n=n, m=m)
            np.testing.assert_array_equal(out, start + a.sum(axis=1))


def test_what_cannot_be_buffered() -> None:
    with pytest.raises(NothingMatches, match="writes 'a'"):
        pg.buffer_array(rows(), "a")
    data = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[k[i]] = a[i]", [pg.GlobalArg("out", "float64", "m"), "..."]
    )
    with pytest.raises((FootprintNotAffine, FootprintNotConstant)):
        pg.buffer_array(data, "out", "i")
    with pytest.raises(FootprintNotConstant):
        pg.buffer_array(rows(), "out", "i")
    atomic = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[0] += a[i]  {atomic}", [pg.GlobalArg("out", "int32", 1), "..."]
    )
    with pytest.raises(InvalidArgument, match="writes 'out' atomically"):
        pg.buffer_array(atomic, "out")
    text = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        '... code(i) "out[i] = 1;" writes(out[i])  {inames=i}',
        [pg.GlobalArg("out", "float32", 4), "..."],
    )
    with pytest.raises(VerbatimNotPossible):
        pg.buffer_array(text, "out")
    wrong: Any
    for wrong in ({"init_expression": [1]}, {"store_expression": True}, {"temporary_scope": 1}):
        with pytest.raises(InvalidArgument, match="was given"):
            pg.buffer_array(rows(), "out", **wrong)


# --- arrays of which data says what else is written

ADDED = "out[i] = out[i] + a[i,j]  {id=acc,dep=*h,inames=t:i:j}"
BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "before": (f"out[ix[k]] = t + 1  {{id=h,inames=t:k}}\n{ADDED}", {}),
    "before a tile": (
        f"out[ix[k]] = t + 1  {{id=h,inames=t:k}}\n{ADDED}", {"buffer_inames": "i_inner"},
    ),
    "after": (
        "out[i] = out[i] + a[i,j]  {id=acc,inames=t:i:j}\n"
        "out[ix[k]] = t + 1  {dep=acc,inames=t:k}", {},
    ),
    "under a condition": (f"out[k] = 1  {{id=h,if=ix[k] > 2,inames=t:k}}\n{ADDED}", {}),
    "in between": (
        "out[i] = out[i] + a[i,j]  {id=acc,inames=t:i:j}\n"
        "out[ix[i]] = a[i,j]  {dep=acc,inames=t:i:j}", {},
    ),
}  # fmt: skip


def _beside(text: str, priority: str = "t, i, j", tiled: bool = False) -> Kernel:
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<3 }", "{ [k]: 0<=k<n }", "{ [t]: 0<=t<2 }"],
        text,
        [
            pg.GlobalArg("ix", np.int32, "n"),
            pg.GlobalArg("a", np.float64, "n, 3"),
            pg.GlobalArg("out", np.float64, "n"),
            "...",
        ],
        loop_priority=priority,
        silenced_warnings="UnusedIname",
    )
    return pg.split_iname(knl, "i", 4) if tiled else knl


def _same_results(old: Kernel, new: Kernel) -> None:
    for n in (0, 1, 5, 9):
        rng = np.random.default_rng(n)
        a, start, ix = rng.random((n, 3)), rng.random(n), rng.integers(0, max(n, 1), n)
        results: list[Any] = []
        for knl in (old, new):
            results.append(start.copy())
            knl.executor("c")(a=a, out=results[-1], ix=ix.astype(np.int32))
        np.testing.assert_array_equal(*results)


@few(2, "name", BESIDE)
def test_data_says_what_else_is_written(name: str) -> None:
    text, arguments = BESIDE[name]
    knl = _beside(text, tiled=bool(arguments))
    new = pg.buffer_array(knl, "out", within="acc", default_tag=None, **arguments)
    assert not new.claims
    assert len(new.instructions) == 4
    _same_results(knl, new)


def _with_dependencies(knl: Kernel, changes: dict[str, tuple[set[str], set[str]]]) -> Kernel:
    """Return a kernel in which instructions do not depend on some others, and do on others."""
    return knl.copy(
        instructions=tuple(
            i.copy(depends_on=i.depends_on - changes[i.id][0] | changes[i.id][1])
            if i.id in changes
            else i
            for i in knl.instructions
        )
    )


def test_a_buffer_that_is_filled_before_what_data_writes_is_refused() -> None:
    text = "out[ix[k]] = 1  {id=h,inames=k}\nout[i] = out[i] + a[i,0]  {id=acc,dep=*h,inames=i}"
    new = pg.buffer_array(_beside(text, "t, i, j"), "out", "i", within="acc", default_tag=None,
        temporary_scope="global")  # fmt: skip

    @pg.transformation
    def early(knl: Kernel) -> Kernel:
        """Fill the buffer before the data is written."""
        return _with_dependencies(knl, {"out_init": ({"h"}, set()), "h": (set(), {"out_init"})})

    @pg.transformation
    def late(knl: Kernel) -> Kernel:
        """Write the data when the buffer is written back."""
        return _with_dependencies(
            knl, {"h": (set(), {"out_store"}), "out_init": ({"h"}, set()), "acc": ({"h"}, set())}
        )

    for wrong in (early, late):
        with pytest.raises((IllegalStep, CannotProve, NotTheSame)):
            wrong(new)
        # it is wrong indeed
        n, ix = 4, np.array([3, 0, 0, 1], np.int32)
        a, right, other = np.ones((n, 3)), np.zeros(n), np.zeros(n)
        new.executor("c")(a=a, out=right, ix=ix)
        wrong(new, **UNSAFE).executor("c")(a=a, out=other, ix=ix)
        assert not np.array_equal(right, other)


def test_writes_around_what_data_writes() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n }", "{ [l]: 0<=l<n }"]
    text = "out[i] = 5  {id=first}\nout[ix[k]] = 1  {id=h,dep=first}\nout[l] = a[l,0]  {id=x,dep=h}"
    data = [pg.GlobalArg("ix", np.int32, "n"), pg.GlobalArg("a", np.float64, "n, 3")]
    out = pg.GlobalArg("out", np.float64, "n")
    knl = pg.make_kernel(domains, text, [*data, out, "..."])
    _same_results(knl, pg.remove_instructions(knl, "h"))
    _same_results(knl, pg.remove_instructions(knl, "first"))
    with pytest.raises((CannotProve, NotTheSame)):
        pg.remove_instructions(knl, "x")
    ends = pg.make_kernel(domains[:2], text.rpartition("\n")[0], [*data, out, "..."])
    for gone in ("first", "h"):
        with pytest.raises((CannotProve, NotTheSame)):
            pg.remove_instructions(ends, gone)


TYPED_BY_INPUTS = {
    "two": "out[i,j] = a[i,j]*b[j]",
    "sum": "out[i,j] = sum(k, a[i,k]*b[j])",
}


@pytest.mark.parametrize("name", TYPED_BY_INPUTS)
def test_the_type_of_an_output_follows_from_inputs(name: str) -> None:
    """A call may pass another type, to which all that is stored is converted once, as before."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<8 }",
        TYPED_BY_INPUTS[name],
        loop_priority="i, j",
        silenced_warnings=["UnusedIname"],
    )
    knl = pg.add_dtypes(knl, {n: "float32" for n in "ab" if n in knl.variables})
    new = pg.buffer_array(knl, "out", "j", default_tag=None)
    assert new.variables["out"].dtype is None
    rng = np.random.default_rng(3)
    given = {"a": rng.random((5, 8), np.float32), "b": rng.random(8, np.float32)}
    for dtype in ("float32", "float64"):
        before, after = np.empty((5, 8), dtype), np.empty((5, 8), dtype)
        knl.executor("c")(**given, out=before)
        new.executor("c")(**given, out=after)
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(
    "text",
    [
        # In a call with a float64, sums would be rounded in between, and others would be read.
        "out[i] = 0  {id=z}\nout[i] = out[i] + a[i,j]  {id=add, dep=z}",
        "out[i] = a[i,0]  {id=z}\nout[i] = out[i] + a[i,j]  {id=add, dep=z}",
        "out[i] = a[i,0]  {id=z}\nu[i] = out[i]*0.1  {id=add, dep=z}",
        "out[i] = 22",  # which may be stored in an int8, and an int64 may not
    ],
)
def test_the_type_of_an_output_that_a_call_decides(text: str) -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", text, loop_priority="i, j")
    if "a" in knl.variables:
        knl = pg.add_dtypes(knl, {"a": "float32"})
    with pytest.raises(CannotProve, match="types that are declared may settle this"):
        pg.buffer_array(knl, "out")
    declared = pg.add_dtypes(knl, {"out": "float32"})
    assert pg.buffer_array(declared, "out") != declared


UNDER_CONDITIONS = {
    "once a row": "out[i] = out[i] + a[i,j]  {id=s, if=c[i] > 0}",
    "each time": "out[i] = out[i] + a[i,j]  {id=s, if=a[i,j] > 0}",
    "what is buffered": "out[i] = a[i,j]  {id=s, if=a[i,j] > out[i]}",
    "overwritten": "out[i] = 2*a[i,j]  {id=s, if=a[i,j] > 0}",
    "beside another": "out[i] = out[i] + a[i,j]  {id=s, if=a[i,j] > 0}\n"
    "out[i] = 2*out[i] + 1  {id=q, if=a[i,j] > 3, dep=s}",
    "after another": "out[i] = 2*c[i]  {id=z, inames=i}\n"
    "out[i] = out[i] + a[i,j]  {id=s, if=a[i,j] > 0 and j < 2, dep=z}",
}


def conditional(text: str, *, tiled: bool = False) -> Kernel:
    """Return a kernel that writes where data says so."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        text,
        [
            pg.GlobalArg("out", "float64", "n"),
            pg.GlobalArg("a", "float64", "n, m"),
            pg.GlobalArg("c", "int32", "n"),
            "...",
        ],
        loop_priority="j, i" if tiled else "i, j",
        silenced_warnings="PriorityIgnored",
    )
    if not tiled:
        return knl
    return pg.prioritize_loops(pg.split_iname(knl, "i", 4), "i_outer, j, i_inner")


@few(2, "name", UNDER_CONDITIONS)
def test_data_says_whether_elements_change(name: str) -> None:
    text = UNDER_CONDITIONS[name]
    calls = [{"n": n, "m": m} for n, m in SIZES]
    agree_in_arrays(conditional(text), calls, lambda k: pg.buffer_array(k, "out"))
    if "inames=i" not in text:
        tiles = conditional(text, tiled=True)
        agree_in_arrays(tiles, calls, lambda k: pg.buffer_array(k, "out", "i_inner"))
    # What is not buffered touches the elements, too: so they are read and written each time.
    agree_in_arrays(conditional(text), calls, lambda k: pg.buffer_array(k, "out", within="s"))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        # Nothing is written back, or another value; or it begins with another one.
        (UNDER_CONDITIONS["each time"], {"store_expression": False}),
        (UNDER_CONDITIONS["each time"], {"store_expression": "buffer + base"}),
        (UNDER_CONDITIONS["each time"], {"init_expression": 0}),
        (UNDER_CONDITIONS["what is buffered"], {"init_expression": "base + 1"}),
        # Other elements, of which data says which.
        ("out[i] = out[i] + out[c[i]]  {id=s, if=a[i,j] > 0}", {"within": "s"}),
    ],
)
def test_data_says_whether_others_change(text: str, options: dict[str, Any]) -> None:
    with pytest.raises((CannotProve, IllegalStep, NotTheSame, FootprintNotAffine)):
        pg.buffer_array(conditional(text), "out", (), **options)


def test_types_of_what_is_written_under_a_condition() -> None:
    """A double that is stored in a float is rounded, which a choice of doubles is not."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i] = a[i,j]  {if=a[i,j] > 0}",
        [pg.GlobalArg("out", "float32", "n"), pg.GlobalArg("a", "float64", "n, m"), "..."],
        loop_priority="i, j",
    )
    with pytest.raises(CannotProve, match="depends on data"):
        pg.buffer_array(knl, "out")
