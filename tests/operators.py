"""Every operation of reductions on every type of numbers, and what NumPy makes of them.

All numbers are such that sums and products are exact in any order.  Rows have ties, numbers all of
which are negative, the least number of the type, NaN, infinity and -0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from tests.properties.together import run_together

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128")
ROWS = 4


@dataclass(frozen=True)
class Operation:
    """A reduction of each row.

    Attributes:
        text: an instruction.
        expected: the results, of the array's rows.
        kinds: NumPy's letters for the types that have it.
        array: which array it is of.
    """

    text: str
    expected: Callable[[Any], Sequence[Any]]
    kinds: str = "biufc"
    array: str = "a"


def _wide(a: Any) -> Any:
    return None if a.dtype.kind in "biuc" or a.itemsize > 2 else np.float32


def _exact(a: Any) -> Any:
    total = [math.fsum(row) for row in a.astype(float)]
    return np.array(total, _wide(a) or a.dtype)


OPERATIONS: Mapping[str, Operation] = {
    "sum": Operation("total[i] = sum(j, a[i,j])", lambda a: [a.sum(1, dtype=_wide(a))]),
    "product": Operation(
        "prod_[i] = product(j, p[i,j])", lambda p: [p.prod(1, dtype=_wide(p))], array="p"
    ),
    "min": Operation("low[i] = min(j, a[i,j])", lambda a: [a.min(1)], "biuf"),
    "max": Operation("high[i] = max(j, a[i,j])", lambda a: [a.max(1)], "biuf"),
    "any": Operation("some[i] = any(j, a[i,j])", lambda a: [(a != 0).any(1)]),
    "all": Operation("every[i] = all(j, a[i,j])", lambda a: [(a != 0).all(1)]),
    "and": Operation(
        "band[i] = bit_and(j, a[i,j])", lambda a: [np.bitwise_and.reduce(a, axis=1)], "biu"
    ),
    "or": Operation(
        "bor[i] = bit_or(j, a[i,j])", lambda a: [np.bitwise_or.reduce(a, axis=1)], "biu"
    ),
    "xor": Operation(
        "bxor[i] = bit_xor(j, a[i,j])", lambda a: [np.bitwise_xor.reduce(a, axis=1)], "biu"
    ),
    "argmin": Operation(
        "least[i], where[i] = argmin(j, a[i,j], j)", lambda a: [a.min(1), a.argmin(1)], "biuf"
    ),
    "argmax": Operation(
        "greatest[i], there[i] = argmax(j, a[i,j], j)", lambda a: [a.max(1), a.argmax(1)], "biuf"
    ),
    "compensated": Operation(
        "precise[i] = compensated(sum)(j, c[i,j])", lambda c: [_exact(c)], "f", "c"
    ),
}


def _kind(dtype: Any) -> str:
    return "f" if dtype.kind == "V" else str(dtype.kind)


def arrays(name: str, size: int) -> dict[str, Any]:
    """Return rows of numbers of a type, in arrays `a`, `p` and `c`."""
    dtype, rng = to_dtype(name), np.random.default_rng(size)
    low = 0 if dtype.kind in "bu" else -9
    a: Any = rng.integers(low, 2 if dtype.kind == "b" else 10, (ROWS, size)).astype(dtype)
    p = np.ones((ROWS, size), dtype)
    p[:, rng.integers(0, size, 6)] = 1 if dtype.kind == "b" else 2
    c = rng.integers(-9, 9, (ROWS, size)).astype(dtype)
    kind = _kind(dtype)
    if kind in "if":
        a[1] = -np.abs(a[1]) - 1
        p[1::2] *= -1
    if kind in "iu":
        a[2, size // 2 :: 5] = np.iinfo(dtype).min
    if kind == "f":
        a[2, size // 2 :: 7] = -np.inf
        a[3, size // 3 :: 3] = np.nan
        a[0, a[0] == 0] = -0.0
        large = 2.0**15 if dtype.itemsize == 2 else 2.0 ** (np.finfo(dtype).nmant + 7)
        c[:, 0], c[:, -1] = large, -large
    return {"a": a, "p": p, "c": c}


def kernel(name: str, size: int, operations: Sequence[str] = tuple(OPERATIONS)) -> Kernel:
    """Return a kernel of the operations that a type has, of rows of so many numbers."""
    kind = _kind(to_dtype(name))
    texts = [OPERATIONS[o].text for o in operations if kind in OPERATIONS[o].kinds]
    knl = pg.make_kernel(f"{{ [i,j]: 0<=i<n and 0<=j<{size} }}", "\n".join(texts))
    return pg.prioritize_loops(knl, "i, j")


def expected(name: str, size: int, operations: Sequence[str] = tuple(OPERATIONS)) -> dict[str, Any]:
    """Return what NumPy makes of the rows."""
    found: dict[str, Any] = {}
    kind, given = _kind(to_dtype(name)), arrays(name, size)
    if name == "bfloat16":  # which NumPy does not know, and we compute as float32
        given = {each: values.astype(np.float32) for each, values in given.items()}
    for operation in (OPERATIONS[o] for o in operations):
        if kind in operation.kinds:
            names = [n.strip().removesuffix("[i]") for n in operation.text.split("=")[0].split(",")]
            found |= zip(names, operation.expected(given[operation.array]), strict=True)
    return found


Form = Callable[[Kernel], Kernel]


def loop(knl: Kernel) -> Kernel:
    """A row for each group, in a loop."""
    return pg.tag_inames(knl, {"i": "g.0"})


def tree(knl: Kernel) -> Kernel:
    """A row for each group, a number for each of its work items."""
    return pg.tag_inames(knl, {"i": "g.0", "j": "l.0"})


def stages(knl: Kernel) -> Kernel:
    """Parts of 7 numbers, the rows in vectors."""
    knl = pg.split_iname(knl, "j", 7)
    knl = pg.split_reduction_outward(knl, "j_outer")
    return pg.split_iname(knl, "i", 4, inner_tag="vec")


def groups(knl: Kernel) -> Kernel:
    """Each reduction is shared by two groups; then work items share what these found."""
    for insn in knl.instructions:
        knl = pg.parallelize_reduction(knl, insn.id, blocks=2, threads=8, items=2)
    return knl


def check(
    forms: Sequence[tuple[Form, int]],
    target: str,
    patch: pytest.MonkeyPatch,
    types: Sequence[str] = TYPES,
    *,
    alone: bool = False,
) -> None:
    """Compare operations on types, in forms with rows of so many numbers, with NumPy.

    Parameters:
        forms: what is done with a kernel of rows of so many numbers.
        target, patch: as for `run_together`.
        types: of the numbers.
        alone: whether each operation has a kernel of its own.
    """
    several = [(name,) for name in OPERATIONS] if alone else [tuple(OPERATIONS)]
    cases = [
        (form, size, name, operations)
        for form, size in forms
        for name in types
        for operations in several
        if any(_kind(to_dtype(name)) in OPERATIONS[o].kinds for o in operations)
    ]
    kernels: list[tuple[Kernel, dict[str, Any]]] = []
    for form, size, name, operations in cases:
        outputs = {n: np.zeros_like(v) for n, v in expected(name, size, operations).items()}
        knl = form(kernel(name, size, operations))
        used = {n: v for n, v in arrays(name, size).items() if n in knl.variables}
        kernels.append((knl, used | outputs | {"n": ROWS}))
    results = run_together(kernels, target, patch, ())
    for (form, size, name, operations), found in zip(cases, results, strict=True):
        assert found is not None
        for each, values in expected(name, size, operations).items():
            where = f"{form.__name__} {name} {size} {each}"
            np.testing.assert_array_equal(found[each], values, err_msg=where)
