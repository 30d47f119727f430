"""`Builder`: kernels made by calls are those of text; errors show the places that were given."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pymbolic
import pytest
from pymbolic import parse

import polygen as pg
from polygen import errors
from polygen.ir import expression as ex


def var(name: str) -> Any:
    """Return pymbolic's variable, on which operators take handles."""
    return pymbolic.var(name)


a, b, out, n, m = map(var, ("a", "b", "out", "n", "m"))
sum_, max_, argmax = map(var, ("sum", "max", "argmax"))


def _at(line: int) -> pg.SourceLocation:
    return pg.SourceLocation("model.py", line)


# Each a builder, and the arguments of `make_kernel` that say the same.


def _plain(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    builder.assign(out[i], 2 * a[i] + 1)


def _reductions(builder: pg.Builder) -> None:
    i, j = builder.domain("{ [i, j]: 0<=i<n and 0<=j<m }")
    builder.assign(out[i], sum_(j, a[i, j]) - max_((j,), a[i, j]), id="rows")


def _two_results(builder: pg.Builder) -> None:
    j = builder.loop("j", 0, n)
    best, place = builder.temporary("best", "float64"), builder.temporary("place", "int32")
    builder.assign((best, place), argmax(j, a[j], j))
    builder.assign(out[0], best + place)


def _conditions(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    asked = ex.Comparison(a[i], ">", 0)
    inside = i < 5
    builder.assign(out[i], a[i], when=(asked, inside))
    builder.assign(out[i], 0, when=ex.LogicalNot(asked))


def _triangle(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    j = builder.loop("j", i, n)
    builder.assign(out[i, j], a[j, i], within=(i, j))


def _scan(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    j = builder.loop("j", 0, i + 1)
    builder.assign(out[i], sum_(j, a[j]))


def _strided(builder: pg.Builder) -> None:
    i = builder.loop("i", 1, n, 3)
    builder.assign(out[i], a[i])


def _private(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    t = builder.temporary("t")
    first = builder.assign(t, a[i] * a[i], id="square", tags=["load"])
    builder.assign(out[i], t + t, after=first, id="last")


def _sequence(builder: pg.Builder) -> None:
    t, i = builder.loop("t", 0, m), builder.loop("i", 0, n)
    builder.assign(b[i], out[i] + t, within=[t, i])
    builder.assign(out[i], 2 * b[i], within=[t, i])


def _lines(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    builder.assign(out[i], a[i], id="first")
    wait = builder.line("... nop {id=wait, dep=first, inames=i}")
    builder.assign(out[i], out[i] + 1, after=("*", wait))


def _atomic(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    k = builder.loop("k", 0, 4)
    builder.assign(out[k], 0, id="clear")
    place = parse("i % 4")
    builder.assign(out[place], out[place] + a[i], atomic=pg.Atomicity(), after="clear", within=i)
    builder.declare(pg.GlobalArg("out", "float64", 4))
    assert k.name == "k"


Draws = tuple[Callable[[pg.Builder], None], Any, Any, dict[str, Any]]
SAME: list[Draws] = [
    (_plain, "{ [i]: 0<=i<n }", "out[i] = 2*a[i] + 1", {}),
    (
        _reductions,
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[i] = sum(j, a[i, j]) - max(j, a[i, j])  {id=rows}",
        {},
    ),
    (
        _two_results,
        "{ [j]: 0<=j<n }",
        ["<float64> best, <int32> place = argmax(j, a[j], j)", "out[0] = best + place"],
        {"assumptions": "n >= 1"},
    ),
    (
        _conditions,
        "{ [i]: 0<=i<n }",
        ["out[i] = a[i] {if=a[i] > 0, if=i < 5}", "out[i] = 0 {if=not a[i] > 0}"],
        {"seq_dependencies": True},
    ),
    (_triangle, ["{ [i]: 0<=i<n }", "[n, i] -> { [j]: i<=j<n }"], "out[i, j] = a[j, i]", {}),
    (_scan, ["{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<=i }"], "out[i] = sum(j, a[j])", {}),
    (_strided, "{ [i]: 1<=i<n and i mod 3 = 1 }", "out[i] = a[i]", {}),
    (
        _private,
        "{ [i]: 0<=i<n }",
        ["<> t = a[i]*a[i]  {id=square, tags=load}", "out[i] = t + t  {id=last, dep=square}"],
        {},
    ),
    (
        _sequence,
        ["{ [t]: 0<=t<m }", "{ [i]: 0<=i<n }"],
        ["for t, i", "b[i] = out[i] + t", "out[i] = 2*b[i]", "end"],
        {"seq_dependencies": True, "loop_priority": "t, i"},
    ),
    (
        _lines,
        "{ [i]: 0<=i<n }",
        [
            "out[i] = a[i] {id=first}",
            "... nop {id=wait, dep=first, inames=i}",
            "out[i] = out[i] + 1 {dep=*wait}",
        ],
        {},
    ),
]


@pytest.mark.parametrize(("draw", "domains", "lines", "options"), SAME)
def test_a_builder_makes_the_kernel_of_its_text(
    draw: Callable[[pg.Builder], None], domains: Any, lines: Any, options: dict[str, Any]
) -> None:
    builder = pg.Builder()
    draw(builder)
    made, of_text = builder.kernel(**options), pg.make_kernel(domains, lines, **options)
    assert made == of_text
    assert str(made) == str(of_text)
    assert builder.kernel(**options) == made  # it may be asked again
    assert pg.parse_kernel(str(made)) == made


def test_atomic_updates() -> None:
    builder = pg.Builder()
    _atomic(builder)
    of_text = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<4 }"],
        [
            "out[k] = 0 {id=clear}",
            "out[i % 4] = out[i % 4] + a[i] {atomic, dep=clear, inames=i}",
        ],
        [pg.GlobalArg("out", "float64", 4), "..."],
    )
    assert builder.kernel() == of_text


def test_calls_of_kernels() -> None:
    scale = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"])
    builder = pg.Builder()
    i = builder.loop("i", 0, n)
    row, column = builder.part("j", out[i, var("j")]), builder.part("j", a[var("j"), i])
    assert builder.assign(row, var("scale")(4, i, column), id="row") == "row"
    of_text = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: out[i, j] = scale(4, i, [j]: a[j, i])  {id=row}",
        functions={"scale": scale},
    )
    made = builder.kernel(functions={"scale": scale})
    assert made == of_text
    values = np.arange(12.0).reshape(4, 3)
    _, (result,) = made(a=values)
    assert (result == np.arange(3)[:, None] * values.T).all()


def test_ids_of_calls_are_those_of_text() -> None:
    builder, text = pg.Builder(), "[j]: out[j] = scale([j]: a[j])"
    j, data = var("j"), [pg.GlobalArg("a,out", shape=4)]
    builder.declare(pg.GlobalArg("a", shape=4))
    builder.declare(pg.GlobalArg("out", shape=4))
    assert (
        builder.assign(builder.part("j", out[j]), var("scale")(builder.part("j", a[j]))) == "scale"
    )
    assert builder.kernel() == pg.make_kernel([], text, data)


# --- what they compute


@pytest.mark.parametrize("size", [0, 1, 7, 16])
def test_results(size: int) -> None:
    for dtype in ("float32", "float64", "int32", "complex128"):
        values = np.arange(1, size * size + 1).reshape(size, size).astype(dtype)
        builder = pg.Builder()
        i = builder.loop("i", 0, n)
        j = builder.loop("j", 0, i + 1)
        s = builder.temporary("s", dtype)
        builder.assign(s, sum_(j, a[i, j] * b[j]))
        builder.assign(out[i], s + s, when=ex.Comparison(i.expression, ">", 0))
        builder.assign(out[i], 7, when=i == 0)
        given = np.ones(size, dtype)
        _, (result,) = builder.kernel().executor("c")(a=values, b=given)
        expected = 2 * np.tril(values).sum(axis=1)
        expected[:1] = 7
        assert (result == expected).all()


@pytest.mark.parametrize(("low", "high", "step"), [(0, 0, 1), (3, 11, 4), (-2, 9, 3), (5, 2, 1)])
def test_loops_have_the_values_of_ranges(low: int, high: int, step: int) -> None:
    builder = pg.Builder()
    i = builder.loop("i", var("low"), var("high"), step)
    builder.assign(out[i + 4], 1)
    builder.declare(pg.GlobalArg("out", "int32", 20))
    given = np.zeros(20, np.int32)
    builder.kernel(assumptions="low >= -4 and high <= 16").executor("c")(
        out=given, low=low, high=high
    )
    assert np.flatnonzero(given).tolist() == [i + 4 for i in range(low, high, step)]


def test_bounds_may_be_minima_maxima_and_temporaries() -> None:
    builder = pg.Builder()
    i = builder.loop("i", 0, n)
    k = builder.loop("k", var("max")(i - 1, 0), var("min")(i + 2, n))
    builder.assign(out[i], sum_(k, a[k]))
    values = np.arange(6.0)
    _, (result,) = builder.kernel().executor("c")(a=values)
    padded = np.pad(values, 1)
    assert (result == padded[:-2] + padded[1:-1] + padded[2:]).all()

    builder = pg.Builder()
    i = builder.loop("i", 0, n)
    end = builder.temporary("end", "int32")
    k = builder.loop("k", 0, end)
    builder.assign(end, b[i])
    builder.assign(out[i], sum_(k, a[k]))
    builder.declare(pg.GlobalArg("a", shape="m"))
    ends = np.array([0, 3, 1], np.int32)
    _, (result,) = builder.kernel().executor("c")(a=values, b=ends)
    assert result.tolist() == [values[:e].sum() for e in ends]


# --- names


@pytest.mark.parametrize(
    "word",
    ["half", "global", "long", "new", "exp", "kernel", "min", "queue", "größe", "2x", "", "_"],
)
def test_any_name_can_be_had(word: str) -> None:
    builder = pg.Builder()
    names = [builder.name(word) for _ in range(3)]
    assert len(set(names)) == 3
    i = builder.loop(names[0], 0, var(names[1]))
    builder.assign(var(names[2])[i], 1)
    assert builder.kernel(target="c").inames == (i.name,)


def test_loops_get_names_of_their_own() -> None:
    builder = pg.Builder()
    builder.assign(out[0], var("i"))
    assert [builder.loop("i", 0, n).name for _ in range(2)] == ["i_0", "i_1"]
    assert builder.temporary("n").name == "n_0"


# --- errors


def test_a_builder_without_places_shows_the_lines_that_call() -> None:
    knl = _made()
    assert knl.location is not None
    assert knl.location.file == __file__
    (insn,) = knl.instructions
    assert insn.location is not None
    assert insn.location.line == knl.location.line - 1


def _made() -> pg.Kernel:
    builder = pg.Builder()
    builder.assign(out[0], 1)
    return builder.kernel()


def test_places_are_those_of_instructions_and_kernels() -> None:
    builder = pg.Builder(location=_at(1))
    i = builder.loop("i", 0, n, location=_at(2))
    builder.assign(out[i], a[i], location=_at(3))
    builder.assign(var("other")[i], a[i])
    knl = builder.kernel()
    assert [str(insn.location) for insn in knl.instructions] == ["model.py:3", "model.py:1"]
    assert str(knl.location) == "model.py:1"


def _refused(kind: type[errors.UserError], draw: Callable[[pg.Builder], object]) -> str:
    builder = pg.Builder(location=_at(1))
    with pytest.raises(kind) as info:
        draw(builder)
        builder.kernel()
    return str(info.value)


def _unfit_target(builder: pg.Builder) -> None:
    builder.assign(a[0] + 1, 1, location=_at(4))


def _slice(builder: pg.Builder) -> None:
    builder.assign(out[0], parse("a[1:2]"), location=_at(4))


def _no_iname(builder: pg.Builder) -> None:
    builder.assign(out[0], sum_(2, a[0]), location=_at(4))


def _too_few_operands(builder: pg.Builder) -> None:
    j = builder.loop("j", 0, n)
    builder.assign((out[0], out[1]), argmax(j, a[j]), location=_at(4))


def _cast(builder: pg.Builder) -> None:
    builder.assign(out[0], var("cast")(var("float32"), a[0]), location=_at(4))


def _curved(builder: pg.Builder) -> None:
    builder.loop("i", 0, n**2, location=_at(4))


def _standing(builder: pg.Builder) -> None:
    builder.loop("i", 0, n, 0, location=_at(4))


def _unbounded(builder: pg.Builder) -> None:
    builder.domain("{ [i]: 0<=i }", location=_at(4))


def _twice(builder: pg.Builder) -> None:
    builder.loop("i", 0, n)
    builder.domain("{ [i]: 0<=i<n }", location=_at(4))


def _declared_twice(builder: pg.Builder) -> None:
    builder.declare(pg.GlobalArg("a"))
    builder.declare(pg.ValueArg("a"), location=_at(4))


def _no_type(builder: pg.Builder) -> None:
    builder.temporary("t", "float33", location=_at(4))


def _too_many(builder: pg.Builder) -> None:
    builder.assign((out[0], out[1]), (1, 2, 3), location=_at(4))


def _no_line(builder: pg.Builder) -> None:
    builder.line("if a[0] > 0", location=_at(4))


def _no_writer(builder: pg.Builder) -> None:
    builder.assign(out[0], 1, after="other", location=_at(4))


def _no_loop(builder: pg.Builder) -> None:
    builder.assign(out[0], 1, within="k", location=_at(4))


def _no_reduction_loop(builder: pg.Builder) -> None:
    builder.assign(out[0], sum_((var("k"),), a[var("k")]), location=_at(4))


def _same_id(builder: pg.Builder) -> None:
    builder.assign(out[0], 1, id="one", location=_at(3))
    builder.assign(out[1], 1, id="one", location=_at(4))


def _scalar(builder: pg.Builder) -> None:
    builder.assign(var("s"), 1, location=_at(4))


def _sets_a_loop(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    builder.assign(i, 1, location=_at(4))


def _circle(builder: pg.Builder) -> None:
    builder.assign(out[0], 1, id="p", after="q", location=_at(3))
    builder.assign(out[1], 1, id="q", after="p", location=_at(4))


def _outside(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    builder.declare(pg.GlobalArg("a", "float64", "n"))
    builder.assign(out[i], a[i + 1], location=_at(4))


def _unset(builder: pg.Builder) -> None:
    t = builder.temporary("t", "float64")
    builder.assign(out[0], t, location=_at(4))


def _axes(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    builder.declare(pg.GlobalArg("a", "float64", "n"))
    builder.assign(out[i], a[i, i], location=_at(4))


def _nested(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n)
    j = builder.loop("j", 0, i)
    builder.assign(out[j], 1, within=j, location=_at(4))


REFUSED: list[tuple[Callable[[pg.Builder], None], type[errors.UserError], int]] = [
    (_unfit_target, errors.InvalidArgument, 4),
    (_slice, errors.MalformedInstruction, 4),
    (_no_iname, errors.MalformedInstruction, 4),
    (_too_few_operands, errors.MalformedInstruction, 4),
    (_cast, errors.MalformedInstruction, 4),
    (_curved, errors.NonAffineDomain, 4),
    (_standing, errors.InvalidArgument, 4),
    (_unbounded, errors.UnboundedDomain, 4),
    (_twice, errors.NameTaken, 4),
    (_declared_twice, errors.NameTaken, 4),
    (_no_type, errors.InvalidArgument, 4),
    (_too_many, errors.MalformedInstruction, 4),
    (_no_line, errors.MalformedInstruction, 4),
    (_no_writer, errors.UnknownInstruction, 4),
    (_no_loop, errors.UnknownIname, 4),
    (_no_reduction_loop, errors.UnknownIname, 4),
    (_same_id, errors.NameTaken, 4),
    (_scalar, errors.UndeclaredVariable, 4),
    (_sets_a_loop, errors.NameTaken, 4),
    (_circle, errors.DependencyCycle, 3),
    (_outside, errors.IllFormedKernel, 4),
    (_unset, errors.IllFormedKernel, 4),
    (_axes, errors.UserError, 4),
    (_nested, errors.MalformedKernel, 4),
]


@pytest.mark.parametrize(("draw", "kind", "line"), REFUSED)
def test_errors_show_where_it_is_from(
    draw: Callable[[pg.Builder], None], kind: type[errors.UserError], line: int
) -> None:
    shown = _refused(kind, draw).splitlines()
    assert f"  at model.py:{line}" in (one.partition(" and ")[0] for one in shown)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pg.Builder(location="model.py:3"),  # type: ignore[arg-type]
        lambda: pg.Builder().name(3),  # type: ignore[arg-type]
        lambda: pg.Builder().loop("i", 0, "n"),  # type: ignore[arg-type]
        lambda: pg.Builder().loop("i", 0, n, 0.5),  # type: ignore[arg-type]
        lambda: pg.Builder().domain(3),  # type: ignore[arg-type]
        lambda: pg.Builder().declare("a"),  # type: ignore[arg-type]
        lambda: pg.Builder().temporary("t", space=3),  # type: ignore[call-arg]
        lambda: pg.Builder().assign(out[0], 1, after=3),  # type: ignore[arg-type]
        lambda: pg.Builder().assign(out[0], 1, atomic="yes"),  # type: ignore[arg-type]
        lambda: pg.Builder().line(3),  # type: ignore[arg-type]
        lambda: pg.Builder().kernel(names="k"),
    ],
)
def test_arguments_of_the_wrong_kind(call: Callable[[], object]) -> None:
    with pytest.raises(errors.InvalidArgument) as info:
        call()
    assert str(info.value.where).startswith(__file__)


def test_after_an_error_places_are_those_of_lines_again() -> None:
    _refused(errors.NonAffineDomain, _curved)
    with pytest.raises(errors.UserError) as info:
        pg.make_kernel("{ [i]: 0<=i }", "out[i] = 1")
    assert str(info.value.where).startswith(__file__)


# --- nests, conditions, arrays


def test_loops_are_nested_in_the_order_in_which_they_are_opened() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    x = builder.array("x", "float64", (size, size))
    j, i = (builder.loop(name, 0, size) for name in "ji")
    with i, j:
        x[i, j] = 1
    with builder.loop("k", 0, size) as k, builder.loop("i", 0, k + 1) as inner:
        x[k, inner] = 2
    knl = builder.kernel(seq_dependencies=True)
    assert knl.priorities == (("i", "j"), ("k", "i_0"))
    assert knl.inames == ("j", "i", "k", "i_0")
    assert [insn.within_inames for insn in knl.instructions] == [{"i", "j"}, {"k", "i_0"}]
    assert knl.written_names == {"i_0": "i"}
    _, (result,) = knl.executor("c")(n=3)
    assert (result == 1 + np.tril(np.ones((3, 3)))).all()


def test_a_longer_nest_replaces_its_beginning() -> None:
    builder = pg.Builder()
    with builder.loop("i", 0, n) as i:
        with builder.loop("j", 0, n) as j:
            builder.assign(out[i, j], 0)
            with builder.loop("k", 0, n) as k:
                builder.assign(b[i, j, k], 1)
        with builder.loop("l", 0, n):
            pass
    knl = builder.kernel(loop_priority="i, l")
    assert knl.priorities == (("i", "j", "k"), ("i", "l"))


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(10, 0, -1), (10, -1, -3), (0, 0, -1), (3, 8, -2), (9, 2, -7), (-1, -9, -4), (4, 3, -5)],
)
def test_loops_that_count_down(low: int, high: int, step: int) -> None:
    """Each iteration reads what the one before wrote: the order is that of ``range``."""
    knl = _downward(step)
    given, expected = np.zeros(40, np.int32), np.zeros(40, np.int32)
    knl.executor("c")(out=given, low=low, high=high)
    for value in range(low, high, step):
        expected[value + 15] = expected[value + 15 - step] + 1
    assert (given == expected).all()


@functools.cache
def _downward(step: int) -> pg.Kernel:
    builder = pg.Builder()
    values = builder.array("out", "int32", (40,))
    with builder.loop("i", var("low"), var("high"), step) as i:
        values[i + 15] = values[i + 15 - step] + 1
    return builder.kernel(assumptions="-10 <= low <= 10 and high >= -14")


def test_a_loop_that_counts_down_inside_of_another_is_triangular() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    x = builder.array("x", "int32", (size, size))
    with builder.loop("i", size - 1, -1, -1) as i, builder.loop("j", i, -1, -2) as j:
        x[i, j] = 10 * i + j
    knl = builder.kernel()
    for count in (0, 1, 4):
        given, expected = (np.full((count, count), -1, np.int32) for _ in range(2))
        knl.executor("c")(x=given, n=count)
        for row in range(count):
            for column in range(row, -1, -2):
                expected[row, column] = 10 * row + column
        assert (given == expected).all()


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_bounds_that_data_decides(target: str) -> None:
    builder = pg.Builder()
    size, many = builder.size("n"), builder.size("m")
    starts = builder.array("starts", "int32", (size + 1,))
    x, y = (builder.array(name, "float64", (many,)) for name in "xy")
    row, least = (builder.array(name, "float64", (size,)) for name in ("row", "least"))
    with builder.loop("i", 0, size) as i:
        row[i] = builder.sum("k", starts[i], starts[i + 1], lambda k: x[k] * y[k])
        with builder.when(i > 0):
            least[i] = 100
            with builder.loop("k", starts[i], starts[i + 1]) as k:
                least[i] = builder.call("min", least[i], x[k])
        with builder.otherwise():
            least[i] = -1
    knl = builder.kernel(seq_dependencies=True)
    ends = np.array([0, 3, 3, 8], np.int32)
    xs, ys = np.arange(8.0)[::-1].copy(), np.arange(8.0) ** 2
    _, (rows, smallest) = knl.executor(target)(starts=ends, x=xs, y=ys)
    assert rows.tolist() == [(xs * ys)[s:e].sum() for s, e in itertools.pairwise(ends)]
    assert smallest.tolist() == [-1, 100, xs[3:].min()]


def test_a_bound_is_read_once_where_its_loop_stands() -> None:
    builder = pg.Builder()
    count = builder.array("count", "int32", (1,))
    with builder.loop("i", 0, count[0]):
        count[0] = count[0] + 1
    knl = builder.kernel(seq_dependencies=True)
    given = np.array([3], np.int32)
    knl.executor("c")(count=given)
    assert given[0] == 6


def test_conditions_one_after_the_other() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    x, kind = builder.array("x", "float64", (size,)), builder.array("kind", "int32", (size,))
    with builder.loop("i", 0, size) as i:
        with builder.when(x[i] > 0, i != 3):
            kind[i] = 1
        with builder.otherwise((x[i] < -2) | (i == 4)):
            kind[i] = 2
        with builder.otherwise():
            kind[i] = 3
            with builder.when(i == 5):
                kind[i] += 10
    values = np.array([1.0, -3, 0, 5, 1, -1, -1])
    _, (result,) = builder.kernel(seq_dependencies=True).executor("c")(x=values)
    expected = [
        1 if v > 0 and at != 3 else 2 if v < -2 or at == 4 else 3 for at, v in enumerate(values)
    ]
    expected[5] += 10
    assert result.tolist() == expected


def test_reductions_by_name_by_loop_and_by_function() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    x, y = (builder.array(name, "float64", (size, size)) for name in "xy")
    outs = [builder.array(f"out{at}", "float64", (size,)) for at in range(5)]
    best, place = builder.temporary("best", "float64"), builder.temporary("place", "int32")
    with builder.loop("i", 0, size) as i:
        outs[0][i] = builder.sum("j", 0, size, x[i, var("j")])
        j = builder.loop("j", 0, i + 1)
        outs[1][i] = builder.sum(j, x[i, j]) - builder.reduce("max", (j,), y[i, j])
        with builder.loop("k", 0, size) as k:
            outs[2][i] = builder.sum(k, x[k, i])
        down = builder.loop("d", size - 1, -1, -1)
        outs[3][i] = builder.sum(down, x[i, down] * down)
        builder.assign(
            (best, place), builder.reduce("argmax", "p", 0, size, lambda p: (y[i, p], p))
        )
        outs[4][i] = best + place
    knl = builder.kernel(assumptions="n >= 1")
    xs, ys = np.random.default_rng(0).random((2, 4, 4))
    _, results = knl.executor("c")(x=xs, y=ys)
    lower = np.tril(np.ones((4, 4), bool))
    expected = [
        xs.sum(axis=1),
        np.where(lower, xs, 0).sum(axis=1) - np.where(lower, ys, -1).max(axis=1),
        xs.sum(axis=0),
        (xs * np.arange(4)).sum(axis=1),
        ys.max(axis=1) + ys.argmax(axis=1),
    ]
    for result, meant in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, meant, rtol=1e-14)


def test_types_of_reductions() -> None:
    builder = pg.Builder()
    x = builder.array("x", "float32", (4,))
    y = builder.array("y", "float64", (1,))
    y[0] = builder.reduce("sum", "j", 0, 4, x[var("j")], dtype="float64")
    of_text = pg.make_kernel(
        "{ [j]: 0<=j<4 }",
        "y[0] = sum<float64>(j, x[j])",
        [pg.GlobalArg("x", "float32", 4), pg.GlobalArg("y", "float64", 1)],
    )
    assert builder.kernel() == of_text


def test_arguments_are_in_the_order_in_which_they_are_declared() -> None:
    builder = pg.Builder()
    y = builder.array("y", np.float32, "n")
    scale = builder.scalar("scale", "float32")
    size = builder.size("n")
    x = builder.array("x", np.float32, size, order="F")
    with builder.loop("i", 0, size) as i:
        y[i] = scale * x[i]
    knl = builder.kernel("scaled")
    assert [argument.name for argument in knl.arguments] == ["y", "scale", "n", "x"]
    assert knl.name == "scaled"
    _, (result,) = knl.executor("c")(x=np.arange(3, dtype=np.float32), scale=2)
    assert result.tolist() == [0, 2, 4]
    assert result.dtype == np.float32


def test_kernels_that_the_builder_makes_run_on_all_targets() -> None:
    knl = pg.tag_inames(_scaled(), {"i": "g.0"})
    for target in ("opencl", "cuda"):
        assert "half_" in str(pg.generate_code(knl, target))
    _, (result,) = knl.executor("opencl")(x=np.arange(3.0))
    assert result.tolist() == [1, 2, 3]


def _scaled() -> pg.Kernel:
    builder = pg.Builder()
    size = builder.size("n")
    x, y = (builder.array(name, "float64", (size,)) for name in "xy")
    half = builder.temporary("half")
    with builder.loop("i", 0, size) as i:
        builder.assign(half, x[i] / 2)
        y[i] = half * 2 + 1
    return builder.kernel()


def test_lines_of_text_stand_in_open_blocks() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    with builder.loop("i", 0, size), builder.loop("j", 0, size) as j, builder.when(j > 0):
        builder.line("x[i, j] = 2*i {tags=first}")
        builder.line("... nop {id=wait}")
    of_text = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        ["for i, j", "if j > 0", "x[i, j] = 2*i {tags=first}", "... nop {id=wait}", "end", "end"],
        ["n", "..."],
        loop_priority="i, j",
    )
    assert builder.kernel() == of_text


def test_shapes_have_handles_in_all_declarations() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    shape: Any = (size, 2 * size)
    x = builder.declare(pg.GlobalArg("x", "float64", shape, order="F"))
    t = builder.temporary("t", "float64", (size + 1,), pg.AddressSpace.GLOBAL)
    with builder.loop("i", 0, size) as i:
        builder.assign(t[i], i)
        builder.assign(x[i, 2 * i], t[i])
    knl = builder.kernel()
    assert str(knl.array("x").shape) == str(pg.GlobalArg("x", shape=(n, 2 * n)).shape)
    assert "t: type: float64, shape: (n + 1), aspace: global" in str(knl)


def test_a_loop_down_to_what_data_decides() -> None:
    builder = pg.Builder()
    size, many = builder.size("n"), builder.size("m")
    starts = builder.array("starts", "int32", (size + 1,))
    x = builder.array("x", "float64", (many,))
    with (
        builder.loop("i", 0, size) as i,
        builder.loop("k", starts[i + 1] - 2, starts[i] - 1, -1) as k,
    ):
        x[k] += x[k + 1]
    knl = builder.kernel(seq_dependencies=True)
    given, expected = np.arange(8.0), np.arange(8.0)
    ends = np.array([0, 3, 3, 4, 8], np.int32)
    knl.executor("c")(starts=ends, x=given)
    for first, last in itertools.pairwise(ends):
        expected[first:last] = expected[first:last][::-1].cumsum()[::-1]
    assert (given == expected).all()


def _product(builder: pg.Builder) -> None:
    i = builder.loop("i", 0, n * m)
    builder.assign(out[i], 2 * a[i])


def _products(builder: pg.Builder) -> None:
    rows, columns = builder.size("n"), builder.size("m")
    builder.size("k")
    with builder.loop("i", rows, 3 * (rows * 2) * columns - rows) as i:
        builder.assign(out[i], 1)
    with builder.loop("j", 0, (rows + 1) * columns) as j:
        builder.assign(b[j], 1)
    with builder.loop("p", 0, rows * columns * var("k")) as p:
        q = builder.loop("q", 0, columns * rows)
        builder.assign(a[p], builder.sum(q, b[q]))


PRODUCTS: list[Draws] = [
    (_product, "{ [i]: 0<=i<n*m }", "out[i] = 2*a[i]", {"assumptions": "n*m >= 2"}),
    (
        _products,
        [
            "{ [i]: n<=i<6*n*m - n }",
            "{ [j]: 0<=j<(n + 1)*m }",
            "{ [p]: 0<=p<n*m*k }",
            "{ [q]: 0<=q<m*n }",
        ],
        "out[i] = 1\nb[j] = 1\na[p] = sum(q, b[q])",
        {},
    ),
]


@pytest.mark.parametrize(("draw", "domains", "lines", "options"), PRODUCTS)
def test_bounds_may_be_products_of_sizes(
    draw: Callable[[pg.Builder], None], domains: Any, lines: Any, options: dict[str, Any]
) -> None:
    builder = pg.Builder()
    draw(builder)
    declared = ["n", "m", "k", "..."] if draw is _products else None
    of_text = pg.make_kernel(domains, lines, declared, **options)
    assert builder.kernel(**options) == of_text
    assert str(builder.kernel(**options)) == str(of_text)


def test_a_loop_over_a_plane_in_one() -> None:
    builder = pg.Builder()
    rows, columns = builder.size("n"), builder.size("m")
    plane = builder.array("plane", "float64", (rows, columns))
    row = builder.array("row", "float64", (rows * columns,))
    with builder.loop("i", rows * columns - 1, -1, -1) as i:
        row[i] = plane[i // columns, i % columns]
    assert builder.temporary("n_m", "int32").name == "n_m_0"
    with pytest.raises(errors.NameTaken, match="'n_m'"):
        builder.declare(pg.ValueArg("n_m"))
    (other,) = builder.domain("{ [p]: 0<=p<n*m }")
    row[other] = 2 * row[other]
    knl = builder.kernel(seq_dependencies=True)
    assert [*map(str, knl.derived_sizes)] == ["n_m = n * m"]
    for shape in ((0, 3), (1, 1), (3, 5)):
        given = np.random.default_rng(0).random(shape)
        _, (result,) = knl.executor("c")(plane=given)
        assert (result == 2 * given.ravel()).all()


@pytest.mark.parametrize("kind", ["a loop", "a temporary", "a number"])
def test_other_products_are_no_bounds(kind: str) -> None:
    builder = pg.Builder()
    size = builder.size("n")
    factor: Any = {
        "a loop": builder.loop("j", 0, 4),
        "a temporary": builder.temporary("t", "int32"),
        "a number": 1.5,
    }[kind]
    with pytest.raises(errors.NonAffineDomain):
        builder.loop("i", 0, size * factor)


def test_options_of_make_kernel_are_those_of_a_builder() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    x, y = (builder.array(name, "float64", (size,)) for name in "xy")
    with builder.loop("i", 0, size) as i:
        y[i] = x[i - 1]
    knl = builder.kernel(wrap_negative=True)
    _, (result,) = knl.executor("c")(x=np.arange(4.0))
    assert result.tolist() == [3, 0, 1, 2]
    for name in ("sizes", "called"):
        given: dict[str, Any] = {name: ()}
        with pytest.raises(errors.InvalidArgument, match=f"has no argument '{name}'"):
            builder.kernel(**given)
