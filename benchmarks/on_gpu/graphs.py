"""Random graphs of element-wise operations and reductions, as data.

A graph is a list of values.  Each has axes of the graph, in an order of its own, and is an input,
an operation on earlier values element by element, or a reduction of one.  What it computes is
written down twice: as a kernel (`polygen_text`), and as a Python function of arrays
(`python_text`), which PyTorch and NumPy run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from random import Random

MOST_ELEMENTS = 1 << 22
FLOATS = ("float32", "float16")
# The text for polygen, that for arrays, and the types that it is for.
MAPS: tuple[tuple[str, str, str], ...] = (
    ("{0} + {1}", "{0} + {1}", "fi"),
    ("{0} - {1}", "{0} - {1}", "fi"),
    ("{0}*{1}", "{0}*{1}", "f"),
    ("{0}*{1}", "{0}*{1}", "f"),
    ("fmax({0}, {1})", "xp.maximum({0}, {1})", "f"),
    ("fmin({0}, {1})", "xp.minimum({0}, {1})", "f"),
    ("0.5*{0}", "0.5*{0}", "f"),
    ("{0} + 0.25", "{0} + 0.25", "f"),
    ("-{0}", "-{0}", "fi"),
    ("fabs({0})", "xp.abs({0})", "f"),
    ("exp(-fabs({0}))", "xp.exp(-xp.abs({0}))", "f"),
    ("tanh({0})", "xp.tanh({0})", "f"),
    ("{0}/(1 + fabs({1}))", "{0}/(1 + xp.abs({1}))", "f"),
    ("if({0} < {1}, {0}, 0.5*{1})", "xp.where({0} < {1}, {0}, 0.5*{1})", "f"),
    ("if({0} < {1}, {1}, -{0})", "xp.where({0} < {1}, {1}, -{0})", "i"),
    ("3*{0}", "3*{0}", "i"),
)
ARRAY_NAMES = {"sum": "sum", "max": "amax", "min": "amin"}


@dataclass(frozen=True)
class Value:
    """One value of a graph.

    Attributes:
        name: its name.
        axes: its axes, the first one outermost in memory.
        dtype: the type of its elements.
        operands: the names of the values it is computed of.
        texts: what is computed, for polygen and for arrays, with operands in braces.
        reduced: the axes that are reduced, for a reduction; and the operation.
        operation: that of a reduction.
        is_output: whether it is a result of the graph.
    """

    name: str
    axes: tuple[int, ...]
    dtype: str
    operands: tuple[str, ...] = ()
    texts: tuple[str, str] = ("", "")
    reduced: tuple[int, ...] = ()
    operation: str = ""
    is_output: bool = False

    @property
    def is_input(self) -> bool:
        """Tell whether it is computed of nothing."""
        return not self.operands


@dataclass(frozen=True)
class Graph:
    """A graph.

    Attributes:
        seed: what it was drawn with.
        extents: of its axes.
        values: in their order.
        style: how it is written for polygen: ``shared`` loops, or loops of their ``own``.
    """

    seed: int
    extents: tuple[int, ...]
    values: tuple[Value, ...]
    style: str
    by_name: dict[str, Value] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {value.name: value for value in self.values})

    @property
    def key(self) -> str:
        """Return what no other graph is called."""
        return str(self.seed)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value; that of a single number is (1,)."""
        return tuple([self.extents[axis] for axis in self.by_name[name].axes]) or (1,)

    @property
    def inputs(self) -> list[Value]:
        """Return what is given."""
        return [value for value in self.values if value.is_input]

    @property
    def outputs(self) -> list[Value]:
        """Return what is computed for others."""
        return [value for value in self.values if value.is_output]

    @property
    def moved(self) -> int:
        """Return how many bytes inputs and outputs have."""
        ends = [*self.inputs, *self.outputs]
        return sum(prod(self.shape(v.name)) * (2 if v.dtype == "float16" else 4) for v in ends)


def random_graph(seed: int) -> Graph:
    """Return a graph of one to twelve element-wise operations and one to three reductions."""
    draw = Random(seed)
    rank = draw.choice((1, 2, 2, 2, 3, 3, 4))
    extents = _extents(draw, rank)
    values = _inputs(draw, rank)
    kinds = ["map"] * draw.randint(1, 12) + ["reduce"] * draw.randint(1, 3)
    draw.shuffle(kinds)
    names = (f"v{number}" for number in count(1))
    for kind in kinds:
        if kind == "map":
            values += list(_map(draw, names, values))
        else:
            values += list(_reduction(draw, names, values, extents))
    used = {name for value in values for name in value.operands}
    outputs = [
        _as_output(value, not value.is_input and (value.name not in used or draw.random() < 0.15))
        for value in values
    ]
    kept = [v for v in outputs if not v.is_input or v.name in used]
    return Graph(seed, extents, tuple(kept), draw.choice(("shared", "own")))


def _as_output(value: Value, is_output: bool) -> Value:
    return Value(**{**vars(value), "is_output": is_output})


def _extents(draw: Random, rank: int) -> tuple[int, ...]:
    """Return extents whose product is between 2^10 and 2^22."""
    usual = (1, 3, 7, 8, 12, 16, 31, 32, 60, 64, 100, 128, 197, 256, 384, 512, 768, 1000, 1024)
    while True:
        if rank == 1:
            return (draw.choice((1000, 4096, 65536, 10**6, 1 << 20, 3 * 10**6, 1 << 22)),)
        long = (2048, 3072, 4096, 4097, 10000, 50257) if rank == 2 else ()
        found = tuple([draw.choice((*usual, *long)) for _ in range(rank)])
        if 1 << 10 <= prod(found) <= MOST_ELEMENTS:
            return found


def _inputs(draw: Random, rank: int) -> list[Value]:
    """Return a first input that has all axes, and others that have some."""
    found: list[Value] = []
    for number in range(draw.randint(1, 4)):
        axes = list(range(rank))
        draw.shuffle(axes)
        if number:
            axes = axes[: draw.choice((rank, rank, draw.randint(1, rank)))]
        if draw.random() < 0.6:
            axes.sort()
        dtype = draw.choice(("float32", "float32", "float16", "int32"))
        found.append(Value(f"x{number}", tuple(axes), dtype))
    return found


def _map(draw: Random, names: Iterator[str], values: list[Value]) -> Iterator[Value]:
    """Yield an element-wise operation, after the casts that its operands need."""
    ours, theirs, kinds = draw.choice(MAPS)
    arity = 2 if "{1}" in ours else 1
    operands = [draw.choice(values[-5:] if draw.random() < 0.7 else values) for _ in range(arity)]
    dtype = _common(operands)
    if ("i" if dtype == "int32" else "f") not in kinds:
        ours, theirs = ("{0} + {1}", "{0} + {1}") if arity == 2 else ("-{0}", "-{0}")
    if draw.random() < 0.15 and dtype != "int32":
        dtype = draw.choice(FLOATS)
    found: list[Value] = []
    for operand in operands:
        if operand.dtype == dtype:
            found.append(operand)
            continue
        cast = _cast(next(names), operand, dtype)
        yield cast
        found.append(cast)
    axes = list(dict.fromkeys([axis for operand in found for axis in operand.axes]))
    if draw.random() < 0.15:
        draw.shuffle(axes)
    used = tuple([operand.name for operand in found])
    yield Value(next(names), tuple(axes), dtype, used, (ours, theirs))


def _cast(name: str, operand: Value, dtype: str) -> Value:
    texts = (f"cast({dtype}, {{0}})", f"cast({{0}}, xp.{dtype})")
    return Value(name, operand.axes, dtype, (operand.name,), texts)


def _common(operands: Sequence[Value]) -> str:
    types = {operand.dtype for operand in operands}
    return next(name for name in ("float32", "float16", "int32") if name in types)


def _reduction(
    draw: Random, names: Iterator[str], values: list[Value], extents: Sequence[int]
) -> Iterator[Value]:
    """Yield a reduction of a value that has axes; sums of halves are of floats."""
    able = [value for value in values if value.axes]
    operand = max(draw.sample(able, min(2, len(able))), key=lambda value: len(value.axes))
    operation = draw.choice(("sum", "sum", "max", "min"))
    if operation == "sum" and operand.dtype == "float16":
        operand = _cast(next(names), operand, "float32")
        yield operand
    reduced = tuple(sorted(draw.sample(operand.axes, draw.randint(1, len(operand.axes)))))
    kept = tuple([axis for axis in operand.axes if axis not in reduced])
    name = next(names)
    reduction = Value(name, kept, operand.dtype, (operand.name,), ("", ""), reduced, operation)
    if operation == "sum" and operand.dtype == "float32":
        scale = 1.0 / prod(extents[axis] for axis in reduced)
        yield reduction
        texts = (f"{scale:.9g}*{{0}}", f"{scale:.9g}*{{0}}")
        yield Value(next(names), kept, "float32", (name,), texts)
        return
    yield reduction


# --- as Python


def python_text(graph: Graph) -> str:
    """Return a function `graph(xp, cast, x0, ...)`, which returns a tuple."""
    names = ", ".join(value.name for value in graph.inputs)
    lines = [f"def graph(xp, cast, {names}):"]
    for value in graph.values:
        if value.operation:
            (operand,) = (graph.by_name[name] for name in value.operands)
            places = tuple([operand.axes.index(axis) for axis in value.reduced])
            kind = ", dtype=xp.int32" if (value.operation, value.dtype) == ("sum", "int32") else ""
            call = f"xp.{ARRAY_NAMES[value.operation]}({operand.name}, {places}{kind})"
            lines.append(f"    {value.name} = {call}")
        elif not value.is_input:
            operands = [_aligned(graph.by_name[name], value.axes) for name in value.operands]
            lines.append(f"    {value.name} = {value.texts[1].format(*operands)}")
    results = ", ".join(value.name for value in graph.outputs)
    return "\n".join([*lines, f"    return ({results},)", ""])


def _aligned(operand: Value, axes: Sequence[int]) -> str:
    """Return an operand with the axes of a result, those that it lacks of extent 1."""
    order = [axis for axis in axes if axis in operand.axes]
    text = operand.name
    if tuple(order) != operand.axes:
        text = f"xp.permute({text}, {tuple([operand.axes.index(axis) for axis in order])})"
    if len(order) != len(axes):
        text += f"[{', '.join(':' if axis in operand.axes else 'None' for axis in axes)}]"
    return text


# --- for polygen


def polygen_text(graph: Graph) -> tuple[list[str], list[str], list[str]]:
    """Return domains, instructions, and which values are arrays that nobody gives or gets."""
    groups = _groups(graph)
    private = {v.name for v in graph.values if _is_private(graph, v, groups)}
    domains: dict[str, None] = {}
    lines: list[str] = []
    for value in graph.values:
        if value.is_input:
            continue
        inames = {axis: f"i{axis}{groups[value.name]}" for axis in (*value.axes, *value.reduced)}
        domains |= {_domain(i, graph.extents[axis]): None for axis, i in inames.items()}
        lines.append(_line(graph, value, inames, private))
    inside = [v.name for v in graph.values if not v.is_input and not v.is_output]
    return list(domains), lines, [name for name in inside if name not in private]


def _domain(iname: str, extent: int) -> str:
    return f"{{ [{iname}]: 0<={iname}<{extent} }}"


def _groups(graph: Graph) -> dict[str, str]:
    """Return which values have loops in common: a suffix of the names of their inames.

    In the style ``shared``, those of the same axes behind as many reductions.
    """
    found: dict[str, str] = {}
    levels: dict[str, int] = {}
    for value in graph.values:
        behind = [graph.by_name[name] for name in value.operands]
        levels[value.name] = max((levels[v.name] + bool(v.operation) for v in behind), default=0)
        axes = "".join(map(str, sorted(value.axes)))
        is_own = value.operation or graph.style == "own"
        found[value.name] = f"_{value.name}" if is_own else f"_{axes}_{levels[value.name]}"
    return found


def _is_private(graph: Graph, value: Value, groups: dict[str, str]) -> bool:
    """Tell whether a value is a scalar, in the loops of what uses it."""
    if value.is_input or value.is_output:
        return False
    users = [user for user in graph.values if value.name in user.operands]
    return not value.axes or all(groups[user.name] == groups[value.name] for user in users)


def _line(graph: Graph, value: Value, inames: dict[int, str], private: set[str]) -> str:
    operands = [
        name if name in private else f"{name}[{_places(graph.by_name[name], inames)}]"
        for name in value.operands
    ]
    right = value.texts[0].format(*operands)
    if value.operation:
        over = ", ".join(inames[axis] for axis in value.reduced)
        right = f"{value.operation}(({over}), {operands[0]})"
    if value.name in private:
        return f"<> {value.name} = {right}"
    return f"{value.name}[{_places(value, inames)}] = {right}"


def _places(value: Value, inames: dict[int, str]) -> str:
    return ", ".join(inames[axis] for axis in value.axes) or "0"
