"""Calls of kernels, and programs, that have to be rejected, each with its reason and its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.errors import UserError

ARRAYS = [pg.GlobalArg(name, None, "n, n") for name in ("a", "b")]
VECTORS = [pg.GlobalArg(name, None, "n") for name in ("u", "v")]
SCALE = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"], name="scale")
BOTH = pg.make_function(
    "{ [k]: 0<=k<m }", "y[k], z[k] = x[k], -x[k]", ["m", "x", "y", "z"], name="both"
)
SWAP = pg.make_function("{ [k]: 0<=k<m }", "x[k], y[k] = y[k], x[k]", ["m", "x", "y"], name="swap")
SQUARES = pg.make_function(
    "{ [p, q]: 0<=p<m and 0<=q<m }",
    "y[p, q] = x[p, q]**2",
    ["m", "x", "y"],
    name="squares",
    silenced_warnings="AmbiguousNesting",
)
POSITIVE = pg.make_function(
    "{ [k]: 0<=k<m }", "y[k] = x[k]", ["m", "x", "y"], name="positive", assumptions="m >= 1"
)
FIRST = pg.make_function(
    "{ : }", "q = 2*p", [pg.GlobalArg(x, shape=()) for x in "pq"], name="first"
)
KERNELS = {k.name: k for k in (SCALE, BOTH, SWAP, SQUARES, POSITIVE, FIRST)}

PROGRAMS: list[tuple[str, type[UserError], str]] = [
    # --- how many
    ("[j]: b[i,j] = scale(n, [j]: a[i,j])", errors.WrongArity, "takes 3 arguments (m, s, x)"),
    ("[j]: b[i,j] = scale(n, 1, 2, [j]: a[i,j])", errors.WrongArity, "and is given 4"),
    ("[j]: b[i,j] = scale()", errors.WrongArity, "and is given 0"),
    ("[j]: b[i,j] = both(n, [j]: a[i,j])", errors.WrongArity, "takes 2 assignees (y, z)"),
    ("[j]: b[i,j], [j]: u[j] = scale(n, 1, [j]: a[i,j])", errors.WrongArity, "1 assignee (y)"),
    # --- of which form
    ("[j]: b[i,j] = scale(n, [j]: a[i,j], 1)", errors.MalformedInstruction, "'s' is a number"),
    ("[j]: b[i,j] = scale(n, 1, a[i,0])", errors.MalformedInstruction, "is given 'a[i, 0]'"),
    ("b[i,0] = scale(n, 1, [j]: a[i,j])", errors.MalformedInstruction, "'y' is an array"),
    ("[j]: b[i,j] = squares(n, [j]: a[i,j])", errors.MalformedInstruction, "has 2 axes"),
    ("[j,k]: b[j,k] = scale(n, 1, u)", errors.MalformedInstruction, "which has 2"),
    ("[j]: b[i,j] = scale(n, 1, a)", errors.MalformedKernel, "uses 'a' with 1 subscripts"),
    ("[j]: b[j] = scale(n, 1, u)", errors.MalformedKernel, "'b' with 1 subscripts; it has 2"),
    ("[j]: b[i,j] = 1 + scale(n, 1, u)", errors.MalformedInstruction, "a part of an array"),
    ("[j]: b[i,j] += scale(n, 1, u)", errors.MalformedInstruction, "a part of an array"),
    ("[j]: b[i,j] = scale(n, 1, u) {atomic}", errors.MalformedInstruction, "assigns parts"),
    ("<>[j]: t[j] = scale(n, 1, u)", errors.MalformedInstruction, "found"),
    ("[j]: u[j], [j]: b[i,j] = swap(n, u, v)", errors.MalformedInstruction, "given two parts"),
    ("u[i] = first(i)", errors.MalformedInstruction, "'p' is an array, and is given 'i', a number"),
    ("u[i] = first(n)", errors.MalformedInstruction, "'p' is an array, and is given 'n', a number"),
    ("u[i] = first(2*v[i])", errors.MalformedInstruction, "'p' is an array"),
    ("u[i] = v[i] + [j]: a[i,j]", errors.MalformedInstruction, "found"),
    # --- names
    ("[j]: b[i,j] = scale(n, q[i], u) {dep=none}", errors.UnknownInstruction, "no instruction"),
    ("[j]: b[i,j] = scale(n, 1, [j]: a[h,j])", errors.OutOfBounds, "for h=-1"),
    # --- what they touch
    ("[j]: b[i,j] = scale(n+1, 1, u)", errors.OutOfBounds, "u"),
    ("[j]: b[i,j+1] = scale(n, 1, u)", errors.OutOfBounds, "b"),
    ("[j]: b[i,j] = scale(n, 1, [j]: a[i,j-1])", errors.OutOfBounds, "a"),
    ("[j]: b[j,j] = squares(n, a)", errors.MalformedInstruction, "has 2 axes"),
    ("[j,k]: b[j+k,0] = squares(n, a)", errors.OverlappingParts, "twice"),
    ("[j]: b[i,0] = scale(n, 1, u)", errors.OverlappingParts, "has 'b[0, 0]' twice"),
    ("[j]: a[i,j] = scale(n, 1, [j]: a[i,j])", errors.OverlappingParts, "is in both"),
    ("[j]: a[i,j] = scale(n, 1, [j]: a[i,n-1-j])", errors.OverlappingParts, "is in both"),
    ("[j]: a[i,j] = scale(n, 1, [j]: a[j,i])", errors.OverlappingParts, "where i=0, n=1"),
    ("[j]: b[i,j], [j]: b[i,j] = both(n, u)", errors.OverlappingParts, "is in both"),
    # --- numbers
    ("[j]: b[i,j] = positive(i, u)", errors.CallAssumption, "m=0 (where i=0, n=1)"),
    ("[j]: b[i,j] = positive(n-1, u)", errors.CallAssumption, "m > 0"),
    ("[j]: b[i,j] = scale(i*i, 1, u)", errors.MalformedInstruction, "no affine function"),
    ("[j]: b[i,j] = scale(w[i], 1, u)", errors.MalformedInstruction, "would end at 'w[i]'"),
]


def made(text: str) -> pg.Kernel:
    """Return a kernel with these instructions."""
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        text,
        [*ARRAYS, *VECTORS, "..."],
        functions=KERNELS,
        silenced_warnings="AmbiguousNesting",
    )


@pytest.mark.parametrize(("text", "kind", "reason"), PROGRAMS)
def test_refused(text: str, kind: type[UserError], reason: str) -> None:
    with pytest.raises(kind) as caught:
        made(text)
    assert reason in caught.value.what
    assert "test_programs.py" in str(caught.value.where)
    assert caught.value.excerpt


def test_what_is_right_is_not_refused() -> None:
    for text in (
        "[j]: a[i,j] = scale(i, 1, [j]: a[i,j+i])  {if=2*i <= n}",  # the lower half, from the upper
        "[j]: a[0,j] = scale(n, 1, [j]: a[1,j])  {if=n > 1, inames=}",
        "[j]: b[i,j] = positive(i, u)  {if=i > 0}",
        "[j]: b[i,j] = scale(n, i, [j]: a[i,0])",  # one element, read often
        "[j]: a[i,j], [j]: b[i,j] = swap(n, [j]: a[i,j], [j]: b[i,j])",
    ):
        made(text)


def rows(name: str, function: str) -> pg.Kernel:
    """Return a kernel that calls another one, which it does not know."""
    return pg.make_kernel(
        "{ [i]: 0<=i<n }", f"[j]: b[i,j] = {function}(n, [j]: a[i,j])", [*ARRAYS, "..."], name=name
    )


TOGETHER: list[tuple[Callable[[], Any], type[UserError], str]] = [
    (lambda: pg.merge([rows("f", "f")]), errors.CallCycle, "'f' calls 'f'"),
    (
        lambda: pg.merge([rows("f", "g"), rows("g", "h"), rows("h", "f"), rows("top", "f")]),
        errors.CallCycle,
        "calls each other in a circle: ".replace("calls", "call", 1),
    ),
    (lambda: pg.merge([rows("f", "g"), rows("f", "h")]), errors.NameTaken, "two kernels 'f'"),
    (lambda: pg.merge([rows("f", "scale"), SCALE]), errors.WrongArity, "takes 3 arguments"),
    (lambda: pg.merge([rows("f", "squares"), SQUARES]), errors.MalformedInstruction, "2 axes"),
    (
        lambda: pg.make_kernel(
            "{ : }", "[i]: v[i] = f([i]: u[i])", VECTORS, functions={"f; }": SCALE}
        ),
        errors.ReservedName,
        "'f; }' is no identifier",
    ),
    (
        lambda: pg.make_kernel(
            "{ : }", "[i]: v[i] = u(n, 1, [i]: u[i])", [*VECTORS, "n"], functions={"u": SCALE}
        ),
        errors.NameTaken,
        "'u' is a kernel, and something else",
    ),
    (
        lambda: pg.make_kernel("{ : }", "v = exp(u)", VECTORS, functions={"exp": SCALE}),
        errors.ReservedName,
        "'exp' has a meaning",
    ),
    (lambda: pg.merge([1]), errors.InvalidArgument, "merge was given 1"),
    (lambda: pg.merge([SCALE]).with_entrypoints(3), errors.UnknownFunction, "no kernel '3'"),  # type: ignore[arg-type]
    (lambda: pg.merge([SCALE]).with_kernel(1), errors.InvalidArgument, "was given 1"),  # type: ignore[arg-type]
    (
        lambda: pg.split_iname(pg.merge([SWAP, SCALE]), "k", 2),
        errors.InvalidArgument,
        "split_iname was called on a program with 2 entry points: 'scale', 'swap'",
    ),
    (
        lambda: pg.split_iname(pg.merge([SCALE]).with_entrypoints([]), "k", 2),
        errors.InvalidArgument,
        "split_iname was called on a program with 0 entry points",
    ),
    (lambda: pg.generate_code(pg.merge([SCALE, SWAP])), errors.InvalidArgument, "2 entry points"),
    (lambda: pg.merge([rows("f", "g")])["g"], errors.UnknownFunction, "no kernel 'g'"),
    (
        lambda: pg.merge([rows("f", "g")]).with_entrypoints("g"),
        errors.UnknownFunction,
        "no kernel 'g'",
    ),
    (lambda: pg.merge([SCALE, SWAP]).default_entrypoint, errors.InvalidArgument, "2 entry points"),
    (lambda: pg.merge([]).default_entrypoint, errors.InvalidArgument, "0 entry points"),
    (
        lambda: pg.inline_callable_kernel(rows("f", "g"), "g"),
        errors.UnknownFunction,
        "no kernel 'g' that is known",
    ),
    (
        lambda: pg.inline_callable_kernel(made("[j]: b[i,j] = scale(n, i, u)"), "scal"),
        errors.UnknownFunction,
        "calls no kernel 'scal'",
    ),
    (
        lambda: rows("f", "g").executor("c")(a=np.zeros((1, 1))),
        errors.UnknownFunction,
        "nothing says what that is",
    ),
    (
        lambda: pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", "[j]: q[j] = f([j]: r[i, j])")),
        errors.UnknownFunction,
        "calls 'f', and nothing says what that is",
    ),
    (
        lambda: pg.parse_program(str(SCALE)),
        errors.MalformedText,
        "no line with the names of entry points",
    ),
    (
        lambda: pg.parse_program("ENTRY POINTS: main\n" + str(SCALE)),
        errors.UnknownFunction,
        "no kernel 'main'",
    ),
    (lambda: pg.parse_program(3), errors.InvalidArgument, "parse_program was given 3"),
]


@pytest.mark.parametrize(
    ("make", "kind", "reason"), TOGETHER, ids=[f"{n}" for n in range(len(TOGETHER))]
)
def test_programs(make: Callable[[], Any], kind: type[UserError], reason: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert reason in caught.value.what


SINGLE = [pg.GlobalArg("x", np.float32, "m"), pg.GlobalArg("y", np.float32, "m")]
DECLARED = pg.make_function(
    "{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", pg.ValueArg("s", np.int32), *SINGLE], name="f"
)
WRONG_TYPES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "[j]: b[i,j] = f(n, 1, [j]: a[i,j])",
        {"a": np.float64},
        {},
        "of type 'float64', for an array",
    ),
    ("[j]: b[i,j] = f(n, 1, [j]: a[i,j])", {"b": np.int8}, {}, "'[j]: b[i, j]', of type 'int8'"),
    ("[j]: b[i,j] = f(n, 1.5, [j]: a[i,j])", {}, {}, "gives '1.5', of type 'float', for 's'"),
    ("[j]: b[i,j] = f(n, q, [j]: a[i,j])", {}, {"q": np.float32}, "of type 'float32', for 's'"),
    ("[j]: b[i,j] = f(n, a[i,0], [j]: a[i,j])", {}, {}, "gives 'a[i, 0]', of type 'float32'"),
    (
        "[j]: b[i,j] = f(q, 1, [j]: a[i,j]) {if=0}",
        {},
        {"q": np.float32},
        "bounds of loops, and what is assumed of sizes, are int",
    ),
]


@pytest.mark.parametrize(("text", "arrays", "scalars", "reason"), WRONG_TYPES)
def test_types(text: str, arrays: dict[str, Any], scalars: dict[str, Any], reason: str) -> None:
    data = [pg.GlobalArg(name, arrays.get(name), "n, n") for name in ("a", "b")]
    with pytest.raises(errors.TypeMismatch) as caught:
        knl = pg.make_kernel(
            "{ [i]: 0<=i<n }",
            text,
            [*data, "..."],
            functions={"f": DECLARED},
            assumptions="q <= n" if "f(q" in text else "",
        )
        pg.generate_code(pg.add_dtypes(knl, scalars) if scalars else knl, "c")
    assert reason in str(caught.value)


def test_types_come_from_what_is_called() -> None:
    data = [pg.GlobalArg(name, None, "n, n") for name in ("a", "b")]
    text = "[j]: b[i,j] = f(n, 2, [j]: a[i,j])"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."], functions={"f": DECLARED})
    assert [a.dtype for a in knl.arguments[:2]] == [np.float32, np.float32]
    with pytest.raises(errors.WrongArgumentType, match="has it as float32"):
        knl(a=np.zeros((2, 2)))


def test_a_circle_is_named() -> None:
    with pytest.raises(errors.CallCycle) as caught:
        pg.merge([rows("f", "g"), rows("g", "h"), rows("h", "f"), rows("top", "f")])
    said = caught.value.what.partition(": ")[2].split(", ")
    assert sorted(said) == ["'f' calls 'g'", "'g' calls 'h'", "'h' calls 'f'"]
    assert "write a loop" in str(caught.value.remedy)
