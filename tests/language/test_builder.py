"""`Builder`: kernels made by calls are those of text; errors show the places that were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pymbolic import parse, var

import polygen as pg
from polygen import errors
from polygen.ir import expression as ex

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
    inside = ex.Comparison(i, "<", 5)
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
        builder.assign(out[i], s + s, when=ex.Comparison(i, ">", 0))
        builder.assign(out[i], 7, when=ex.Comparison(i, "==", 0))
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
    builder.loop("i", 0, n * n, location=_at(4))


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
