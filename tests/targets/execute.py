"""Runs expressions as NumPy, as C and as OpenCL C, on the same arrays."""

from __future__ import annotations

import ctypes
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.kinds import default_dtype
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.expression import Expression, Subscript, Variable
from polygen.lower.program import Assign, Launch, Loop, LoopProgram
from polygen.targets.languages.registry import get_target
from polygen.targets.programs.printer import print_program
from polygen.targets.programs.program import Program

Array: TypeAlias = "np.ndarray[Any, Any]"

INT32 = np.dtype(np.int32)
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c11")

# --- NumPy


def _fold(function: Any) -> Any:
    return lambda node, values: reduce(function, values)


_NUMPY: Mapping[type, Any] = {
    ex.Sum: _fold(lambda a, b: a + b),
    ex.Product: _fold(lambda a, b: a * b),
    ex.Quotient: lambda node, v: v[0] / v[1],
    ex.FloorDiv: lambda node, v: v[0] // v[1],
    ex.Remainder: lambda node, v: v[0] % v[1],
    ex.Power: lambda node, v: v[0] ** v[1],
    ex.Min: lambda node, v: _extreme(min, np.minimum, v),
    ex.Max: lambda node, v: _extreme(max, np.maximum, v),
    ex.If: lambda node, v: np.where(*v),
    ex.LogicalAnd: _fold(np.logical_and),
    ex.LogicalOr: _fold(np.logical_or),
    ex.LogicalNot: lambda node, v: np.logical_not(v[0]),
    ex.BitwiseAnd: _fold(lambda a, b: a & b),
    ex.BitwiseOr: _fold(lambda a, b: a | b),
    ex.BitwiseXor: _fold(lambda a, b: a ^ b),
    ex.BitwiseNot: lambda node, v: ~v[0],
    ex.LeftShift: lambda node, v: v[0] << v[1],
    ex.RightShift: lambda node, v: v[0] >> v[1],
    ex.Comparison: lambda node, v: _COMPARE[node.operator](*v),
    ex.Call: lambda node, v: _CALLS[node.function.name](*v),
}


def _extreme(of_numbers: Any, of_arrays: Any, values: Sequence[Any]) -> Any:
    # NumPy's functions would give a type to Python's numbers.
    numbers = all(isinstance(v, int | float) for v in values)
    return of_numbers(*values) if numbers else reduce(of_arrays, values)


def _difference(node: Any, values: Mapping[str, Any]) -> Any:
    """Return ``a - b``, for which NumPy has an operation and expressions have not."""
    first, negative = node.children
    return evaluate(first, values) - evaluate(negative.children[1], values)


def _is_difference(node: Expression) -> bool:
    return (
        isinstance(node, ex.Sum)
        and len(node.children) == 2
        and isinstance(node.children[1], ex.Product)
        and node.children[1].children[0] == -1
    )


_COMPARE: Mapping[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _converted(name: str, values: Any) -> Any:
    return np.asarray(values).astype(name)


_CALLS: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "pow")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{
        name: getattr(np, f"arc{name[1:]}")
        for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")
    },
    "fabs": np.fabs,
    "floor": np.floor,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "rsqrt": lambda a: (1 / np.sqrt(a)).astype(np.sqrt(a).dtype),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "abs": np.abs,
    "min": _fold(np.minimum),
    "max": _fold(np.maximum),
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "sign": np.sign,
    "carg": np.angle,
    "trunc": np.trunc,
    **{
        name: partial(_converted, name)
        for name in """bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32
        float64 complex64 complex128""".split()  # noqa: SIM905
    },
}


def evaluate(node: Expression, values: Mapping[str, Any]) -> Any:
    """Return what NumPy computes; arrays stand for their subscripts."""
    if isinstance(node, Subscript):
        return values[ex.name_of(node)]
    if isinstance(node, Variable):
        return values[node.name]
    if not isinstance(node, ex.ExpressionNode):
        return node
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if _is_difference(node):
            return _difference(node, values)
        parts = [evaluate(part, values) for part in walk.parts(node)]
        return _NUMPY[type(node)](node, parts)


# --- one program for many expressions

_PER_LAUNCH = 100


@dataclass(frozen=True)
class Batch:
    """A program that computes many expressions.

    Attributes:
        program: it has an output for each type of a result, one result after the other.
        places: for each expression, the output and the position in it.
        outputs: the outputs by name.
    """

    program: LoopProgram
    places: list[tuple[str, int]]
    outputs: dict[str, Array]

    def results(self) -> list[Array]:
        """Return the result of each expression."""
        return [self.outputs[name][position] for name, position in self.places]


def make_batch(cases: Sequence[Expression], arrays: Mapping[str, Array]) -> Batch:
    """Return a program for the cases, which mention elements of the arrays and their length n."""
    length = len(next(iter(arrays.values())))
    kinds: dict[str, Any] = {name: array.dtype for name, array in arrays.items()}
    kinds |= {"n": int, "i": int}
    n, i = Variable("n"), Variable("i")
    counts: dict[str, int] = {}
    places: list[tuple[str, int]] = []
    loops: list[Loop] = []
    for case in cases:
        name = "out_" + default_dtype(type_of(case, kinds)).name
        position = counts.get(name, 0)
        counts[name] = position + 1
        places.append((name, position))
        target = Subscript(Variable(name), position * n + i)
        loops.append(Loop("i", 0, n, (Assign(target, case, "case"),)))
    outputs = {name: np.zeros((k, length), name[4:]) for name, k in counts.items()}
    every = {**arrays, **outputs}
    arguments: tuple[Argument, ...] = (
        *(GlobalArg(name, array.dtype, (n,)) for name, array in every.items()),
        ValueArg("n", INT32),
    )
    groups = [loops[k : k + _PER_LAUNCH] for k in range(0, len(loops), _PER_LAUNCH)]
    program = LoopProgram(
        name="cases",
        arguments=arguments,
        global_temporaries=(),
        host=tuple(
            Launch(f"cases_{k}", arguments, (), tuple(group)) for k, group in enumerate(groups)
        ),
        index_dtype=INT32,
        nonnegative=frozenset(("i", "n")),
        dtypes=kinds | {name: array.dtype for name, array in outputs.items()},
    )
    return Batch(program, places, outputs)


def compile_c(
    source: str, folder: Path, *, compiler: str = "gcc", flags: Sequence[str] = ()
) -> Path:
    """Compile C, with warnings as errors, and return the library."""
    text, library = folder / "source.c", folder / f"{compiler}.so"
    text.write_text(source)
    command = [compiler, *WARNINGS, "-O1", "-fopenmp", "-fPIC", "-shared", *flags]
    done = subprocess.run(
        [*command, str(text), "-o", str(library), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    return library


def run_c(
    cases: Sequence[Expression],
    arrays: Mapping[str, Array],
    folder: Path,
    flags: Sequence[str] = (),
) -> list[Array]:
    """Return the result of each case, computed in C."""
    batch = make_batch(cases, arrays)
    source = print_program(batch.program, get_target("c")).source
    library = ctypes.CDLL(str(compile_c(source, folder, flags=flags)))
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays.values(), *batch.outputs.values())]
    library["cases"](*pointers, ctypes.c_int(len(next(iter(arrays.values())))))
    return batch.results()


def run_opencl(
    cases: Sequence[Expression], arrays: Mapping[str, Array], *, may_warn: bool = False
) -> list[Array]:
    """Return the result of each case, computed by PoCL."""
    import pyopencl as cl  # noqa: PLC0415  (loads the device libraries)

    batch = make_batch(cases, arrays)
    printed = print_program(batch.program, get_target("opencl"))
    context = cl.create_some_context(interactive=False)
    built, log = build_opencl(context, printed)
    assert may_warn or not log, log
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    every = {**arrays, **batch.outputs}
    buffers = {name: cl.Buffer(context, flags, hostbuf=a) for name, a in every.items()}
    count = np.int32(len(next(iter(arrays.values()))))
    with cl.CommandQueue(context) as queue:
        for launch in printed.launches:
            cl.Kernel(built, launch.name)(queue, (1,), (1,), *buffers.values(), count)
        for name, output in batch.outputs.items():
            cl.enqueue_copy(queue, output, buffers[name])
    return batch.results()


def build_opencl(context: Any, program: Program, *options: str) -> tuple[Any, str]:
    """Build OpenCL C; return what was built, and what the compiler said."""
    import pyopencl as cl  # noqa: PLC0415  (loads the device libraries)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Products and sums are not merged: each is rounded, as in NumPy.
        source = f"#pragma OPENCL FP_CONTRACT OFF\n{program.source}"
        built = cl.Program(context, source).build(["-cl-std=CL1.2", *options])
    log = built.get_build_info(context.devices[0], cl.program_build_info.LOG)
    return built, log.strip()
