"""Prints functions of C that call BLAS and LAPACK.

    static inline void gemm(int const m, ..., double const *a, int const a_stride0, ...)
    {
        pg_gemm_d(1, 'N', 'N', m, n, k, 1, a, a_stride0, 1, b, b_stride0, 1, 0, out, ...);
    }

What they call lies in `texts/blas.h`; it tells apart how arrays lie in memory.  The routines
(``dgemm_``) are those that the program is linked with, or, with ``PG_BIND`` defined, those whose
addresses ``NAME_bind`` was given.  ``NAME_library_status`` says what failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.layout import Strided
from polygen.ir.show_expression import show_expression
from polygen.lower.program import LibraryFunction, LoopProgram
from polygen.targets.texts.named_texts import texts_of

_TEXTS = texts_of("blas.h")
LETTERS: Mapping[str, str] = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_C_TYPES = {
    "s": ("float", "float"),
    "d": ("double", "double"),
    "c": ("float complex", "float"),
    "z": ("double complex", "double"),
}


@dataclass(frozen=True)
class _Text:
    """The function of a library that a routine calls.

    Attributes:
        helpers: texts of `blas.h`, in order, without that all have.
        routines: of BLAS and LAPACK: their names without the letter of the type, and what they
            take, ``t`` for an array of the elements' type, ``r`` for one of their real parts' type,
            ``i`` for integers, ``c`` for letters; ``j`` and ``n`` for integers that are passed by
            value.
        lines: the lines of the function.
    """

    helpers: tuple[str, ...]
    routines: Mapping[str, str]
    lines: Callable[[_Call], list[str]]


@dataclass(frozen=True)
class _Call:
    """A function that is printed.

    Attributes:
        number: its number among those of the program, from 1.
        function: what it is.
        dtype: the type of the elements, in C.
    """

    number: int
    function: LibraryFunction
    dtype: str

    @property
    def letter(self) -> str:
        """The letter of the type."""
        return LETTERS[self.function.dtype.name]

    def has(self, name: str) -> bool:
        """Tell whether the function takes something of this name."""
        return any(argument.name == name for argument in self.function.arguments)

    def option(self, name: str, usual: str = "N") -> str:
        """Return the letter of an option, as C writes it."""
        return f"'{dict(self.function.options).get(name, usual)}'"

    def number_of(self, name: str, usual: str) -> str:
        """Return a number that may be given."""
        return name if self.has(name) else usual

    def array(self, name: str) -> str:
        """Return an array with its strides."""
        (found,) = [a for a in self.function.arguments if a.name == name]
        assert isinstance(found, GlobalArg)
        strides = [t.stride for t in found.dim_tags or () if isinstance(t, Strided)]
        return ", ".join([name, *(_shown(stride) for stride in strides)])

    def copied(self, name: str, result: str, rows: str, columns: str) -> list[str]:
        """Return what copies an operand to the result that begins as it, if these are two."""
        if not self.has(name):
            return []
        given = f"{rows}, {columns}, {self.array(name)}, {self.array(result)}"
        return [f"pg_copy2_{self.letter}({given});"]


def _shown(stride: object) -> str:
    assert isinstance(stride, int | ex.Variable)
    return show_expression(stride)


def _gemm(call: _Call) -> list[str]:
    given = [
        *(str(call.number), call.option("trans_a"), call.option("trans_b"), "m", "n", "k"),
        *(call.number_of("alpha", "1"), call.array("a"), call.array("b")),
        *(call.number_of("beta", "0"), call.array("out")),
    ]
    return [
        *call.copied("c", "out", "m", "n"),
        f"pg_gemm_{call.letter}({', '.join(given)});",
    ]


def _gemv(call: _Call) -> list[str]:
    adds = call.has("beta")
    count = "m" if call.option("trans") == "'N'" else "n"
    copied: list[str] = []
    if call.has("y"):
        (start, step), (end, other) = (call.array(n).split(", ") for n in ("y", "out"))
        copied = [
            f"pg_copy2_{call.letter}({count}, 1, {start}, {step}, 0, {end}, {other}, 0);",
        ]
    given = [
        *(str(call.number), call.option("trans"), "m", "n", call.number_of("alpha", "1")),
        *(call.array("a"), call.array("x"), str(int(adds)), call.number_of("beta", "0")),
        call.array("out"),
    ]
    return [*copied, f"pg_gemv_{call.letter}({', '.join(given)});"]


def _syrk(call: _Call) -> list[str]:
    uplo = call.option("uplo", "L")
    given = [
        *(str(call.number), uplo, call.option("trans"), "n", "k"),
        *(call.number_of("alpha", "1"), call.array("a")),
        *(call.number_of("beta", "0"), call.array("out")),
    ]
    return [*_triangle(call, "c", uplo), f"pg_syrk_{call.letter}({', '.join(given)});"]


def _herk(call: _Call) -> list[str]:
    uplo = call.option("uplo", "L")
    given = [
        *(str(call.number), uplo, call.option("trans"), "n", "k"),
        *(call.number_of("alpha", "1"), call.array("a")),
        *(call.number_of("beta", "0"), call.array("out")),
    ]
    return [*_triangle(call, "c", uplo), f"pg_herk_{call.letter}({', '.join(given)});"]


def _herk_of_reals(call: _Call) -> list[str]:
    return [line.replace("pg_herk", "pg_syrk").replace("'C'", "'T'", 1) for line in _herk(call)]


def _triangle(call: _Call, name: str, uplo: str) -> list[str]:
    """Return what copies half of an operand to the result, if these are two."""
    if not call.has(name):
        return []
    given = f"{uplo}, n, {call.array(name)}, 1, {call.array('out')}"
    return [f"pg_triangle_{call.letter}({given});"]


def _trsm(call: _Call) -> list[str]:
    given = [
        *(str(call.number), call.option("side", "L"), call.option("uplo", "L")),
        *(call.option("trans"), call.option("diag"), "m", "n"),
        *(call.number_of("alpha", "1"), call.array("a"), call.array("out")),
    ]
    return [
        *call.copied("b", "out", "m", "n"),
        f"pg_trsm_{call.letter}({', '.join(given)});",
    ]


def _potrf(call: _Call) -> list[str]:
    uplo = call.option("uplo", "L")
    given = f"{call.number}, {uplo}, n, {call.array('out')}"
    return [*_triangle(call, "a", uplo), f"pg_potrf_{call.letter}({given});"]


def _getrf(call: _Call) -> list[str]:
    given = f"{call.number}, n, 0, {call.array('out')}, {call.array('p')}, NULL, 0, 0"
    return [*call.copied("a", "out", "n", "n"), f"pg_gesv_{call.letter}({given});"]


def _gesv(call: _Call) -> list[str]:
    columns = "m" if call.has("m") else "1"
    solution, start = call.array("x"), call.array("b") if call.has("b") else ""
    copied = call.copied("a", "out", "n", "n")
    if not call.has("m"):
        solution, start = f"{solution}, 0", f"{start}, 0"
    if call.has("b"):
        copied.append(f"pg_copy2_{call.letter}(n, {columns}, {start}, {solution});")
    arrays = f"{call.array('out')}, {call.array('p')}, {solution}"
    return [*copied, f"pg_gesv_{call.letter}({call.number}, n, {columns}, {arrays});"]


def _fft(call: _Call) -> list[str]:
    inverse = int(dict(call.function.options).get("direction") == "inverse")
    given = f"{call.number}, {inverse}, n, {call.array('x')}, {call.array('out')}"
    return [f"pg_fft_{call.letter}({given});"]


_GEMM = "cciiittititti"
_FACTORS = {"getrf": "iitiii", "getrs": "ciitiitii"}
_ROUTINES: Mapping[str, _Text] = {
    "gemm": _Text(("copy2", "gemm"), {"gemm": _GEMM}, _gemm),
    "gemv": _Text(("copy2", "gemm", "gemv"), {"gemm": _GEMM, "gemv": "ciittititti"}, _gemv),
    "syrk": _Text(("triangle", "flipped", "syrk"), {"syrk": "cciittitti"}, _syrk),
    "herk": _Text(("triangle", "flipped", "herk"), {"herk": "cciirtirti"}, _herk),
    "trsm": _Text(("copy2", "flipped", "trsm"), {"trsm": "cccciittiti"}, _trsm),
    "potrf": _Text(("triangle", "flipped", "potrf"), {"potrf": "citii"}, _potrf),
    "getrf": _Text(("copy2", "by_columns", "gesv"), _FACTORS, _getrf),
    "gesv": _Text(("copy2", "by_columns", "gesv"), _FACTORS, _gesv),
    "fft": _Text(("fft",), {"fft": "jntntn"}, _fft),
}


# BLAS has it for complex numbers alone; of real ones, it is the symmetric update.
_HERK_OF_REALS = replace(_ROUTINES["syrk"], lines=_herk_of_reals)


def _text_of(function: LibraryFunction) -> _Text:
    if function.routine == "herk" and LETTERS[function.dtype.name] in "sd":
        return _HERK_OF_REALS
    return _ROUTINES[function.routine]


# What SciPy has as functions of Python's alone.
IN_PYTHON = frozenset(("fft",))


def library_names(program: LoopProgram) -> tuple[str, ...]:
    """Return the names of the routines of BLAS and LAPACK that a program calls, such as dgemm."""
    found = [
        f"{LETTERS[function.dtype.name]}{name}"
        for function in program.libraries
        for name in _text_of(function).routines
    ]
    return tuple(sorted(set(found)))


def written_arrays(function: LibraryFunction) -> frozenset[str]:
    """Return the names of the arrays that a function writes."""
    return frozenset(_WRITTEN.get(function.routine, ("out",)))


_WRITTEN: Mapping[str, tuple[str, ...]] = {"getrf": ("out", "p"), "gesv": ("out", "p", "x")}


def library_beginning(libraries: Sequence[LibraryFunction]) -> list[str]:
    """Return what the source of a program that calls libraries begins with."""
    return ["#include <complex.h>\n#undef I"] if libraries else []


def library_lines(number: int, function: LibraryFunction, dtype: str) -> list[str]:
    """Return the lines of a function that calls a routine.

    Parameters:
        number: that of the function in its program, from 1.
        function: the function.
        dtype: the type of the elements, in C.
    """
    return _text_of(function).lines(_Call(number, function, dtype))


def library_helpers(program: LoopProgram) -> list[str]:
    """Return what functions that call libraries need: declarations, and helpers."""
    if not program.libraries:
        return []
    found: dict[str, None] = dict.fromkeys([_TEXTS["library"]])
    for letter in sorted({LETTERS[f.dtype.name] for f in program.libraries}):
        mine = [f for f in program.libraries if LETTERS[f.dtype.name] == letter]
        dtype, real = _C_TYPES[letter]
        values = {"$t": dtype, "$r": real, "$c": str(int(dtype != real)), "$p": letter}
        routines = {n: s for f in mine for n, s in _text_of(f).routines.items()}
        found[_declared(letter, dtype, real, routines)] = None
        for name in dict.fromkeys(h for f in mine for h in _text_of(f).helpers):
            text = _TEXTS[name]
            for key, value in values.items():
                text = text.replace(key, value)
            found[text] = None
    return [*found, _interface(program)]


def _declared(letter: str, dtype: str, real: str, routines: Mapping[str, str]) -> str:
    types = {"c": "char *", "i": "int *", "t": f"{dtype} *", "j": "int", "n": "ptrdiff_t"}
    types["r"] = f"{real} *"
    bound: list[str] = []
    linked: list[str] = []
    for name, signature in sorted(routines.items()):
        taken = ", ".join(types[kind] for kind in signature)
        found = "int" if name == "fft" else "void"
        bound += [
            f"static {found} (*pg_{letter}{name})({taken});",
            f"#define {letter}{name}_ pg_{letter}{name}",
        ]
        linked.append(f"{found} {letter}{name}_({taken});")
    return "\n".join(["#ifdef PG_BIND", *bound, "#else", *linked, "#endif"])


def _interface(program: LoopProgram) -> str:
    """Return the functions that give a program its libraries, and say what failed."""
    name = program.name
    bound = [
        f"    *(void **) &pg_{routine} = routines[{n}];"
        for n, routine in enumerate(library_names(program))
    ]
    return "\n".join(
        [
            "#ifdef PG_BIND",
            f"void {name}_bind(void *const *routines)",
            "{",
            *bound,
            "}",
            "#endif",
            "",
            "// Says which of its calls of libraries failed first on this thread, why, and more.",
            f"void {name}_library_status(int *status);",
            f"void {name}_library_status(int *status)",
            "{",
            "    for (int i = 0; i < 3; ++i) {",
            "        status[i] = pg_library_failed[i];",
            "        pg_library_failed[i] = 0;",
            "    }",
            "}",
        ]
    )
