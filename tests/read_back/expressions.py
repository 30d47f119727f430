"""Expressions of generated code, translated to Python as C means them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.read_back.tokens import WrongText, number
from tests.read_back.values import FUNCTIONS

INTEGERS = frozenset(
    """char short int long unsigned signed uchar ushort uint ulong size_t int8_t uint8_t int16_t
    uint16_t int32_t uint32_t int64_t uint64_t""".split()  # noqa: SIM905
)
REALS = frozenset(("float", "double", "half", "pg_half"))
_COMPLEX = frozenset(("float2", "double2"))
TYPES = INTEGERS | REALS | _COMPLEX | {"bool", "complex", "pg_complex"}
QUALIFIERS = frozenset(
    """const extern volatile static restrict __restrict__ __local __global __constant __shared__
    __private""".split()  # noqa: SIM905
)


def kind_of(words: Sequence[str]) -> str:
    """Return the letter that NumPy has for a type."""
    known = set(words)
    if known & {"complex", "pg_complex", *_COMPLEX}:
        return "c"
    if known & REALS:
        return "f"
    return "b" if "bool" in known else "i"


_CASTS = {"c": "to_complex", "f": "to_real", "b": "bool", "i": "to_integer"}
# From what binds least.
_LEVELS: Sequence[Mapping[str, str]] = (
    {"||": "or"},
    {"&&": "and"},
    {"|": "either_bit"},
    {"^": "one_bit"},
    {"&": "both_bits"},
    {"==": "==", "!=": "!="},
    {"<": "<", "<=": "<=", ">": ">", ">=": ">="},
    {"<<": "left_shift", ">>": "right_shift"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "divided", "%": "left_over"},
)
_BINDS = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_MEANS = {sign: word for signs in _LEVELS for sign, word in signs.items()}
_CONSTANTS = {
    "true": "True",
    "false": "False",
    "INFINITY": "float('inf')",
    "NAN": "float('nan')",
    "_Complex_I": "1j",
}
_SUFFIX = re.compile(r"_(?:[iuf]\d+|c\d+|b|bool)(?:_vec\d+)?$")
_RANDOM_INTEGERS = re.compile(r"pg_(?:philox|threefry)\d+x\d+_u\d+$")
# What has no such name in any of the languages.
_HELPERS = frozenset(
    """compare cube divide fdivide floor_div fourth_power mod power real imag recip shift_left
    shift_right square""".split()  # noqa: SIM905
)
FIELDS = {"x": 0, "y": 1, "z": 2, "w": 3}
_SAME = (
    *("pg_to_half_", "pg_to_bfloat16_", "pg_from_bfloat16_", "pg_half_of_bits", "pg_bits_of_half"),
    *("as_", "pg_to_half", "convert_float2", "convert_double2"),
)
_OF_COMPLEX = {"mul": "product", "div": "quotient"}
_OF_C = {f"c{name}": name for name in ("abs", "sqrt", "pow", "real", "imag", "conj")}


@dataclass
class Known:
    """What a name stands for.

    Attributes:
        python: what it is called in the translation.
        kind: the letter that NumPy has for its type.
        in_memory: whether it is an array, or one element of memory.
        alone: whether it is a single element.
        own: whether other work items have one of their own.
        depth: how many loops for threads or vectors it is declared in.
        lanes: how many components it, or each of its elements, has.
    """

    python: str
    kind: str
    in_memory: bool = False
    alone: bool = False
    own: bool = True
    depth: int = 0
    lanes: int = 1


def _meaning(name: str) -> str:
    """Return what computes a function in Python."""
    plain = _SUFFIX.sub("", name)
    if name.startswith("pg_"):
        helper = plain != name  # others are those of the user's
        plain = plain.removeprefix("pg_").removeprefix("native_").removeprefix("half_")
        if helper and plain in _OF_COMPLEX:
            return _OF_COMPLEX[plain]
        if _RANDOM_INTEGERS.match(name):
            return "opaque_integers"
        return f"FUNCTIONS[{plain!r}]" if helper and plain in FUNCTIONS else "opaque"
    plain = name.removeprefix("native_").removeprefix("half_").removeprefix("__")
    if plain == name and plain in _HELPERS:
        return "opaque"
    for spelled in (plain, plain.removesuffix("f"), _OF_C.get(plain.removesuffix("f"), "")):
        if spelled in FUNCTIONS:
            return f"FUNCTIONS[{spelled!r}]"
    return "opaque"


class Expressions:
    """Reads expressions.

    Parameters:
        words: the tokens.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = [*words, ""]
        self.at = 0
        self.scopes: list[dict[str, Known]] = [{}]
        self.results: set[str] = set()  # what has the results of a function that has several

    # --- tokens

    @property
    def word(self) -> str:
        """The next token."""
        return self.words[self.at]

    def take(self) -> str:
        """Return the next token, and go on."""
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *wanted: str) -> None:
        """Go past tokens that have to be there."""
        for word in wanted:
            if word == ">" and self.word == ">>":  # of two templates
                self.words[self.at : self.at + 1] = [">", ">"]
            if self.take() != word:
                around = " ".join(self.words[max(0, self.at - 12) : self.at + 6])
                raise WrongText(f"'{word}' expected: {around}")

    def accept(self, word: str) -> bool:
        """Go past a token if it is there."""
        if self.word == word:
            self.at += 1
            return True
        return False

    def known(self, name: str) -> Known:
        """Return what a name stands for."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise WrongText(f"'{name}' is not declared")

    def is_known(self, name: str) -> bool:
        """Tell whether a variable has a name."""
        return any(name in scope for scope in self.scopes)

    # --- operators

    def expression(self) -> str:
        """Read an expression."""
        found = self._binary(0)
        if not self.accept("?"):
            return found
        then = self.expression()
        self.expect(":")
        return f"({then} if {found} else {self.expression()})"

    def operand_of_and(self) -> str:
        """Read an expression up to a ``&&``."""
        return self._binary(_BINDS["&&"] + 1)

    def _binary(self, level: int) -> str:
        left = self.unary()
        while (found := _BINDS.get(self.word, -1)) >= level:
            sign = _MEANS[self.take()]
            right = self._binary(found + 1)
            if found < 2:
                left = f"bool({left} {sign} {right})"
            elif sign.isidentifier():
                left = f"{sign}({left}, {right})"
            else:
                left = f"({left} {sign} {right})"
        return left

    def unary(self) -> str:
        """Read an operand, with what stands before it."""
        word = self.word
        if word == "-":
            self.at += 1
            return f"(-{self.unary()})"
        if word == "!":
            self.at += 1
            return f"(not {self.unary()})"
        if word == "~":
            self.at += 1
            return f"complement({self.unary()})"
        if word == "(" and self._is_cast():
            return self._cast()
        return self._postfix()

    def begins_type(self, at: int) -> bool:
        """Tell whether a type is there, or what types are qualified by."""
        word = self.words[at]
        return (word in TYPES or word in QUALIFIERS) and not self.is_known(word)

    def _is_cast(self) -> bool:
        """Tell whether a type alone is in parentheses: not ``(pg_complex<float>(1, x) + y)``."""
        if not self.begins_type(self.at + 1):
            return False
        behind = self.words[self.at + 2 : self.at + 6]
        return behind[:1] != ["<"] or behind[3:] != ["("]

    def _cast(self) -> str:
        self.expect("(")
        words = self.type_words()
        if self.word == "*":
            raise WrongText(f"a pointer to {words}")
        self.expect(")")
        return self.of_type(kind_of(words))

    def of_type(self, kind: str) -> str:
        """Read what is converted to a type, behind that."""
        if kind == "c" and self.word == "(" and not self.begins_type(self.at + 1):
            parts = self.arguments()
            return f"to_complex({', '.join(parts)})"
        return f"{_CASTS[kind]}({self.unary()})"

    def type_words(self) -> list[str]:
        """Read the name of a type, and what it is qualified by."""
        found: list[str] = []
        while self.begins_type(self.at):
            found.append(self.type_word())
        if not set(found) & TYPES:
            raise WrongText(f"no type: {found} {self.word}")
        return found

    def type_word(self) -> str:
        """Read a word of it."""
        if self.word == "pg_complex":
            self.expect("pg_complex", "<")
            self.at += 1
            self.expect(">")
            return "pg_complex"
        return self.take()

    # --- operands

    def arguments(self) -> list[str]:
        """Read arguments in parentheses."""
        self.expect("(")
        found: list[str] = []
        while not self.accept(")"):
            found.append(self.expression())
            if self.word != ")":
                self.expect(",")
        return found

    def _postfix(self) -> str:
        word = self.take()
        if word == "(":
            found = self.expression()
            self.expect(")")
        elif word[0].isdigit() or word[0] == ".":
            found = repr(number(word))
        elif word in _CONSTANTS:
            found = _CONSTANTS[word]
        elif self.word == "(" and not self.is_known(word):
            found = self.call(word)
        elif word.startswith("pg_") and self.word == "<":
            found = self.template(word)
        else:
            found = self.variable(word)
        while self.accept("."):
            found = self._field(found, self.take())
        return found

    def template(self, name: str) -> str:
        """Read a call of one of the templates of CUDA's."""
        if name != "pg_complex":
            raise WrongText(f"the template '{name}'")
        self.expect("<")
        self.at += 1
        self.expect(">")
        return f"to_complex({', '.join(self.arguments())})"

    def _field(self, found: str, field: str) -> str:
        several = found.startswith("opaque") or found in self.results
        if field in ("x", "y") and not several:
            return f"FUNCTIONS[{'real' if field == 'x' else 'imag'!r}]({found})"
        if field[0] == "r" and field[1:].isdigit():
            return f"part({found}, {field[1:]})"
        if field in FIELDS:
            return f"part({found}, {FIELDS[field]})"
        raise WrongText(f"the field '{field}'")

    def variable(self, name: str) -> str:
        """Read what stands behind a name; return what is meant."""
        if name in ("threadIdx", "blockIdx"):
            self.expect(".")
            letter = "l" if name == "threadIdx" else "g"
            return f"run.sizes[{letter!r}, {'xyz'.index(self.take())}]"
        if not name.isidentifier():
            raise WrongText(f"the operand '{name}'")
        known = self.known(name)
        if not known.in_memory:
            return known.python
        return f"{known.python}[{self.key(known)}]"

    def key(self, known: Known) -> str:
        """Read the place of an element."""
        if known.alone:
            return "0"
        self.expect("[")
        found = self.expression()
        self.expect("]")
        return found

    def call(self, name: str) -> str:
        """Read the arguments of a function; return its value."""
        if name in ("get_group_id", "get_local_id"):
            (axis,) = self.arguments()
            return f"run.sizes[{'g' if name == 'get_group_id' else 'l'!r}, {axis}]"
        if name in _SPECIAL:
            return str(getattr(self, _SPECIAL[name])())
        given = self.arguments()
        if name.startswith(_SAME):
            return given[0]
        if name in ("pg_half", "half"):
            return f"to_real({given[0]})"
        if name in ("CMPLX", "CMPLXF"):
            return f"to_complex({', '.join(given)})"
        return f"{_meaning(name)}({', '.join(given)})"

    def _half(self) -> str:
        self.expect("(")
        index = self.expression()
        self.expect(",")
        found = f"{self.known(self.take()).python}[{index}]"
        self.expect(")")
        return found

    def _pixel(self) -> str:
        self.expect("(")
        image = self.known(self.take()).python
        self.expect(",", "pg_sampler", ",", "(")
        axes = {"int2": 2, "int4": 3}[self.take()]
        self.expect(")")
        at = self.arguments()[:axes]
        self.expect(")", ".", "x")
        return f"{image}[({', '.join(reversed(at))},)]"

    def _shuffle(self) -> str:
        self.expect("(")
        found = self.expression()
        self.expect(",", "get_sub_group_local_id", "(", ")")
        sign = self.take()
        distance = self.expression()
        self.expect(")")
        return f"shuffled({found}, {sign}{distance})"

    def _shuffle_down(self) -> str:
        _, found, distance = self.arguments()
        return f"shuffled({found}, {distance})"

    def _shuffle_up(self) -> str:
        _, found, distance = self.arguments()
        return f"shuffled({found}, -{distance})"


_SPECIAL = {
    "vload_half": "_half",
    "read_imagef": "_pixel",
    "read_imagei": "_pixel",
    "read_imageui": "_pixel",
    "sub_group_shuffle": "_shuffle",
    "__shfl_down_sync": "_shuffle_down",
    "__shfl_up_sync": "_shuffle_up",
}
