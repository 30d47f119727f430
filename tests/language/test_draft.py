"""`Draft`: kernels made by calls are those of text; errors show the places that were given."""

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


# Each a draft, and the arguments of `make_kernel` that say the same.


def _plain(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    draft.assign(out[i], 2 * a[i] + 1)


def _reductions(draft: pg.Draft) -> None:
    i, j = draft.domain("{ [i, j]: 0<=i<n and 0<=j<m }")
    draft.assign(out[i], sum_(j, a[i, j]) - max_((j,), a[i, j]), id="rows")


def _two_results(draft: pg.Draft) -> None:
    j = draft.loop("j", 0, n)
    best, place = draft.temporary("best", "float64"), draft.temporary("place", "int32")
    draft.assign((best, place), argmax(j, a[j], j))
    draft.assign(out[0], best + place)


def _conditions(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    asked = ex.Comparison(a[i], ">", 0)
    inside = ex.Comparison(i, "<", 5)
    draft.assign(out[i], a[i], when=(asked, inside))
    draft.assign(out[i], 0, when=ex.LogicalNot(asked))


def _triangle(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    j = draft.loop("j", i, n)
    draft.assign(out[i, j], a[j, i], within=(i, j))


def _scan(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    j = draft.loop("j", 0, i + 1)
    draft.assign(out[i], sum_(j, a[j]))


def _strided(draft: pg.Draft) -> None:
    i = draft.loop("i", 1, n, 3)
    draft.assign(out[i], a[i])


def _private(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    t = draft.temporary("t")
    first = draft.assign(t, a[i] * a[i], id="square", tags=["load"])
    draft.assign(out[i], t + t, after=first, id="last")


def _sequence(draft: pg.Draft) -> None:
    t, i = draft.loop("t", 0, m), draft.loop("i", 0, n)
    draft.assign(b[i], out[i] + t, within=[t, i])
    draft.assign(out[i], 2 * b[i], within=[t, i])


def _lines(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    draft.assign(out[i], a[i], id="first")
    wait = draft.line("... nop {id=wait, dep=first, inames=i}")
    draft.assign(out[i], out[i] + 1, after=("*", wait))


def _atomic(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    k = draft.loop("k", 0, 4)
    draft.assign(out[k], 0, id="clear")
    place = parse("i % 4")
    draft.assign(out[place], out[place] + a[i], atomic=pg.Atomicity(), after="clear", within=i)
    draft.declare(pg.GlobalArg("out", "float64", 4))
    assert k == var("k")


Draws = tuple[Callable[[pg.Draft], None], Any, Any, dict[str, Any]]
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
def test_a_draft_makes_the_kernel_of_its_text(
    draw: Callable[[pg.Draft], None], domains: Any, lines: Any, options: dict[str, Any]
) -> None:
    draft = pg.Draft()
    draw(draft)
    made, of_text = draft.kernel(**options), pg.make_kernel(domains, lines, **options)
    assert made == of_text
    assert str(made) == str(of_text)
    assert draft.kernel(**options) == made  # it may be asked again
    assert pg.parse_kernel(str(made)) == made


def test_atomic_updates() -> None:
    draft = pg.Draft()
    _atomic(draft)
    of_text = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<4 }"],
        [
            "out[k] = 0 {id=clear}",
            "out[i % 4] = out[i % 4] + a[i] {atomic, dep=clear, inames=i}",
        ],
        [pg.GlobalArg("out", "float64", 4), "..."],
    )
    assert draft.kernel() == of_text


def test_calls_of_kernels() -> None:
    scale = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"])
    draft = pg.Draft()
    i = draft.loop("i", 0, n)
    row, column = draft.part("j", out[i, var("j")]), draft.part("j", a[var("j"), i])
    assert draft.assign(row, var("scale")(4, i, column), id="row") == "row"
    of_text = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: out[i, j] = scale(4, i, [j]: a[j, i])  {id=row}",
        functions={"scale": scale},
    )
    made = draft.kernel(functions={"scale": scale})
    assert made == of_text
    values = np.arange(12.0).reshape(4, 3)
    _, (result,) = made(a=values)
    assert (result == np.arange(3)[:, None] * values.T).all()


def test_ids_of_calls_are_those_of_text() -> None:
    draft, text = pg.Draft(), "[j]: out[j] = scale([j]: a[j])"
    j, data = var("j"), [pg.GlobalArg("a,out", shape=4)]
    draft.declare(pg.GlobalArg("a", shape=4))
    draft.declare(pg.GlobalArg("out", shape=4))
    assert draft.assign(draft.part("j", out[j]), var("scale")(draft.part("j", a[j]))) == "scale"
    assert draft.kernel() == pg.make_kernel([], text, data)


# --- what they compute


@pytest.mark.parametrize("size", [0, 1, 7, 16])
def test_results(size: int) -> None:
    for dtype in ("float32", "float64", "int32", "complex128"):
        values = np.arange(1, size * size + 1).reshape(size, size).astype(dtype)
        draft = pg.Draft()
        i = draft.loop("i", 0, n)
        j = draft.loop("j", 0, i + 1)
        s = draft.temporary("s", dtype)
        draft.assign(s, sum_(j, a[i, j] * b[j]))
        draft.assign(out[i], s + s, when=ex.Comparison(i, ">", 0))
        draft.assign(out[i], 7, when=ex.Comparison(i, "==", 0))
        given = np.ones(size, dtype)
        _, (result,) = draft.kernel().executor("c")(a=values, b=given)
        expected = 2 * np.tril(values).sum(axis=1)
        expected[:1] = 7
        assert (result == expected).all()


@pytest.mark.parametrize(("low", "high", "step"), [(0, 0, 1), (3, 11, 4), (-2, 9, 3), (5, 2, 1)])
def test_loops_have_the_values_of_ranges(low: int, high: int, step: int) -> None:
    draft = pg.Draft()
    i = draft.loop("i", var("low"), var("high"), step)
    draft.assign(out[i + 4], 1)
    draft.declare(pg.GlobalArg("out", "int32", 20))
    given = np.zeros(20, np.int32)
    draft.kernel(assumptions="low >= -4 and high <= 16").executor("c")(
        out=given, low=low, high=high
    )
    assert np.flatnonzero(given).tolist() == [i + 4 for i in range(low, high, step)]


def test_bounds_may_be_minima_maxima_and_temporaries() -> None:
    draft = pg.Draft()
    i = draft.loop("i", 0, n)
    k = draft.loop("k", var("max")(i - 1, 0), var("min")(i + 2, n))
    draft.assign(out[i], sum_(k, a[k]))
    values = np.arange(6.0)
    _, (result,) = draft.kernel().executor("c")(a=values)
    padded = np.pad(values, 1)
    assert (result == padded[:-2] + padded[1:-1] + padded[2:]).all()

    draft = pg.Draft()
    i = draft.loop("i", 0, n)
    end = draft.temporary("end", "int32")
    k = draft.loop("k", 0, end)
    draft.assign(end, b[i])
    draft.assign(out[i], sum_(k, a[k]))
    draft.declare(pg.GlobalArg("a", shape="m"))
    ends = np.array([0, 3, 1], np.int32)
    _, (result,) = draft.kernel().executor("c")(a=values, b=ends)
    assert result.tolist() == [values[:e].sum() for e in ends]


# --- names


@pytest.mark.parametrize(
    "word",
    ["half", "global", "long", "new", "exp", "kernel", "min", "queue", "größe", "2x", "", "_"],
)
def test_any_name_can_be_had(word: str) -> None:
    draft = pg.Draft()
    names = [draft.name(word) for _ in range(3)]
    assert len(set(names)) == 3
    i = draft.loop(names[0], 0, var(names[1]))
    draft.assign(var(names[2])[i], 1)
    assert draft.kernel(target="c").inames == (i.name,)


def test_loops_get_names_of_their_own() -> None:
    draft = pg.Draft()
    draft.assign(out[0], var("i"))
    assert [draft.loop("i", 0, n).name for _ in range(2)] == ["i_0", "i_1"]
    assert draft.temporary("n").name == "n_0"


# --- errors


def test_a_draft_without_places_shows_the_lines_that_call() -> None:
    knl = _made()
    assert knl.location is not None
    assert knl.location.file == __file__
    (insn,) = knl.instructions
    assert insn.location is not None
    assert insn.location.line == knl.location.line - 1


def _made() -> pg.Kernel:
    draft = pg.Draft()
    draft.assign(out[0], 1)
    return draft.kernel()


def test_places_are_those_of_instructions_and_kernels() -> None:
    draft = pg.Draft(where=_at(1))
    i = draft.loop("i", 0, n, where=_at(2))
    draft.assign(out[i], a[i], where=_at(3))
    draft.assign(var("other")[i], a[i])
    knl = draft.kernel()
    assert [str(insn.location) for insn in knl.instructions] == ["model.py:3", "model.py:1"]
    assert str(knl.location) == "model.py:1"


def _refused(kind: type[errors.UserError], draw: Callable[[pg.Draft], object]) -> str:
    draft = pg.Draft(where=_at(1))
    with pytest.raises(kind) as info:
        draw(draft)
        draft.kernel()
    return str(info.value)


def _unfit_target(draft: pg.Draft) -> None:
    draft.assign(a[0] + 1, 1, where=_at(4))


def _slice(draft: pg.Draft) -> None:
    draft.assign(out[0], parse("a[1:2]"), where=_at(4))


def _no_iname(draft: pg.Draft) -> None:
    draft.assign(out[0], sum_(2, a[0]), where=_at(4))


def _too_few_operands(draft: pg.Draft) -> None:
    j = draft.loop("j", 0, n)
    draft.assign((out[0], out[1]), argmax(j, a[j]), where=_at(4))


def _cast(draft: pg.Draft) -> None:
    draft.assign(out[0], var("cast")(var("float32"), a[0]), where=_at(4))


def _curved(draft: pg.Draft) -> None:
    draft.loop("i", 0, n * n, where=_at(4))


def _backwards(draft: pg.Draft) -> None:
    draft.loop("i", 0, n, -1, where=_at(4))


def _unbounded(draft: pg.Draft) -> None:
    draft.domain("{ [i]: 0<=i }", where=_at(4))


def _twice(draft: pg.Draft) -> None:
    draft.loop("i", 0, n)
    draft.domain("{ [i]: 0<=i<n }", where=_at(4))


def _declared_twice(draft: pg.Draft) -> None:
    draft.declare(pg.GlobalArg("a"))
    draft.declare(pg.ValueArg("a"), where=_at(4))


def _no_type(draft: pg.Draft) -> None:
    draft.temporary("t", "float33", where=_at(4))


def _too_many(draft: pg.Draft) -> None:
    draft.assign((out[0], out[1]), (1, 2, 3), where=_at(4))


def _no_line(draft: pg.Draft) -> None:
    draft.line("if a[0] > 0", where=_at(4))


def _no_writer(draft: pg.Draft) -> None:
    draft.assign(out[0], 1, after="other", where=_at(4))


def _no_loop(draft: pg.Draft) -> None:
    draft.assign(out[0], 1, within="k", where=_at(4))


def _no_reduction_loop(draft: pg.Draft) -> None:
    draft.assign(out[0], sum_((var("k"),), a[var("k")]), where=_at(4))


def _same_id(draft: pg.Draft) -> None:
    draft.assign(out[0], 1, id="one", where=_at(3))
    draft.assign(out[1], 1, id="one", where=_at(4))


def _scalar(draft: pg.Draft) -> None:
    draft.assign(var("s"), 1, where=_at(4))


def _sets_a_loop(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    draft.assign(i, 1, where=_at(4))


def _circle(draft: pg.Draft) -> None:
    draft.assign(out[0], 1, id="p", after="q", where=_at(3))
    draft.assign(out[1], 1, id="q", after="p", where=_at(4))


def _outside(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    draft.declare(pg.GlobalArg("a", "float64", "n"))
    draft.assign(out[i], a[i + 1], where=_at(4))


def _unset(draft: pg.Draft) -> None:
    t = draft.temporary("t", "float64")
    draft.assign(out[0], t, where=_at(4))


def _axes(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    draft.declare(pg.GlobalArg("a", "float64", "n"))
    draft.assign(out[i], a[i, i], where=_at(4))


def _nested(draft: pg.Draft) -> None:
    i = draft.loop("i", 0, n)
    j = draft.loop("j", 0, i)
    draft.assign(out[j], 1, within=j, where=_at(4))


REFUSED: list[tuple[Callable[[pg.Draft], None], type[errors.UserError], int]] = [
    (_unfit_target, errors.InvalidArgument, 4),
    (_slice, errors.MalformedInstruction, 4),
    (_no_iname, errors.MalformedInstruction, 4),
    (_too_few_operands, errors.MalformedInstruction, 4),
    (_cast, errors.MalformedInstruction, 4),
    (_curved, errors.NonAffineDomain, 4),
    (_backwards, errors.InvalidArgument, 4),
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
    (_circle, errors.DependencyCycle, 1),
    (_outside, errors.IllFormedKernel, 4),
    (_unset, errors.IllFormedKernel, 4),
    (_axes, errors.UserError, 4),
    (_nested, errors.MalformedKernel, 4),
]


@pytest.mark.parametrize(("draw", "kind", "line"), REFUSED)
def test_errors_show_where_it_is_from(
    draw: Callable[[pg.Draft], None], kind: type[errors.UserError], line: int
) -> None:
    shown = _refused(kind, draw).splitlines()
    assert f"  at model.py:{line}" in shown


@pytest.mark.parametrize(
    "call",
    [
        lambda: pg.Draft(where="model.py:3"),  # type: ignore[arg-type]
        lambda: pg.Draft().name(3),  # type: ignore[arg-type]
        lambda: pg.Draft().loop("i", 0, "n"),  # type: ignore[arg-type]
        lambda: pg.Draft().loop("i", 0, n, 0.5),  # type: ignore[arg-type]
        lambda: pg.Draft().domain(3),  # type: ignore[arg-type]
        lambda: pg.Draft().declare("a"),  # type: ignore[arg-type]
        lambda: pg.Draft().temporary("t", space=3),  # type: ignore[call-arg]
        lambda: pg.Draft().assign(out[0], 1, after=3),  # type: ignore[arg-type]
        lambda: pg.Draft().assign(out[0], 1, atomic="yes"),  # type: ignore[arg-type]
        lambda: pg.Draft().line(3),  # type: ignore[arg-type]
        lambda: pg.Draft().kernel(names="k"),
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
