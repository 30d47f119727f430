"""Each construct of the language, as text and by calls of a `Builder`: one kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import lark
import numpy as np
import pymbolic
import pytest

import polygen as pg
from polygen import errors

N, M = "{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"


class Draw:
    """A builder with loops `i` and `j`, and arrays that are declared as they are asked for.

    Attributes:
        b: the builder.
        i, j: the loops.
        declared: the arrays.
    """

    def __init__(self) -> None:
        self.b = pg.Builder()
        (self.i,) = self.b.domain(N)
        (self.j,) = self.b.domain(M)
        self.declared: list[Any] = []
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return self[name, None]

    def __getitem__(self, asked: tuple[str, Any]) -> Any:
        name, shape = asked
        if name not in self._known:
            self.declared.append(pg.GlobalArg(name, "float64", shape))
            self._known[name] = self.b.declare(self.declared[-1])
        return self._known[name]


Case = tuple[str, str, Callable[[Draw], object], dict[str, Any]]


def _variable(name: str) -> Any:
    return pymbolic.var(name)


def _options(d: Draw) -> None:
    b, i = d.b, d.i
    b.assign(d.x[i], 1, id="first", within=i, tags=["t"])
    with b.options(
        tags=["u"], priority=-2, groups="g", id_prefix="load", after_query="writes:x", after="*"
    ):
        b.assign(d.y[i], 2)
    with b.options(conflicts=["g"], no_sync={"first": "local"}, no_sync_query=("tag:u", "global")):
        b.assign(d.z[i], d.x[i], after="first", when=i > 1)


def _related(d: Draw) -> None:
    b, i = d.b, d.i
    b.assign(d.x[i], 1, id="p", after="*")
    b.assign(d.y[i], d.x[i], after={"*": None, "p": "{ [i] -> [i'] : i' = i }"})


def _queries(d: Draw) -> None:
    d.b.assign(d.x[d.i], 1, id="p")
    with d.b.options(no_sync="p", no_sync_query="id:p"):
        d.b.assign(d.x[d.i], d.x[d.i] + 1, after="p")


def _duplicated(d: Draw) -> None:
    d.b.assign(d.x[d.i], 1)
    with d.b.options(duplicates={d.i: "k"}):
        d.b.assign(d.y[d.i], 2)


def _marks(d: Draw) -> None:
    b, i = d.b, d.i
    b.assign(d.x[i], 1, id="p")
    b.barrier(id="l", after="p", within=i)
    b.barrier("global", id="g", after="l", within=i)
    b.nop(id="n", after="g", within=i, tags="t")
    with b.options(tags="u"):
        b.nop(after="n", within=i, when=b.not_(i > 3))


def _rules(d: Draw) -> None:
    b, i = d.b, d.i
    f = b.rule("f", "a", lambda a: a * d.x[a] + i)
    none = b.rule("none", (), d.x[0])
    b.assign(d.y[i], f(i) + f.tagged("other")(2 * i) + f(3, i=i + 1) + none())


def _code(d: Draw) -> None:
    d.b.code(
        "out[k] = x[i];",
        {"i": d.i, "k": 2 * d.i},
        reads=d["x", "n"],
        writes=d["out", "2*n"],
        within=d.i,
    )


def _fetches(d: Draw) -> None:
    old = d.b.temporary("old")
    d.b.assign(old, d.b.call("fetch_add", d.h[d.i % 3], d.x[d.i]), within=d.i)
    d.b.assign(d.y[d.i], old)


def _library(d: Draw) -> None:
    b = d.b
    c = d["c", "n, n"]
    given = b.library("gemm", d["a", "n, n"], c, alpha=2, trans_a="T", beta=1)
    assert b.assign(c, given) == "gemm"
    b.assign(
        b.part("k", lambda k: d["v", "n"][k]),
        b.library("gemv", d.a, d["w", "n"], m=_variable("n"), n=_variable("n")),
    )


def _pairs(d: Draw) -> None:
    b, j = d.b, d.j
    s, t = b.temporary("s"), b.temporary("t")
    b.assign((s, t), b.reduce("segmented(sum)", j, d.x[j], j == 3))
    b.assign(d.y[0], b.reduce("compensated(sum)", j, d.x[j]) + s + t)
    b.assign(d.y[1], b.reduce("argmax", j, d.x[j], j)[0] + b.reduce("sum", j, 2 * j, dtype="int32"))
    pair = b.reduce("rescaled(max)", j, d.x[j], d.z[j])
    b.assign(d.y[2], pair[1] + b.reduce("segmented(sum)", j, d.x[j], j == 2)[0])
    b.assign(d.y[3], b.reduce("sum", j, j, dtype="operand"))
    b.assign(d.y[4], b.reduce("compensated(sum)", j, d.x[j], dtype="float32"))
    b.assign(d.y[5], b.reduce("segmented(sum)", j, d.x[j], j == 2, dtype="float32")[0])


def _conditions(d: Draw) -> None:
    b, x, i = d.b, d.x, d.i
    either = b.or_(b.and_(x[i] > 0, b.not_(x[i] > 1)), i == 3)
    b.assign(d.y[i], b.where(either, b.call("float32", x[i]), x[i] / 2))
    b.assign(d.z[i], b.where(i >= 2, (i << 2 >> 1) | 1 & i ^ ~i, -i // 2 % 3))


def _linear(d: Draw) -> None:
    p = d["p", "n, m"]
    d.b.assign(d.b.linear(p, _variable("m") * d.i + d.j), 1, within=(d.i, d.j))


def _blocks(d: Draw) -> None:
    b, x, i = d.b, d.x, d.i
    with i:
        with b.when(x[i] > 0):
            d.y[i] = 1
        with b.otherwise(x[i] < -1):
            d.y[i] = 2
        with b.otherwise():
            d.y[i] = 2j + True * x[i] ** 2


def _ended(d: Draw) -> None:
    b, x = d.b, d.x
    with b.loop("t", 0, while_=x[0] > 1) as t:
        x[0] = x[0] / 2
        b.break_(x[0] < 3)
        with b.when(t > 9):
            b.break_()


def _numbers(d: Draw) -> None:
    b, i = d.b, d.i
    typed = np.float32(1.5) * i - 1 + 0x10 + np.float64(2) + np.complex64(3j)
    b.assign((d.y[i], d.z[i]), (2.5, typed), atomic=None)
    x, place = d.x, d["count", "n"]
    b.assign(x[i], x[i] + place[i], atomic=pg.Atomicity(), after="*")
    b.assign(d.w[i], b.call("float32", i) + b.call("min", x[i], 3) + b.where(True, i, False))


def _copied(d: Draw) -> None:
    local = pg.TemporaryVariable("t", "float64", 16, pg.AddressSpace.LOCAL)
    d.declared.append(local)
    k = d.b.loop("k", 0, 16)
    d.b.assign(d.b.declare(local)[k], d["x", 16][k], asynchronous=True)


def _called(d: Draw) -> None:
    b = d.b
    twice = b.function("twice", _TWICE)
    assert (
        b.assign(
            b.part("k", lambda k: d["o", "n, 3"][d.i, k]),
            twice(b.part("k", lambda k: d["q", "n, 3"][d.i, k])),
        )
        == "twice"
    )


def _sliced(d: Draw) -> None:
    b, o, q = d.b, d["o", "n, 3"], d["q", "n, 7"]
    twice = b.function("twice", _TWICE)
    given = b.part("_0", lambda k: q[d.i, 2 * k + 1], {"_0": 3})
    b.assign(b.part("_0", lambda k: o[d.i, k]), twice(given))
    bounded = b.part("k", lambda k: q[d.i, k], {"k": 5})
    b.assign((), twice(bounded, b.part("k", lambda k: d["r", "n, 3"][d.i, k])))


def _vectors(d: Draw) -> None:
    b = d.b
    first, second = (b.temporary(f"v_s{n}", "uint32") for n in range(2))
    values = tuple(b.call("uint32", value) for value in (d.i, 3))
    b.assign((first, second), values)
    d.x[d.i] = first + second


_TWICE = pg.make_function("{ [k]: 0<=k<3 }", "y[k] = 2*x[k]", name="twice")

# Each the name, the lines, what says the same, and options of `make_kernel`.
CASES: list[Case] = [
    (
        "options",
        """
        x[i] = 1  {id=first, inames=i, tags=t}
        with {tags=u, priority=-2, groups=g, id_prefix=load, dep_query=writes:x, dep=*}
            y[i] = 2
        end
        with {conflicts=g, nosync=first@local, nosync_query=tag:u@global}
            z[i] = x[i]  {dep=first, if=i > 1}
        end
        """,
        _options,
        {},
    ),
    (
        "relations",
        """
        x[i] = 1     {id=p, dep=*}
        y[i] = x[i]  {dep=*p[{ [i] -> [i'] : i' = i }]}
        """,
        _related,
        {},
    ),
    (
        "queries",
        "x[i] = 1 {id=p}\nx[i] += 1 {dep=p, nosync=p, nosync_query=id:p}",
        _queries,
        {},
    ),
    ("duplicates", "x[i] = 1\ny[i] = 2 {dup=i->k}", _duplicated, {}),
    (
        "marks",
        """
        x[i] = 1          {id=p}
        ... lbarrier      {id=l, dep=p, inames=i, mem_kind=local}
        ... gbarrier      {id=g, dep=l, +inames=i}
        [i] ... nop       {id=n, dep=g, tags=t}
        ... nop           {tags=u, dep=n, if=not i > 3, inames=i}
        """,
        _marks,
        {},
    ),
    (
        "rules",
        """
        f(a) := a*x[a] + i
        none := x[0]
        y[i] = f(i) + f$other(2*i) + f(3, i=i + 1) + none
        """,
        _rules,
        {},
    ),
    (
        "code",
        '[i] ... code(i, k=2*i) "out[k] = x[i];" reads(x) writes(out)',
        _code,
        {},
    ),
    ("fetches", "[i] <> old = fetch_add(h[i % 3], x[i])\ny[i] = old", _fetches, {}),
    (
        "libraries",
        """
        c = library("gemm", a, c, alpha=2, trans_a="T", beta=1)
        [k]: v[k] = library("gemv", a, w, m=n, n=n)
        """,
        _library,
        {},
    ),
    (
        "pairs",
        """
        <> s, <> t = segmented(sum)(j, x[j], j == 3)
        y[0] = compensated(sum)(j, x[j]) + s + t
        y[1] = argmax(j, x[j], j)[0] + sum<int32>((j,), 2*j)
        y[2] = rescaled(max)(j, x[j], z[j])[1] + segmented(sum)(j, x[j], j == 2)[0]
        y[3] = sum<operand>([j], j)
        y[4] = compensated(sum)<float32>(j, x[j])
        y[5] = segmented(sum)<float32>(j, x[j], j == 2)[0]
        """,
        _pairs,
        {"assumptions": "m >= 1"},
    ),
    (
        "conditions",
        """
        y[i] = cast(np.float32, x[i]) if x[i] > 0 and not x[i] > 1 or i == 3 else x[i]/2
        z[i] = if(i >= 2, i << 2 >> 1 | 1 & i ^ ~i, -i // 2 % 3)
        """,
        _conditions,
        {},
    ),
    ("linear subscripts", "[i, j] p[[m*i + j]] = 1", _linear, {}),
    (
        "blocks",
        """
        for i
            if x[i] > 0
                y[i] = 1
            elif x[i] < -1
                y[i] = 2
            else
                y[i] = 2j + True*x[i]**2
            end
        end
        """,
        _blocks,
        {"seq_dependencies": True},
    ),
    (
        "loops that end",
        """
        for t while x[0] > 1
            x[0] = x[0]/2
            break if x[0] < 3
            if t > 9
                break
            end
        end
        """,
        _ended,
        {"seq_dependencies": True},
    ),
    (
        "numbers",
        """
        y[i], z[i] = 2.5, 1.5f*i - 1 + +0x10 + 2d + 3jf
        x[i] += count[i]  {atomic, dep=*}
        w[i] = np.float32(i) + min(x[i], 3) + if(True, i, False)
        """,
        _numbers,
        {},
    ),
    ("copies", "t[k] = x[k]  {asynchronous}", _copied, {}),
    ("vectors", "<> v = make_uint2(i, 3)\nx[i] = v.s0 + v.y", _vectors, {}),
    (
        "slices",
        """
        o[i, :] = twice(q[i, 1:7:2])
        twice([k < 5]: q[i, k], [k]: r[i, k])
        """,
        _sliced,
        {"functions": {"twice": _TWICE}},
    ),
    ("calls", "[k]: o[i, k] = twice([k]: q[i, k])", _called, {"functions": {"twice": _TWICE}}),
]
NAMES = [name for name, *_ in CASES]


@pytest.mark.parametrize(("name", "text", "draw", "options"), CASES, ids=NAMES)
def test_text_and_calls_make_one_kernel(
    name: str, text: str, draw: Callable[[Draw], object], options: dict[str, Any]
) -> None:
    drawn = Draw()
    draw(drawn)
    more = {k: v for k, v in options.items() if k != "functions"}
    own = {"loops that end": ["{ [t]: 0<=t }"], "copies": ["{ [k]: 0<=k<16 }"]}
    domains = [N, M, *own.get(name, [])]
    with pg.without_proofs():
        of_text = pg.make_kernel(domains, text, [*drawn.declared, "..."], **options)
        made = drawn.b.kernel(**more)
    assert str(made) == str(of_text)
    assert made == of_text


@cache
def _parser() -> lark.Lark:
    text = resources.files("polygen.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    start = ["instruction", "rule", "block"]
    return lark.Lark(text, parser="lalr", start=start, maybe_placeholders=False)


def _alternatives(line: str) -> set[str]:
    start = "rule" if ":=" in line else "instruction"
    if re.match(r"(if|elif|else|for|with|break|end)\b", line):
        start = "block"
    tree = _parser().parse(line, start=start)
    return {str(part.data) for part in tree.iter_subtrees()}


def test_all_of_the_grammar_is_said_by_calls() -> None:
    # Rules that begin with "?" are in no tree; their alternatives have names of their own.
    named = {r.alias or (None if r.options.expand1 else r.origin.name) for r in _parser().rules}
    wanted = {str(getattr(name, "value", name)) for name in named if name is not None}
    wanted = {name for name in wanted if not name.startswith("_")}
    lines = [line.strip() for _, text, *_ in CASES for line in text.splitlines() if line.strip()]
    assert wanted - set[str]().union(*map(_alternatives, lines)) == set()
    assert len(wanted) > 60


# --- what they compute


def test_functions_and_rules_compute_what_their_names_stand_for() -> None:
    b = pg.Builder()
    n = b.size("n")
    x, y, z = (b.array(name, "float64", (n, 3)) for name in "xyz")
    total = pg.Builder()
    row, out = total.array("row", None, (3,)), total.array("out", None, ())
    total.assign(out, total.sum("k", 0, 3, lambda k: row[k]))
    sums = b.function("exp", total.kernel())  # a name that kernels call already
    near = b.rule("near", ("i", "j"), lambda i, j: x[i, j] - x[j, i])
    with b.loop("i", 0, 3) as i, b.loop("j", 0, 3) as j:
        y[i, j] = near(i, j)
        b.assign(z[i, j], sums(b.part("k", lambda k: x[i, k])))
    knl = b.kernel(assumptions="n = 3")
    assert knl.inames == ("i", "j")
    assert sums.name != "exp"
    values = np.random.default_rng(0).random((3, 3))
    _, (first, second) = knl.executor("c")(x=values)
    np.testing.assert_allclose(first, values - values.T, rtol=1e-15)
    np.testing.assert_allclose(second, values.sum(axis=1)[:, None] * np.ones(3), rtol=1e-14)


def test_arguments_of_rules_are_no_arrays() -> None:
    b = pg.Builder()
    x = b.array("x", "int32", (4,))
    y = b.array("y", "int32", (4,))
    f = b.rule("f", "x", lambda at: x[at] + at)
    with b.loop("i", 0, 4) as i:
        y[i] = f(i)
    _, (result,) = b.kernel().executor("c")(x=np.arange(4, dtype=np.int32) ** 2)
    assert result.tolist() == [0, 2, 6, 12]


def test_atomic_fetches() -> None:
    b = pg.Builder()
    n = b.size("n")
    key, place = b.array("key", "int32", (n,)), b.array("place", "int32", (n,))
    counts = b.array("counts", "int32", (3,))
    with b.loop("i", 0, n) as i:
        b.assign(place[i], b.call("fetch_add", counts[key[i]], 1))
    keys, found = np.array([2, 0, 2, 2, 1], np.int32), np.zeros(3, np.int32)
    _, (first, *_) = b.kernel().executor("c")(key=keys, counts=found)
    assert found.tolist() == [1, 1, 3]
    assert first.tolist() == [0, 0, 1, 2, 0]


# --- what is refused

Call = Callable[[Any], object]
REFUSED: list[tuple[Call, type[errors.UserError], str]] = [
    (lambda b: b.barrier("all"), errors.InvalidArgument, "no barriers of the scope 'all'"),
    (lambda b: b.barrier(ids="a"), errors.InvalidArgument, "Builder.barrier has no argument 'ids'"),
    (lambda b: b.nop(atomic=True), errors.InvalidArgument, "Builder.nop has no argument 'atomic'"),
    (
        lambda b: b.code("x;", {"a b": 1}),
        errors.InvalidArgument,
        "'a b' cannot be a name in C",
    ),
    (
        lambda b: b.options(no_sync={"a": "cloud"}).__enter__(),
        errors.InvalidArgument,
        "'cloud' is no memory that work items wait because of",
    ),
    (lambda b: b.rule("f", 3, 1), errors.InvalidArgument, "3 is no name"),
    (lambda b: b.function("f", 3), errors.InvalidArgument, "Builder.function was given meaning=3"),
    (
        lambda b: b.reduce("max", b.loop("k", 0, 3), 1, dtype="operand"),
        errors.InvalidArgument,
        "max() is never wider than its operand",
    ),
    (
        lambda b: (b.assign(b.array("c"), b.library("gem", b.array("a"))), b.kernel()),
        errors.UserError,
        "'gem'",
    ),
    (
        lambda b: b.assign(b.array("c")[0], 2 * b.array("d")[0] + b.library("gemm")),
        errors.MalformedInstruction,
        'an instruction has what library("gemm", ...) returns in it',
    ),
]


@pytest.mark.parametrize(("call", "kind", "what"), REFUSED)
def test_what_is_refused(call: Call, kind: type[errors.UserError], what: str) -> None:
    with pytest.raises(kind) as info:
        call(pg.Builder())
    assert what in str(info.value)
    assert str(info.value.where).startswith(__file__)
