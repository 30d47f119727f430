"""The reductions that are measured, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Result:
    """One result of a case.

    Attributes:
        operation: its name in polygen: ``sum``, ``max``, ...; or one of `OF_ROWS`.
        element: what is reduced, arrays in braces: ``float16({a})*{b}``.
        shape: the shape of the arrays in it.
        axes: those that are reduced.
    """

    operation: str
    element: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """Return the shape of the result; (1,) if all axes are reduced."""
        if self.operation in OF_ROWS:
            return self.shape
        rest = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        return tuple(rest) or (1,)


@dataclass(frozen=True)
class Case:
    """What is computed in one call.

    Attributes:
        group: the part of the list that it belongs to.
        name: what it is called in the table.
        inputs: types of arrays by name; their shape is that of the results that mention them.
        results: what is computed.
    """

    group: str
    name: str
    inputs: Mapping[str, str]
    results: tuple[Result, ...]

    @property
    def key(self) -> str:
        """Return what no other case is called."""
        return f"{self.group}: {self.name}"

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of an input."""
        return next(r.shape for r in self.results if f"{{{name}}}" in r.element)

    @property
    def read(self) -> int:
        """Return how many bytes are read."""
        return sum(bytes_of(t) * prod(self.shape_of(name)) for name, t in self.inputs.items())

    @property
    def moved(self) -> int:
        """Return how many bytes are read, and written, of results as wide as the first input."""
        width = bytes_of(next(iter(self.inputs.values())))
        return self.read + sum(width * prod(result.kept) for result in self.results)


def bytes_of(dtype: str) -> int:
    """Return the size of an element."""
    return 1 if dtype == "bool" else int("".join(filter(str.isdigit, dtype))) // 8


def plain(
    group: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    operation: str = "sum",
    dtype: str = "float32",
) -> Case:
    """Return the reduction of an array over some of its axes."""
    over = "all" if len(axes) == len(shape) else "over " + ",".join(map(str, axes))
    text = "2^" + str(shape[0].bit_length() - 1) if is_power(shape) else "x".join(map(str, shape))
    kind = "" if (operation, dtype) == ("sum", "float32") else f" {operation} {dtype}"
    result = Result(operation, "{a}", shape, axes)
    return Case(group, f"{text} {over}{kind}", {"a": dtype}, (result,))


def is_power(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 and shape[0] & (shape[0] - 1) == 0


OF_ROWS = ("softmax", "layer_norm")
ROWS = (128, 1024, 8192, 65536, 262144)
TABLES = (
    (64, 768),
    (1024, 1024),
    (1280, 21128),
    (4093, 4099),
    (8192, 768),
    (1024, 131072),
    (131072, 1024),
    (1048576, 512),
    (3, 16777259),
    (16777259, 3),
)
MORE_AXES = (
    ((40, 20, 10, 5), (0, 2, 3)),
    ((64, 128, 768), (0, 1, 2)),
    ((64, 128, 768), (0, 1)),
    ((64, 128, 768), (2,)),
    ((64, 128, 12, 64), (0, 1)),
    ((64, 128, 12, 64), (0, 1, 3)),
)
BATCH_NORM = ((256, 7, 7, 2048), (256, 56, 56, 256), (256, 112, 112, 64))
# Zhao et al., table 2: type, shape, and what is added up.
SUB_GRAPHS = (
    ("float32", (64, 2), ("float16(float32(float16({a})))",)),
    ("float32", (1280, 21128), ("float16({a})",)),
    ("float16", (64, 768), ("float32({a})",)),
    ("float32", (1280, 21128), ("{a}*{b}",)),
    ("float32", (1280,), ("(-{a})*{b}",)),
    ("float32", (3072,), ("{a}*{b}*{c}",)),
    ("float32", (64, 128, 768), ("({a} + {b})*{c}",)),
    ("float32", (64, 128, 768), ("({a} + {b})*{c}", "({a} + {c})*{b}")),
    ("float32", (8192, 768), ("{a}", "{b}")),
    ("float16", (8192, 768), ("float32({a})",)),
    ("float16", (8192, 768), ("float32({a})",)),
    ("float16", (1280,), ("{a}",)),
)
OPERATIONS = ("sum", "product", "min", "max", "any", "all", "argmin", "argmax")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES = ("float64", "float32", "float16", "bfloat16", *INTEGERS, "bool")
BITWISE = ("bit_and", "bit_or", "bit_xor")


def sub_graphs() -> Iterator[Case]:
    """Yield each sub-graph with its last, and with its first axes reduced."""
    for number, (dtype, shape, elements) in enumerate(SUB_GRAPHS, 1):
        names = [name for name in "abc" if any(f"{{{name}}}" in text for text in elements)]
        last = len(shape) - 1
        for axes in dict.fromkeys(((last,), tuple(range(max(last, 1))))):
            results = tuple(Result("sum", text, shape, axes) for text in elements)
            over = ",".join(map(str, axes))
            name = f"table 2, {number}, over {over}"
            yield Case("sub-graphs", name, dict.fromkeys(names, dtype), results)
    fused = (Result("sum", "{a} + {b}", (1024,), (0,)), Result("max", "{c}", (2176,), (0,)))
    yield Case("sub-graphs", "figure 8", dict.fromkeys("abc", "float32"), fused)


def of_rows() -> Iterator[Case]:
    """Yield softmax and layer norm, of as many rows as are 64 MiB of elements."""
    for operation in OF_ROWS:
        for dtype in ("float32", "float16"):
            for length in ROWS:
                result = Result(operation, "{a}", (2**26 // length, length), (1,))
                yield Case("softmax", f"{operation} {length} {dtype}", {"a": dtype}, (result,))


def of_all_types() -> Iterator[Case]:
    """Yield all operations on all types that have them, on three shapes."""
    shapes = (((2**24,), (0,)), ((8192, 768), (1,)), ((8192, 768), (0,)))
    for dtype in TYPES:
        whole = dtype == "bool" or "int" in dtype
        for operation in (*OPERATIONS, *(BITWISE if whole else ())):
            for shape, axes in shapes:
                yield plain("types", shape, axes, operation, dtype)


def cases() -> list[Case]:
    """Return the whole list, in its order."""
    whole = [2**k for k in (10, 14, 17, 20, 24, 28, 30)] + [16226304]
    return [
        *(plain("all", (n,), (0,)) for n in whole),
        *(plain("rows", shape, (1,)) for shape in TABLES),
        *(plain("columns", shape, (0,)) for shape in TABLES),
        *(plain("axes", shape, axes) for shape, axes in MORE_AXES),
        *(plain("batch norm", shape, (0, 1, 2)) for shape in BATCH_NORM),
        *sub_graphs(),
        *of_rows(),
        *of_all_types(),
    ]
