"""Small loop programs, as lowering would deliver them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.expression import (
    Comparison,
    Expression,
    FloorDiv,
    LogicalAnd,
    Min,
    Product,
    Subscript,
    Sum,
    Variable,
)
from polygen.ir.tags import GroupTag, LocalTag
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
)

F32, F64, INT32 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
N = ValueArg("n", INT32)


def var(name: str) -> Any:
    return Variable(name)


def at(name: str, index: Any) -> Any:
    return Subscript(Variable(name), index)


def store(name: str, index: Any, value: Any) -> Assign:
    return Assign(at(name, index), value, "insn")


def array(name: str, dtype: np.dtype[Any] = F32, *, may_alias: bool = False) -> GlobalArg:
    return GlobalArg(name, dtype, (var("n"),), may_alias=may_alias)


def program(
    name: str,
    arguments: tuple[Argument, ...],
    *host: HostNode,
    index_dtype: np.dtype[Any] = INT32,
    temporaries: tuple[TemporaryVariable, ...] = (),
    nonnegative: frozenset[str] = frozenset("in"),
) -> LoopProgram:
    dtypes = {a.name: a.dtype for a in arguments if a.dtype is not None}
    return LoopProgram(
        name=name,
        arguments=arguments,
        global_temporaries=temporaries,
        host=host,
        index_dtype=index_dtype,
        nonnegative=nonnegative,
        dtypes=dtypes | {"n": int},
    )


def one_launch(name: str, arguments: tuple[Argument, ...], *body: Any) -> LoopProgram:
    """Return a program of one launch without a grid."""
    return program(name, arguments, Launch(name, arguments, (), body))


def _split_guarded(axes: tuple[HardwareAxis, ...], block: Block) -> LoopProgram:
    arguments = (array("a"), array("out"), N)
    return program("twice", arguments, Launch("twice", arguments, axes, block))


def vector_add_grid() -> LoopProgram:
    n, index = var("n"), 128 * var("i_outer") + var("i_inner")
    body = store("out", index, 2 * at("a", index))
    return _split_guarded(
        (
            HardwareAxis(GroupTag(0), FloorDiv(n + 127, 128), (("i_outer", 0),)),
            HardwareAxis(LocalTag(0), 128, (("i_inner", 0),)),
        ),
        (If(Comparison(index, "<", n), (body,)),),
    )


def vector_add_loops() -> LoopProgram:
    n, index = var("n"), 128 * var("i") + var("j")
    inner = Loop("j", 0, Min((128, n - 128 * var("i"))), (store("out", index, 2 * at("a", index)),))
    return _split_guarded((), (Loop("i", 0, FloorDiv(n + 127, 128), (inner,), parallel=1),))


def transposed_sum() -> LoopProgram:
    """A tile in local memory, and an accumulator: out[i] = sum(j, a[i, j]) of a tile."""
    arguments = (array("a"), array("out", F64), N)
    i, j, k = var("i"), var("j"), var("k")
    body: Block = (
        Declare("acc", F64, initial=0),
        Loop(
            "k",
            0,
            FloorDiv(var("n"), 16),
            (
                Declare("tile", F32, 256, AddressSpace.LOCAL),
                store("tile", 16 * i + j, at("a", var("n") * (16 * k + i) + j)),
                Barrier(frozenset((AddressSpace.LOCAL, AddressSpace.GLOBAL))),
                Loop(
                    "m",
                    0,
                    16,
                    (Assign(var("acc"), var("acc") + at("tile", 16 * var("m") + i), "update"),),
                ),
                Barrier(frozenset((AddressSpace.LOCAL,))),
            ),
        ),
        If(Comparison(j, "==", 0), (store("out", i, var("acc")),)),
    )
    axes = (
        HardwareAxis(LocalTag(0), 16, (("j", 0),)),
        HardwareAxis(LocalTag(1), 16, (("i", 0),)),
        HardwareAxis(GroupTag(1), 1, (("g", 3),)),
    )
    return program("rows", arguments, Launch("rows", arguments, axes, body))


def time_steps() -> LoopProgram:
    """Two launches in a loop on the host, through a temporary in the device's memory."""
    a, steps, alpha = array("a", may_alias=True), ValueArg("steps", INT32), ValueArg("alpha", F32)
    old = TemporaryVariable("old", F32, (var("n"),), AddressSpace.GLOBAL)
    old_arg = GlobalArg("old", F32, (var("n"),))
    i, n, t = var("i"), var("n"), var("t")
    copy = Loop("i", 0, n, (store("old", i, at("a", i)),), parallel=1)
    curvature = Sum((at("old", i + 1), Product((-2, at("old", i))), at("old", i - 1)))
    change = Declare("change", F32, initial=curvature, constant=True)
    update = store("a", i, at("a", i) + var("alpha") * var("change"))
    relax = Loop("i", 1, n - 1, (change, update), parallel=1)
    odd = If(LogicalAnd((Comparison(t, ">=", 1), Comparison(n, ">", 2))), (relax,))
    host = HostLoop(
        "t",
        0,
        var("steps"),
        (
            Launch("step_0", (a, N, old_arg), (), (copy,)),
            Launch("step_1", (a, alpha, N, old_arg, ValueArg("t", INT32)), (), (odd,)),
        ),
    )
    return program("step", (a, steps, alpha, N), host, temporaries=(old,))


def fixed_size() -> LoopProgram:
    """Unrolled by hand, with an argument that is not used, and a step that is not 1."""
    arguments = (array("a"), array("out"), N)
    i = var("i")
    body = tuple(store("out", i + k, at("a", i + k) ** 2) for k in range(3))
    loop = Loop("i", 0, 96, body, step=3)
    collapsed = Loop(
        "p", 0, 8, (Loop("q", 0, 12, (store("out", 12 * var("p") + var("q"), 0),)),), parallel=2
    )
    return one_launch("fixed", arguments, collapsed, loop)


GOLDEN: Mapping[str, tuple[str, LoopProgram]] = {
    "vector_add.cl": ("opencl", vector_add_grid()),
    "vector_add.c": ("c", vector_add_loops()),
    "tile.cl": ("opencl", transposed_sum()),
    "time_steps.c": ("c", time_steps()),
    "time_steps.cl": ("opencl", time_steps()),
    "fixed_size.c": ("c", fixed_size()),
}

__all__ = ["GOLDEN", "Expression", "array", "at", "one_launch", "program", "store", "var"]
