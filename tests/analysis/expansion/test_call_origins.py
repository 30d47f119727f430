"""Which call an instruction of an expanded kernel is a part of, and how that is said."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.analysis.expansion.call_origins import called_from, calls_of_parts
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

SQUARES = pg.make_function("{ [k]: 0<=k<3 }", "y[k] = x[k]**2  {id=square}", name="squares")
NORM = pg.make_function(
    "{ [k, l]: 0<=k,l<3 }",
    "[k]: s[k] = squares([k]: v[k])  {id=norm}\nr[l] = s[l] + 1  {id=add}",
    [
        pg.TemporaryVariable("s", np.float64, 3),
        pg.GlobalArg("v", np.float64, 3),
        pg.GlobalArg("r", np.float64, 3),
    ],
    name="unit",
    functions={"squares": SQUARES},
)


def rows() -> Kernel:
    """Return a kernel with a call that calls, one that does not, and an instruction."""
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        [q]: b[i, q] = unit([q]: a[i, q])         {id=rows}
        [q]: c[i, q] = squares([q]: a[i, q])      {id=again}
        d[i] = a[i, 0]                            {id=own}
        """,
        [pg.GlobalArg(x, np.float64, "n, 3") for x in ("a", "b", "c")] + ["..."],
        functions={"unit": NORM, "squares": SQUARES},
    )


def test_each_part_has_its_call() -> None:
    knl = rows()
    found = calls_of_parts(knl)
    ids = [insn.id for insn in knl.expanded.instructions]
    assert [found[i].id if i in found else None for i in ids] == ["rows", "rows", "again", None]
    for part, call in found.items():
        assert call is knl.instruction(call.id)
        assert part.startswith(call.id)


def test_calls_in_calls_are_named_from_inside() -> None:
    knl = rows()
    assert [called_from(knl, insn.id) for insn in knl.expanded.instructions] == [
        "'square' of kernel 'squares', in the call 'norm' of kernel 'unit', in the call 'rows'",
        "'add' of kernel 'unit', in the call 'rows'",
        "'square' of kernel 'squares', in the call 'again'",
        "",
    ]


def test_no_call_no_origin() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "f(x) := a[x]\nb[i] = f(i)  {id=b}")
    assert calls_of_parts(knl) == {}
    assert called_from(knl, "b") == ""


def test_inlined_instructions_are_their_own() -> None:
    knl = pg.inline_callable_kernel(rows(), "unit")
    texts = [called_from(knl, insn.id) for insn in knl.expanded.instructions]
    assert texts == ["", "", "'square' of kernel 'squares', in the call 'again'", ""]
    assert {call.id for call in calls_of_parts(knl).values()} == {"again"}
