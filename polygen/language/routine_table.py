"""The table of routines of numerical libraries: a row says what each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polygen.ir.empty import new_dict


@dataclass(frozen=True)
class Form:
    """A routine with its options, and which arrays and numbers it is given.

    Attributes:
        routine: its name.
        options: what is said by words, each of them.
        numbers: the numbers that it is given, sizes aside.
        arrays: the names of the arrays that it takes; a result that begins as an operand, and is
            given the same array, stands for both.
        vectors: the arrays of one axis, where there may be two.
    """

    routine: str
    options: tuple[tuple[str, str], ...] = ()
    numbers: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    vectors: frozenset[str] = frozenset()

    def option(self, name: str) -> str:
        """Return what an option says."""
        return dict(self.options)[name]

    def begin(self, result: str) -> str:
        """Return the name of the array whose elements a result begins with."""
        operand = ROUTINES[self.routine].begins[result]
        return operand if operand in self.arrays else result


@dataclass(frozen=True)
class Routine:
    """The operands, numbers and options of one routine.

    Attributes:
        operands: the arrays that it reads, in order, with the sizes of their axes; those of an
            array that an option transposes are as they are without.
        results: the arrays that it writes, likewise.
        begins: for results that begin as an operand, that one: they may be one array.
        optional: an operand that may be left out: it is then the result that begins as it.
        options: for each word that may be said, what it may be; first what it is if not said.
        numbers: those that may be given.
        transposed: for arrays with two axes, the option that exchanges them.
        integers: the results that are integers of 32 bits.
        as_vector: arrays that may have their first axis alone.
        has_real_numbers: whether its numbers are real where its arrays are complex.
    """

    operands: Mapping[str, tuple[str, ...]]
    results: Mapping[str, tuple[str, ...]]
    begins: Mapping[str, str] = field(default_factory=new_dict)
    optional: str = ""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=new_dict)
    numbers: tuple[str, ...] = ()
    transposed: Mapping[str, str] = field(default_factory=new_dict)
    integers: frozenset[str] = frozenset()
    as_vector: frozenset[str] = frozenset()
    has_real_numbers: bool = False

    def axes(self, form: Form, name: str) -> tuple[str, ...]:
        """Return the sizes of the axes of an array, by their names."""
        found = {**self.operands, **self.results}[name]
        if name in form.vectors:
            return found[:1]
        if form.routine == "trsm" and name == "a":
            return ("m", "m") if form.option("side") == "L" else ("n", "n")
        exchanged = name in self.transposed and form.option(self.transposed[name]) != "N"
        if form.routine == "gemv" and form.option("trans") != "N":
            exchanges = {"m": "n", "n": "m"}
            return found if name == "a" else tuple([exchanges[size] for size in found])
        return found[::-1] if exchanged else found

    def shapes(self, form: Form) -> dict[str, str]:
        """Return the shape of each array of a form."""
        return {name: ", ".join(self.axes(form, name)) for name in form.arrays}

    def size_names(self, form: Form) -> Iterator[str]:
        """Yield the names of the sizes, each once."""
        yield from dict.fromkeys(size for name in form.arrays for size in self.axes(form, name))


_TRANSPOSED = ("N", "T", "C")
_HALVES = ("L", "U")

ROUTINES: Mapping[str, Routine] = {
    "gemm": Routine(
        operands={"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")},
        results={"out": ("m", "n")},
        begins={"out": "c"},
        optional="c",
        options={"trans_a": _TRANSPOSED, "trans_b": _TRANSPOSED},
        numbers=("alpha", "beta"),
        transposed={"a": "trans_a", "b": "trans_b"},
    ),
    "gemv": Routine(
        operands={"a": ("m", "n"), "x": ("n",), "y": ("m",)},
        results={"out": ("m",)},
        begins={"out": "y"},
        optional="y",
        options={"trans": _TRANSPOSED},
        numbers=("alpha", "beta"),
    ),
    "syrk": Routine(
        operands={"a": ("n", "k"), "c": ("n", "n")},
        results={"out": ("n", "n")},
        begins={"out": "c"},
        optional="c",
        options={"uplo": _HALVES, "trans": ("N", "T")},
        numbers=("alpha", "beta"),
        transposed={"a": "trans"},
    ),
    "herk": Routine(
        operands={"a": ("n", "k"), "c": ("n", "n")},
        results={"out": ("n", "n")},
        begins={"out": "c"},
        optional="c",
        options={"uplo": _HALVES, "trans": ("N", "C")},
        numbers=("alpha", "beta"),
        transposed={"a": "trans"},
        has_real_numbers=True,
    ),
    "trsm": Routine(
        operands={"a": ("m", "m"), "b": ("m", "n")},
        results={"out": ("m", "n")},
        begins={"out": "b"},
        options={
            "side": ("L", "R"),
            "uplo": _HALVES,
            "trans": _TRANSPOSED,
            "diag": ("N", "U"),
        },
        numbers=("alpha",),
    ),
    "potrf": Routine(
        operands={"a": ("n", "n")},
        results={"out": ("n", "n")},
        begins={"out": "a"},
        options={"uplo": _HALVES},
    ),
    "getrf": Routine(
        operands={"a": ("n", "n")},
        results={"out": ("n", "n"), "p": ("n",)},
        begins={"out": "a"},
        integers=frozenset(("p",)),
    ),
    "gesv": Routine(
        operands={"a": ("n", "n"), "b": ("n", "m")},
        results={"out": ("n", "n"), "p": ("n",), "x": ("n", "m")},
        begins={"out": "a", "x": "b"},
        integers=frozenset(("p",)),
        as_vector=frozenset(("b", "x")),
    ),
    "fft": Routine(
        operands={"x": ("n",)},
        results={"out": ("n",)},
        options={"direction": ("forward", "inverse")},
    ),
}
