"""Random programs as users write them: nests one after the other, and the same in NumPy.

Element-wise nests, stencils, transpositions, products, sums along rows and columns, scans, waves,
triangles; some in a loop of time, some on temporaries.  Numbers are small integers, so that sums
are exact in any order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import polygen as pg

Data: TypeAlias = dict[str, Any]
_EXACT = 2**23  # what all of the types add up exactly
_LARGE, _LEAST = 2**10, 9  # what is larger becomes this, if it is larger than that
_LENGTH = 80  # of rows, at most
_STEPS = 2  # of time
_TYPES = "float32", "float64", "int32"
_MATRICES, _ROWS = ("a", "b", "c", "s", "t"), ("u", "v", "w", "p")
_TEMPORARY = frozenset("stp")
_IJ, _IN, _IJK = "0<=i,j<n", "1<=i,j<n-1", "0<=i,j,k<n"
_TRIANGLE = "0<=i<n and 0<=j<=i"
_INSIDE = np.s_[1:-1, 1:-1]
_CROSS = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
_SQUARE = [(p, q) for p in (-1, 0, 1) for q in (-1, 0, 1)]


@dataclass(frozen=True)
class Nest:
    """A kind of nest.

    Attributes:
        text: `T` is what is written, `X` and `Y` are matrices, `V` and `W` rows that are read, and
            `i`, `j`, `k` the loops.
        domain: the loops.
        value: what it computes of NumPy's arrays, by these letters; of waves, all of `T`.
        most: the largest number that it makes of numbers up to `x`.
        at: returns which elements of an array it writes; None for all.
        may_update: whether it may write what it reads.
    """

    text: str
    domain: str
    value: Callable[[Data], Any]
    most: Callable[[int], int]
    at: Callable[[Any], Any] | None = None
    may_update: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether a matrix is written."""
        return self.text.startswith("T[i,j]")

    @property
    def goes_on(self) -> bool:
        """Whether it reads what it has written, and keeps numbers small itself."""
        return "T[i-1" in self.text

    def run(self, data: Data, *, clamp: bool) -> None:
        """Do it to arrays, with larger numbers as 9 if asked."""
        value = self.value(data)
        where: Any = ... if self.at is None else self.at(data["T"])
        data["T"][where] = np.minimum(value, _LEAST) if clamp else value


def _text(places: Sequence[tuple[int, int]]) -> str:
    return " + ".join(f"X[i + {p},j + {q}]" for p, q in places)


def _around(places: Sequence[tuple[int, int]]) -> Callable[[Data], Any]:
    def value(d: Data) -> Any:
        n = len(d["X"])
        return sum(d["X"][1 + p : max(1, n - 1) + p, 1 + q : max(1, n - 1) + q] for p, q in places)

    return value


def _running(d: Data) -> Any:
    t = d["T"].copy()
    for i in range(1, len(t)):
        t[i] = min(t[i - 1] + d["V"][i], _LEAST)
    return t


def _waves(d: Data) -> Any:
    t = d["T"].copy()
    for i in range(1, len(t)):
        for j in range(1, len(t)):
            t[i, j] = min(t[i - 1, j] + t[i, j - 1], _LEAST)
    return t


def _lower(t: Any) -> Any:
    return np.tril_indices(len(t))


NESTS = {
    "sum": Nest(
        "T[i,j] = 2*X[i,j] + Y[i,j]",
        _IJ,
        lambda d: 2 * d["X"] + d["Y"],
        lambda x: 3 * x,
        may_update=True,
    ),
    "rows added": Nest(
        "T[i,j] = X[i,j] + V[j]", _IJ, lambda d: d["X"] + d["V"], lambda x: 2 * x, None, True
    ),
    "columns added": Nest(
        "T[i,j] = X[i,j] + V[i]", _IJ, lambda d: d["X"] + d["V"][:, None], lambda x: 2 * x
    ),
    "turned": Nest("T[i,j] = X[j,i] + Y[i,j]", _IJ, lambda d: d["X"].T + d["Y"], lambda x: 2 * x),
    "stencil of 5": Nest(
        f"T[i,j] = {_text(_CROSS)}", _IN, _around(_CROSS), lambda x: 5 * x, lambda _: _INSIDE
    ),
    "stencil of 9": Nest(
        f"T[i,j] = {_text(_SQUARE)}", _IN, _around(_SQUARE), lambda x: 9 * x, lambda _: _INSIDE
    ),
    "product": Nest(
        "T[i,j] = sum(k, X[i,k]*Y[k,j])",
        _IJK,
        lambda d: d["X"] @ d["Y"],
        lambda x: _LENGTH * x * x,
    ),
    "turned product": Nest(
        "T[i,j] = 2*sum(k, X[k,i]*Y[j,k]) + V[j]",
        _IJK,
        lambda d: 2 * d["X"].T @ d["Y"].T + d["V"],
        lambda x: 2 * _LENGTH * x * x + x,
    ),
    "waves": Nest("T[i,j] = min(T[i-1,j] + T[i,j-1], 9)", "1<=i,j<n", _waves, lambda x: x + 9),
    "triangle": Nest(
        "T[i,j] = X[i,j] - Y[j,i]",
        _TRIANGLE,
        lambda d: (d["X"] - d["Y"].T)[_lower(d["X"])],
        lambda x: 2 * x,
        _lower,
    ),
    "row sums": Nest("T[i] = sum(j, X[i,j])", _IJ, lambda d: d["X"].sum(1), lambda x: _LENGTH * x),
    "column sums": Nest(
        "T[i] = sum(j, X[j,i]*V[j])", _IJ, lambda d: d["V"] @ d["X"], lambda x: _LENGTH * x * x
    ),
    "largest": Nest(
        "T[i] = max(j, X[i,j]) + V[i]", _IJ, lambda d: d["X"].max(1) + d["V"], lambda x: 2 * x
    ),
    "sums so far": Nest(
        "T[i] = sum(j, V[j])", _TRIANGLE, lambda d: np.cumsum(d["V"]), lambda x: _LENGTH * x
    ),
    "scaled": Nest(
        "T[i] = 3*V[i] + W[i]", "0<=i<n", lambda d: 3 * d["V"] + d["W"], lambda x: 4 * x, None, True
    ),
    "backwards": Nest("T[i] = V[n-1-i]", "0<=i<n", lambda d: d["V"][::-1], lambda x: x),
    "running": Nest("T[i] = min(T[i-1] + V[i], 9)", "1<=i<n", _running, lambda x: 2 * x + 9),
}


@dataclass
class Program:
    """A random program.

    Attributes:
        dtype: of all arrays.
        is_whole: whether rows are known to be whole vectors, and arrays to begin with one.
        kinds: the kinds of nests, in order.
        lines: the statements.
        domains: the loops.
        done: what the statements do.
        most: the largest number in each array that is defined.
        steps: the statements in a loop of time.
    """

    dtype: str
    is_whole: bool
    kinds: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    domains: list[str] = field(default_factory=list[str])
    done: list[Callable[[Data], None]] = field(default_factory=list[Callable[[Data], None]])
    most: dict[str, int] = field(default_factory=dict[str, int])
    steps: range = range(0)

    @property
    def used(self) -> list[str]:
        """The arrays."""
        return [n for n in (*_MATRICES, *_ROWS) if any(f"{n}[" in line for line in self.lines)]

    def kernel(self, target: str) -> pg.Kernel:
        """Return it as a kernel, without a step."""
        lines, domains = list(self.lines), list(self.domains)
        inside = [i for n in self.steps for i in (f"i{n}", f"j{n}") if _is_around(i, lines[n])]
        if self.steps:
            lines.insert(self.steps.stop, "end")
            lines.insert(self.steps.start, "for time")
            domains.append("{ [time]: 0<=time<steps }")
        alignment = 16 if self.is_whole else None
        data: list[Any] = []
        for name in self.used:
            shape = "n, n" if name in _MATRICES else "n"
            if name in _TEMPORARY:
                space = pg.AddressSpace.GLOBAL
                data.append(pg.TemporaryVariable(name, self.dtype, shape, address_space=space))
            else:
                data.append(pg.GlobalArg(name, self.dtype, shape, alignment=alignment))
        return pg.make_kernel(
            domains,
            "\n".join(lines),
            [*data, "..."],
            seq_dependencies=True,
            loop_priority=[f"time, {iname}" for iname in inside],
            target=target,
            silenced_warnings=["AmbiguousNesting"],
            assumptions="n mod 16 = 0 and n >= 16" if self.is_whole else "n >= 1",
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of calls."""
        return (16, _LENGTH) if self.is_whole else (1, 7, 70)

    def call(self, n: int, seed: int) -> tuple[Data, Data]:
        """Return the arguments of a call, and what arrays are to be behind it."""
        rng = np.random.default_rng(seed)
        arrays = {
            name: rng.integers(0, 4, (n, n) if name in _MATRICES else n).astype(self.dtype)
            for name in self.used
        }
        given: Data = {k: a.copy() for k, a in arrays.items() if k not in _TEMPORARY}
        order = [
            *range(self.steps.start),
            *(place for _ in range(_STEPS) for place in self.steps),
            *range(self.steps.stop, len(self.done)),
        ]
        for place in order:
            self.done[place](arrays)
        after = {name: arrays[name] for name in given}
        return given | {"n": n} | ({"steps": _STEPS} if self.steps else {}), after


def random_program(seed: int) -> Program:
    """Return the program that a seed stands for."""
    r = random.Random(seed)
    program = Program(r.choice(_TYPES), is_whole=r.random() < 0.3)
    program.most |= dict.fromkeys({*_MATRICES, *_ROWS} - _TEMPORARY, 3)
    count = r.choice((1, 2, 2, 3, 4, 6))
    again = r.random() < 0.25
    while len(program.lines) < count:
        _add(program, r, again=again)
    if again:
        program.steps = range(r.randrange(count), count)
    return program


def _add(program: Program, r: random.Random, *, again: bool) -> None:
    """Add a nest of a kind that is drawn, if it fits.

    Parameters:
        program: the program.
        r: makes each choice.
        again: whether it may be executed again, so that numbers are not to grow.
    """
    kind, nest = r.choice([*NESTS.items()])
    written = r.choice(_MATRICES if nest.is_matrix else _ROWS)
    names = {"T": written}
    if (nest.at or nest.goes_on) and written not in program.most:
        return  # some of it would be undefined
    for letter in "XYVW":
        known = [n for n in (_MATRICES if letter in "XY" else _ROWS) if n in program.most]
        if f"{letter}[" in nest.text:
            names[letter] = r.choice([n for n in known if n != written or nest.may_update])
    largest = max(program.most.get(name, 0) for name in names.values())
    top = nest.most(max(largest, _LEAST) if again else largest)
    if top > _EXACT:
        return
    clamp = (again or top > _LARGE) and not nest.goes_on
    number = len(program.lines)
    line = re.sub(r"\b([TXYVW])\[", lambda found: f"{names[found[1]]}[", nest.text)
    left, _, right = line.partition(" = ")
    line = f"{left} = min({right}, {_LEAST})" if clamp else line
    loops = [i for i in "ijk" if re.search(rf"\b{i}\b", nest.domain)]
    program.lines.append(f"{_own(line, number)}  {{id=s{number}}}")
    program.domains.append(_own(f"{{ [{', '.join(loops)}]: {nest.domain} }}", number))

    def do(arrays: Data) -> None:
        nest.run({letter: arrays[name] for letter, name in names.items()}, clamp=clamp)

    program.done.append(do)
    program.kinds.append(kind)
    new = _LEAST if clamp else top
    partial = nest.at is not None or nest.goes_on
    program.most[written] = max(new, program.most[written]) if partial else new


def _is_around(iname: str, line: str) -> bool:
    """Tell whether a loop is around a statement: it is in the subscripts of what is written."""
    return re.search(rf"\b{iname}\b", line.partition(" = ")[0]) is not None


def _own(text: str, number: int) -> str:
    """Return a text with loops of its own."""
    return re.sub(r"\b([ijk])\b", rf"\g<1>{number}", text)
