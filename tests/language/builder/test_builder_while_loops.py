"""Loops that conditions end, made by a `Builder`: the text's kernels, results, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.ir import expression as ex
from polygen.language.handles import Handle

x, y, out, n = (Handle(ex.Variable(name)) for name in ("x", "y", "out", "n"))
OPEN, LINE = "{ [t]: 0<=t }", "{ [t]: 0<=t<n }"


def _while(b: pg.Builder) -> None:
    with b.loop("t", 0, while_=b.where(x[0] > y[0], x[0], y[0]) > n):
        b.assign(x[0], x[0] / 2)
        b.assign(y[0], y[0] - 1)


def _while_with_an_end(b: pg.Builder) -> None:
    with b.loop("t", 0, n, while_=lambda t: y[t] > 0) as t:
        b.assign(out[t], y[t])


def _break(b: pg.Builder) -> None:
    with b.loop("t", 0, n) as t:
        b.assign(out[t], x[t])
        b.break_(b.call("abs", x[t]) < 1, t > 2)
        b.assign(y[t], x[t])


def _break_in_branches(b: pg.Builder) -> None:
    with b.loop("t", 0, while_=b.call("abs", x[0]) > 1) as t:
        with b.when(t > 3):
            b.break_(y[0] > 0)
        with b.otherwise(t > 2):
            b.break_()
        b.assign(x[0], x[0] / 2)


def _break_without_an_end(b: pg.Builder) -> None:
    with b.loop("t", 0):
        b.assign(x[0], x[0] / 2)
        b.break_(b.call("abs", x[0]) < 1)


def _nested(b: pg.Builder) -> None:
    t_runs = b.temporary("t_runs", "float64")
    with b.loop("i", 0, n) as i, b.when(y[i] > 0):
        b.assign(t_runs, x[i])
        with b.loop("t", 3, None, 2, while_=t_runs > 1):
            b.assign(t_runs, t_runs / 2)
            with b.loop("j", 0, n) as j:
                b.break_(y[j] > 2)
                b.assign(out[i], out[i] + y[j])
        b.break_(out[i] > 100)


def _named(b: pg.Builder) -> None:
    with b.loop("t", 0, while_=x[0] > 1):
        first = b.assign(x[0], x[0] / 2, id="t_begin")
        b.line("... nop {id=wait, dep=t_begin}")
        b.assign(y[0], x[0], after=("*", first))


SAME: list[tuple[Callable[[pg.Builder], None], Any, str, dict[str, Any]]] = [
    (
        _while,
        OPEN,
        "for t while if(x[0] > y[0], x[0], y[0]) > n\nx[0] = x[0]/2\ny[0] = y[0] - 1\nend",
        {"seq_dependencies": True},
    ),
    (_while_with_an_end, LINE, "for t while y[t] > 0\nout[t] = y[t]\nend", {}),
    (
        _break,
        LINE,
        "for t\nout[t] = x[t]\nbreak if abs(x[t]) < 1 and t > 2\ny[t] = x[t]\nend",
        {"seq_dependencies": True},
    ),
    (
        _break_in_branches,
        OPEN,
        "for t while abs(x[0]) > 1\nif t > 3\nbreak if y[0] > 0\nelif t > 2\nbreak\nend\n"
        "x[0] = x[0]/2\nend",
        {"seq_dependencies": True},
    ),
    (
        _break_without_an_end,
        OPEN,
        "for t\nx[0] = x[0]/2\nbreak if abs(x[0]) < 1\nend",
        {"seq_dependencies": True},
    ),
    (
        _nested,
        ["{ [i]: 0<=i<n }", "{ [t]: t >= 3 and t mod 2 = 1 }", "{ [j]: 0<=j<n }"],
        "for i\nif y[i] > 0\n<float64> t_runs = x[i]\nfor t while t_runs > 1\n"
        "t_runs = t_runs/2\nfor j\nbreak if y[j] > 2\nout[i] = out[i] + y[j]\nend\nend\n"
        "break if out[i] > 100\nend\nend",
        {"seq_dependencies": True, "loop_priority": "i, t, j"},
    ),
    (
        _named,
        OPEN,
        "for t while x[0] > 1\nx[0] = x[0]/2  {id=t_begin}\n... nop {id=wait, dep=t_begin}\n"
        "y[0] = x[0] {dep=*t_begin}\nend",
        {},
    ),
]


@pytest.mark.parametrize(("draw", "domains", "text", "options"), SAME)
def test_a_builder_makes_the_kernel_of_its_text(
    draw: Callable[[pg.Builder], None], domains: Any, text: str, options: dict[str, Any]
) -> None:
    builder = pg.Builder()
    draw(builder)
    made, of_text = builder.kernel(**options), pg.make_kernel(domains, text, **options)
    assert made == of_text
    assert str(made) == str(of_text)
    assert pg.parse_kernel(str(made)) == made
    assert builder.kernel(**options) == made  # it may be asked again


# --- results


def test_escape_times() -> None:
    b = pg.Builder()
    n, most = b.size("n"), b.size("most")
    cr, ci = b.array("cr", "float64", (n,)), b.array("ci", "float64", (n,))
    times = b.array("times", "int32", (n,))
    with b.loop("i", 0, n) as i:
        zr, zi, new = (b.temporary(like, "float64") for like in ("zr", "zi", "new"))
        b.assign((zr, zi), (0, 0))
        times[i] = 0
        with b.loop("t", 0, most, while_=zr * zr + zi * zi <= 4):
            b.assign(new, zr * zr - zi * zi + cr[i])
            b.assign(zi, 2 * zr * zi + ci[i])
            b.assign(zr, new)
            times[i] = times[i] + 1
    knl = b.kernel(seq_dependencies=True)
    rng = np.random.default_rng(1)
    points = rng.uniform(-2, 1, 31) + 1j * rng.uniform(-1.5, 1.5, 31)
    for count, limit in ((0, 5), (1, 0), (31, 40)):
        c = points[:count]
        given = {"cr": c.real.copy(), "ci": c.imag.copy(), "times": np.full(count, -1, np.int32)}
        _, (result,) = knl.executor("c")(**given, most=limit)
        assert result.tolist() == [_escape_time(point, limit) for point in c]


def _escape_time(c: complex, most: int) -> int:
    z, time = 0j, 0
    while time < most and z.real * z.real + z.imag * z.imag <= 4:
        z, time = complex(z.real * z.real - z.imag * z.imag, 2 * z.real * z.imag) + c, time + 1
    return time


def test_a_sweep_until_nothing_changes_much() -> None:
    """Neighbours in a row take their mean until the largest change of a sweep is small."""
    b = pg.Builder()
    n = b.size("n")
    u, v = b.array("u", "float64", (n,)), b.array("v", "float64", (n,))
    change, count = b.array("change", "float64", (1,)), b.array("count", "int64", (1,))
    with b.loop("t", 0) as t:
        change[0] = 0
        with b.loop("i", 1, n - 1) as i:
            v[i] = (u[i - 1] + u[i + 1]) / 2
            change[0] = b.call("max", change[0], b.call("abs", v[i] - u[i]))
        count[0] = t + 1
        with b.when(t >= 2):
            b.break_(change[0] < 1e-3)
        with b.loop("j", 1, n - 1) as j:
            u[j] = v[j]
    knl = b.kernel(assumptions="n >= 2", seq_dependencies=True)
    for size in (2, 3, 9):
        given = np.random.default_rng(size).random(size)
        expected, sweeps = given.copy(), 0
        while True:
            means = (expected[:-2] + expected[2:]) / 2
            sweeps += 1
            if sweeps > 2 and np.abs(means - expected[1:-1]).max(initial=0) < 1e-3:
                break
            expected[1:-1] = means
        assert sweeps >= 3
        arrays = {"u": given, "v": np.zeros(size), "change": np.ones(1)}
        _, results = knl.executor("c")(**arrays, count=np.zeros(1, np.int64))
        (result,) = [r for r in results if r is given]
        assert result.tolist() == expected.tolist()
        (found,) = [r for r in results if r.dtype == np.int64]
        assert found.tolist() == [sweeps]


def test_a_loop_that_counts_down_ends_early() -> None:
    """The last element that is not 0 is searched from the end."""
    b = pg.Builder()
    n = b.size("n")
    x, place = b.array("x", "float64", (n,)), b.array("place", "int64", (1,))
    place[0] = -1
    with b.loop("i", n - 1, -1, -1, while_=place[0] < 0) as i, b.when(x[i] != 0):
        place[0] = i
    knl = b.kernel(seq_dependencies=True)
    for values in ([], [0], [2], [0, 3, 0, 5, 0, 0]):
        _, (found,) = knl.executor("c")(x=np.array(values, float), place=np.zeros(1, np.int64))
        assert found.tolist() == [max((p for p, v in enumerate(values) if v), default=-1)]


def test_inner_bounds_that_data_decides() -> None:
    """Rows of a sparse matrix are summed, up to the first whose sum is above a limit."""
    b = pg.Builder()
    n, m = b.size("n"), b.size("m")
    starts, x = b.array("starts", "int32", (n + 1,)), b.array("x", "float64", (m,))
    sums = b.array("sums", "float64", (n,))
    with b.loop("i", 0, n) as i:
        b.break_(x[starts[i]] < 0)
        sums[i] = 0
        with b.loop("k", starts[i], starts[i + 1]) as k:
            sums[i] += x[k]
        b.break_(sums[i] > 10)
    knl = b.kernel(seq_dependencies=True)
    ends = np.array([0, 2, 2, 5, 6], np.int32)
    for values, expected in (
        ([1, 2, 3, 4, 5, 6], [3, 0, 12, -1]),
        ([1, 2, 3, 4, 1, 6], [3, 0, 8, 6]),
        ([1, 2, -3, 4, 1, 6], [3, -1, -1, -1]),
        ([-1, 2, 3, 4, 5, 6], [-1, -1, -1, -1]),
    ):
        _, (result,) = knl.executor("c")(starts=ends, x=np.array(values, float), sums=-np.ones(4))
        assert result.tolist() == expected


def test_kernels_on_all_targets() -> None:
    b = pg.Builder()
    n = b.size("n")
    a, root = b.array("a", "float64", (n,)), b.array("root", "float64", (n,))
    with b.loop("i", 0, n) as i:
        x = b.temporary("half", "float64")
        b.assign(x, a[i])
        with b.loop("t", 0, while_=b.call("abs", x * x - a[i]) > 1e-12 * a[i]):
            b.assign(x, (x + a[i] / x) / 2)
        root[i] = x
    knl = pg.tag_inames(b.kernel(seq_dependencies=True), {"i": "g.0"})
    assert "half_" in str(pg.generate_code(knl, "cuda"))
    given = np.array([4.0, 9.0, 2.0])
    for target in ("c", "opencl"):
        _, (result,) = knl.executor(target)(a=given)
        np.testing.assert_allclose(result, np.sqrt(given), rtol=1e-11)


# --- what is refused


def _break_outside(b: pg.Builder) -> None:
    with b.when(x[0] > 0):
        b.break_()


def _break_behind(b: pg.Builder) -> None:
    with b.loop("i", 0, n):
        pass
    b.break_(x[0] > 0)


def _endless(b: pg.Builder) -> None:
    with b.loop("t", 0):
        b.assign(x[0], 1)
    b.kernel()


def _never_opened(b: pg.Builder) -> None:
    t = b.loop("t", 0, n, while_=x[0] > 0)
    b.assign(out[t], 1)
    b.kernel()


def _opened_twice(b: pg.Builder) -> None:
    t = b.loop("t", 0, while_=x[0] > 0)
    for _ in range(2):
        with t:
            b.assign(x[0], x[0] - 1)


def _broken_when_opened_again(b: pg.Builder) -> None:
    t = b.loop("t", 0, n)
    with t:
        b.assign(x[t], 1)
    with t:
        b.break_(y[t] > 0)


def _opened_after_a_break(b: pg.Builder) -> None:
    t = b.loop("t", 0, n)
    with t:
        b.break_(y[t] > 0)
    with t:
        b.assign(x[t], 1)


def _reduced_before(b: pg.Builder) -> None:
    with b.loop("t", 0, n) as t:
        b.assign(out[0], b.sum(t, y[t]))
        b.break_(y[t] > 0)


def _reduced_behind(b: pg.Builder) -> None:
    with b.loop("t", 0, n, while_=lambda t: y[t] > 0) as t:
        b.assign(out[0], b.sum(t, y[t]))


def _reduced_by_a_break(b: pg.Builder) -> None:
    with b.loop("t", 0, n) as t:
        b.assign(out[t], 1)
        b.break_(b.sum(t, y[t]) > 0)
    b.kernel(seq_dependencies=True)


def _reduced_by_its_condition(b: pg.Builder) -> None:
    with b.loop("t", 0, n, while_=lambda t: b.sum(t, y[t]) > 0) as t:
        b.assign(out[t], 1)
    b.kernel(seq_dependencies=True)


def _behind_an_endless_loop(b: pg.Builder) -> None:
    with b.loop("t", 0, while_=x[0] > 1) as t:
        b.assign(x[0], x[0] / 2)
    b.assign(out[0], t)
    b.kernel(seq_dependencies=True)


REFUSED: list[tuple[Callable[[pg.Builder], None], type[errors.UserError], str]] = [
    (_break_outside, errors.InvalidArgument, "'break_' stands in no loop"),
    (_break_behind, errors.InvalidArgument, "'break_' stands in no loop"),
    (
        _endless,
        errors.UnboundedDomain,
        "the loop 't' has no upper bound, and no condition ends it",
    ),
    (
        _never_opened,
        errors.InvalidArgument,
        "the loop 't' goes on while a condition holds, and was never opened",
    ),
    (_opened_twice, errors.InvalidArgument, "a condition ends the loop 't', which is opened twice"),
    (_broken_when_opened_again, errors.InvalidArgument, "'t', which is opened twice"),
    (_opened_after_a_break, errors.InvalidArgument, "'t', which is opened twice"),
    (_reduced_before, errors.InvalidArgument, "an instruction inside reduces over it"),
    (_reduced_behind, errors.InvalidArgument, "an instruction inside reduces over it"),
    (
        _reduced_by_a_break,
        errors.MalformedKernel,
        "'t_break' reduces over 't', which it is also within",
    ),
    (
        _reduced_by_its_condition,
        errors.MalformedKernel,
        "'t_head' reduces over 't', which it is also within",
    ),
    (
        _behind_an_endless_loop,
        errors.EndlessLoop,
        "instruction 'insn_0' is in the loop of 't', which has no end but a condition",
    ),
]


@pytest.mark.parametrize(("draw", "kind", "what"), REFUSED)
def test_what_a_builder_refuses(
    draw: Callable[[pg.Builder], None], kind: type[errors.UserError], what: str
) -> None:
    with pytest.raises(kind) as info:
        draw(pg.Builder())
    assert what in str(info.value)
    assert str(info.value.where).startswith(__file__)


# --- places and names in errors


def _sums(b: pg.Builder, line: int) -> None:
    """Reduce over a loop where it begins, in line 5, or ends, in line 6; or let it go on."""
    half = b.array("half", "float64", (n,))

    def asked(loop: Any) -> Any:
        return b.sum(loop, half[loop]) > 0

    upper, while_ = (None if line == 7 else n), (asked if line == 5 else None)
    with b.loop("new", 0, upper, while_=while_, location=("model.py", 7 if line == 7 else 5)) as i:
        if line == 6:
            b.break_(asked(i), location=("model.py", 6))
        half[0] = 0
    b.kernel(seq_dependencies=True)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (5, "instruction 'new_head' reduces over 'new', which it is also within"),
        (6, "instruction 'new_break' reduces over 'new', which it is also within"),
        (7, "the loop 'new' has no upper bound, and no condition ends it"),
    ],
)
def test_errors_show_where_a_loop_or_its_end_is_from(line: int, what: str) -> None:
    with pytest.raises(errors.UserError) as info:
        _sums(pg.Builder(location=("model.py", 1)), line)
    assert str(info.value.where) == f"model.py:{line}"
    shown = str(info.value).replace("new__", "new_")
    assert what in shown
    assert shown.splitlines()[-1].startswith("  names: 'new' is new_")


def test_after_a_failed_block_a_loop_is_closed() -> None:
    b = pg.Builder()
    with pytest.raises(ZeroDivisionError), b.loop("t", 0, while_=x[0] > 1):
        _ = 1 / 0
    with b.loop("i", 0, n) as i:
        b.assign(out[i], 1)
    knl = b.kernel()
    assert not knl.instruction("insn").predicates


def test_kernels_are_made_inside_of_open_loops() -> None:
    b = pg.Builder()
    with b.loop("t", 0, while_=x[0] > 1):
        b.assign(x[0], x[0] / 2)
        first = b.kernel()
        b.assign(y[0], x[0])
    assert first == pg.make_kernel(OPEN, "for t while x[0] > 1\nx[0] = x[0]/2\nend")
    assert len(b.kernel().instructions) == 4
