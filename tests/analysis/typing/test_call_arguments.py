"""What calls of kernels give them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.call_arguments import (
    check_known,
    check_part_type,
    checked,
    declared_types,
    functions_of,
    given_by,
    inputs,
    linked,
    outputs,
    refusal,
    unknown_kernels,
)
from polygen.errors import (
    MalformedInstruction,
    NameTaken,
    ReservedName,
    TypeMismatch,
    UnknownFunction,
    UserError,
    WrongArity,
)
from polygen.ir import expression as ex
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

# Reads the number f and x, writes y, and adds to z.
SCALED = kernel(
    "{ [k]: 0<=k<4 }",
    "y[k] = f*x[k] {id=s}\nz[k] = z[k] + x[k] {id=t}",
    pg.GlobalArg("x, y, z", None, (4,)),
    pg.ValueArg("f", "float64"),
    name="scaled",
)
NAMES = ["x", "z", "f"]
F, A, B, C, INAME, J = (ex.Variable(name) for name in "fabcij")


def _call(arguments: tuple[ex.Expression, ...], results: tuple[ex.Expression, ...]) -> KernelCall:
    return KernelCall("scaled", arguments, results, id="call")


def _refuse(kind: type[UserError], what: str) -> UserError:
    return kind(what)


def _row(array: ex.Variable) -> ex.SubArrayRef:
    return ex.SubArrayRef(("j",), ex.element(array, (INAME, J)))


def _whole(array: ex.Variable) -> ex.SubArrayRef:
    return ex.SubArrayRef(("_0",), ex.element(array, (ex.Variable("_0"),)))


def test_what_a_kernel_takes_and_gives() -> None:
    assert sorted(a.name for a in inputs(SCALED)) == sorted(NAMES)
    assert [a.name for a in outputs(SCALED)] == ["y", "z"]
    nothing = pg.make_kernel([], [], [pg.GlobalArg("a", "float64", "4"), pg.ValueArg("n", "int32")])
    assert [a.name for a in inputs(nothing)] == ["n"]
    assert outputs(nothing) == ()


def _arguments(**given: ex.Expression) -> tuple[ex.Expression, ...]:
    """Return what is given to x, z and f, in the order in which the kernel takes them."""
    return tuple(given[a.name] for a in inputs(SCALED))


def test_arrays_alone_become_all_of_their_elements() -> None:
    call = _call(_arguments(x=A, z=_row(B), f=ex.sum_of(F, 1)), (C, _row(B)))
    found = checked(call, SCALED, _refuse)
    given = given_by(found)
    assert found.callee is SCALED
    assert given.scalars == {"f": ex.sum_of(F, 1)}
    assert given.arrays == {"x": _whole(A), "y": _whole(C), "z": _row(B)}


def test_one_element_is_an_array_without_axes() -> None:
    knl = kernel([], "y = 2*x {id=s}", pg.GlobalArg("x, y", "float64", ()), name="scaled")
    found = given_by(checked(_call((ex.element(A, (INAME,)),), (B,)), knl, _refuse))
    assert found.arrays == {
        "x": ex.SubArrayRef((), ex.element(A, (INAME,))),
        "y": ex.SubArrayRef((), B),
    }
    assert found.scalars == {}


@pytest.mark.parametrize(
    ("given", "results", "kind", "what"),
    [
        (
            {"x": A, "z": B, "f": F},
            (C,),
            WrongArity,
            "kernel 'scaled' takes 2 assignees (y, z), and is given 1",
        ),
        ({"x": A, "z": B, "f": _row(A)}, (C, B), MalformedInstruction, "'f' is a number, and is"),
        (
            {"x": 3, "z": B, "f": F},
            (C, B),
            MalformedInstruction,
            "'x' is an array, and is given '3'",
        ),
        (
            {"x": ex.SubArrayRef(("i", "j"), ex.element(A, (INAME, J))), "z": B, "f": F},
            (C, B),
            MalformedInstruction,
            "'x' has 1 axes, and is given '[i, j]: a[i, j]', which has 2",
        ),
        (
            {"x": A, "z": B, "f": F},
            (C, A),
            MalformedInstruction,
            "'z' is read and written, and is given two parts of arrays",
        ),
    ],
)
def test_calls_that_do_not_fit(
    given: dict[str, ex.Expression],
    results: tuple[ex.Expression, ...],
    kind: type[UserError],
    what: str,
) -> None:
    with pytest.raises(kind) as error:
        checked(_call(_arguments(**given), results), SCALED, _refuse)
    assert what in error.value.what


def test_too_few_arguments() -> None:
    with pytest.raises(WrongArity, match=r"takes 3 arguments .* and is given 1"):
        checked(_call((A,), (C, B)), SCALED, _refuse)


HALVED = kernel(
    "{ [k]: 0<=k<4 }", "y[k] = x[k]/2 {id=s}", pg.GlobalArg("x, y", "float32", (4,)), name="halved"
)


def _caller(
    *data: pg.GlobalArg, text: str = "[j]: b[j] = halved([j]: a[j]) {id=call}", name: str = "p"
) -> Kernel:
    arrays = data or (pg.GlobalArg("a, b", None, (4,)),)
    with pg.without_proofs():
        return kernel("{ [i]: 0<=i<4 }", text, *arrays, name=name)


def _the_call(knl: Kernel) -> KernelCall:
    (call,) = knl.calls
    return call


def test_linking_calls_to_kernels() -> None:
    knl = _caller()
    assert unknown_kernels(knl) == {"halved"}
    with pytest.raises(UnknownFunction, match="'p' calls 'halved', and nothing says what that is"):
        check_known(knl)
    assert linked(knl, {"other": SCALED}) is knl
    found = linked(knl, {"halved": HALVED, "other": SCALED})
    assert _the_call(found).callee == HALVED
    assert unknown_kernels(found) == frozenset()
    check_known(found)
    assert linked(found, {"halved": HALVED}) is found
    # The arrays have the types that the kernel declares.
    assert {found.array(name).dtype for name in "ab"} == {np.dtype("float32")}
    assert list(declared_types(_the_call(found))) == [
        (part, np.dtype("float32")) for part in given_by(_the_call(found)).arrays.values()
    ]
    assert list(declared_types(_the_call(knl))) == []


def test_parts_of_another_type() -> None:
    single, double = np.dtype("float32"), np.dtype("float64")
    with pytest.raises(TypeMismatch, match=r"gives kernel 'halved' .*, of type 'float64', for an"):
        linked(_caller(pg.GlobalArg("a, b", "float64", (4,))), {"halved": HALVED})
    knl, part = _caller(), _whole(A)
    check_part_type(knl, _the_call(knl), part, None, single)
    check_part_type(knl, _the_call(knl), part, single, single)
    with pytest.raises(TypeMismatch):
        check_part_type(knl, _the_call(knl), part, double, single)


def test_names_that_something_else_has() -> None:
    for name in ("a", "i", "real"):
        with pytest.raises(NameTaken, match=f"'{name}' is a kernel, and something else"):
            linked(_caller(), {"halved": HALVED, name: HALVED})
    with pytest.raises(ReservedName):
        linked(_caller(), {"halved": HALVED, "sin": HALVED})
    with pytest.raises(NameTaken, match="there are two kernels 'halved' in kernel 'halved'"):
        linked(_caller(name="halved"), {"halved": HALVED})


def test_an_error_shows_the_call() -> None:
    knl = _caller()
    error = refusal(knl, _the_call(knl))(WrongArity, "why")
    assert isinstance(error, WrongArity)
    assert (error.what, error.where) == ("why", _the_call(knl).location)
    assert "halved(" in (error.excerpt or "")
    assert error.remedy is not None


def test_kernels_that_calls_go_through() -> None:
    outer = kernel(
        [],
        "[j]: y[j] = halved([j]: x[j]) {id=call}",
        pg.GlobalArg("x, y", None, (4,)),
        name="outer",
    )
    knl = _caller(text="[j]: b[j] = outer([j]: a[j]) {id=call}")
    assert unknown_kernels(linked(knl, {"outer": outer})) == {"halved"}
    inner = linked(outer, {"halved": HALVED})
    found = linked(knl, {"outer": inner})
    assert unknown_kernels(found) == frozenset()
    # Functions are made of calls that have parts: none has before code is made.
    assert list(functions_of(found)) == []
    parts = HALVED.instructions
    made = _the_call(inner).copy(parts=parts)
    inner = inner.copy(instructions=(made,))
    made = _the_call(found).copy(callee=inner, parts=parts)
    called = found.copy(instructions=(made, made.copy(id="again")))
    assert list(functions_of(called)) == [HALVED, inner]
