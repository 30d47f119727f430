r"""Formats of `printf`: what Python prints, and what C is given.

    "%5d of %g\n", int32, float32   ->   "%5ld of %g\n", a number of 64 bits, one that is a double

Formats say how a number is shown, and not how long it is: ``%d`` prints all of an int64.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from polygen.errors import MalformedFormat
from polygen.ir.public import public
from polygen.source import caller_location

_SPECIFICATION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<point>\.(?P<precision>\d*))?"
    r"(?:hh|h|ll|l|j|z|t|L)?(?P<conversion>[a-zA-Z%])"
)
_SIGNED, _UNSIGNED, _REAL = "di", "uxXo", "feEgGF"
_INTEGERS = f"{_SIGNED}{_UNSIGNED}c"


@dataclass(frozen=True)
class Shown:
    """A value in a format: ``%-8.3f``.

    Attributes:
        text: how it is written.
        flags: signs such as ``-`` and ``0``.
        width: the least number of characters; nothing if there is none.
        precision: the number of digits; nothing if there is none.
        conversion: the letter.
    """

    text: str
    flags: str
    width: str
    precision: str
    conversion: str

    @property
    def takes_integer(self) -> bool:
        """Whether the value is an integer."""
        return self.conversion in _INTEGERS

    @property
    def takes_text(self) -> bool:
        """Whether the value is a text."""
        return self.conversion == "s"

    @property
    def is_unsigned(self) -> bool:
        """Whether the bits of a negative number count, as those of a large one."""
        return self.conversion in _UNSIGNED

    def in_c(self, dtype: np.dtype) -> str:
        """Return it for C, where integers have 64 bits.

        In OpenCL C, ``%g`` is for numbers of 32 bits, and ``%lg`` for those of 64; in C and CUDA
        both are for these.

        Parameters:
            dtype: the type of the value.
        """
        point = f".{self.precision}" if self.precision else ""
        if not self.takes_integer:
            length = "l" if dtype.itemsize == 8 else ""
            return f"%{self.flags}{self.width}{point}{length}{self.conversion}"
        letter = self.conversion
        if letter == "c":
            return f"%{self.flags}{self.width}c"
        if letter in _SIGNED:
            letter = "u" if dtype.kind == "u" else "d"
        flags = self.flags if letter == "d" else _without(self.flags, "+ ")
        return f"%{flags}{self.width}l{letter}"

    def in_python(self, value: Any) -> str:
        """Return what is printed.

        Parameters:
            value: a number or a text that it takes.
        """
        if self.takes_text:
            point = f".{self.precision}" if self.precision else ""
            text: str = value
            return f"%{self.flags}{self.width}{point}s" % text
        if self.conversion == "c":
            return f"%{self.flags}{self.width}s" % chr(int(value) & 0xFF)
        if self.takes_integer:
            return self._integer(value)
        number = float(value)
        point = f".{self.precision}" if self.precision else ""
        # C fills with zeros before numbers alone.
        flags = self.flags if math.isfinite(number) else _without(self.flags, "0")
        shown = f"%{flags}{self.width}{point}{self.conversion}"
        return shown % (abs(number) if math.isnan(number) else number)

    def _integer(self, value: Any) -> str:
        number, letter = int(value), self.conversion
        if letter in _SIGNED:
            return f"%{self.flags}{self.width}d" % number
        given: Any = value
        bits = 8 * given.dtype.itemsize if isinstance(value, np.generic) else 64
        flags = _without(self.flags, "+ ")
        return f"%{flags}{self.width}{'d' if letter == 'u' else letter}" % (number % (1 << bits))


Part: TypeAlias = "str | Shown"


def parts_of_format(text: str) -> list[Part]:
    """Return the parts of a format: what is printed as it is, and values.

    Parameters:
        text: the format.

    Raises:
        MalformedFormat: if there is a ``%`` that polygen does not have.

    >>> parts_of_format("%d%%")[1]
    '%'
    """
    if "\0" in text:
        raise MalformedFormat(
            f"the format {text!r} holds a character of number 0, which ends texts in C",
            where=caller_location(),
            remedy="leave it out",
        )
    found: list[Part] = []
    at = 0
    while (start := text.find("%", at)) >= 0:
        found.append(text[at:start])
        match = _SPECIFICATION.match(text, start)
        if match is None:
            raise _malformed(text, text[start : start + 2], "is no value of a format")
        at = match.end()
        found.append(_part(text, match))
    found.append(text[at:])
    return [part for part in found if part]


def _part(text: str, match: re.Match[str]) -> Part:
    said, letter = match.group(), match["conversion"]
    if said == "%%":
        return "%"
    if letter not in f"{_INTEGERS}{_REAL}s":
        raise _malformed(text, said, "is no value of a format")
    precision = match["precision"] or ("0" if match["point"] else "")
    flags = match["flags"]
    shown = Shown(said, flags, match["width"], precision, letter)
    if shown.takes_integer and (precision or "#" in flags):
        raise _malformed(text, said, "has a flag or digits that numbers with a point have alone")
    if letter in "cs" and set(flags) - {"-"}:
        raise _malformed(text, said, "has a flag that numbers have alone")
    return shown


def _malformed(text: str, said: str, why: str) -> MalformedFormat:
    return MalformedFormat(
        f"'{said}' {why}, in the format {text!r}",
        where=caller_location(),
        remedy="write %d, %i, %u, %x, %o, %c, %f, %e, %g or %s, with a width; a precision if the "
        "number has a point; and %% for a percent sign",
    )


def check_count(text: str, parts: Sequence[Part], count: int) -> None:
    """Check that there are as many values as a format shows.

    Parameters:
        text: the format.
        parts: its parts.
        count: how many values there are.

    Raises:
        MalformedFormat: if there are not.
    """
    wanted = sum(isinstance(part, Shown) for part in parts)
    if wanted != count:
        raise MalformedFormat(
            f"the format {text!r} shows {wanted} {'value' if wanted == 1 else 'values'}, and "
            f"{count} {'is' if count == 1 else 'are'} given",
            where=caller_location(),
            remedy="write a value for each; %% prints a percent sign",
        )


def wrong_value(text: str, shown: Shown, what: str) -> MalformedFormat:
    """Return the error for a value that a format cannot show.

    Parameters:
        text: the format.
        shown: its part.
        what: what the value is.
    """
    takes = "a real number"
    remedy = "use .real and .imag of a complex number, and elements of an array"
    if shown.takes_text:
        takes, remedy = "a text", "numbers are shown by %d and %g"
    elif shown.takes_integer:
        takes, remedy = "an integer", "use %g, or int(...)"
    return MalformedFormat(
        f"'{shown.text}' shows {takes}, and {what} is given, in the format {text!r}",
        where=caller_location(),
        remedy=remedy,
    )


def _without(flags: str, letters: str) -> str:
    return "".join([flag for flag in flags if flag not in letters])


@public
def printf(format: str, *values: Any) -> None:  # noqa: A002  (as C calls it)
    r"""Print numbers by a format of C's, with no end of line but those in it.

    A function that `jit` compiles prints from its kernels, on all targets.  Formats are `%d`, `%i`,
    `%u`, `%x`, `%X`, `%o` and `%c` for integers, of any length; `%f`, `%e`, `%g` and theirs in
    capitals for all real numbers; `%s` for texts, and `%%`.

    Parameters:
        format: the text, with a ``%`` for each value.
        values: numbers and texts.

    Raises:
        MalformedFormat: if a value cannot be shown so, or there are more or fewer of them.

    >>> import polygen as pg
    >>> pg.printf("%3d: %.2f\n", 7, 0.125)
      7: 0.12
    """
    parts = parts_of_format(format)
    check_count(format, parts, len(values))
    given = iter(values)
    found = [
        part if isinstance(part, str) else _in_python(format, part, next(given)) for part in parts
    ]
    sys.stdout.write("".join(found))
    sys.stdout.flush()


def _in_python(text: str, shown: Shown, value: Any) -> str:
    given: Any = value
    if isinstance(value, np.ndarray) and not given.shape:
        given = given[()]
    if not _fits(shown, given):
        name = type(cast("object", given)).__name__
        raise wrong_value(text, shown, f"a value of the type {name}")
    return shown.in_python(given)


def _fits(shown: Shown, value: Any) -> bool:
    if shown.takes_text:
        return isinstance(value, str)
    integers = (int, np.integer, np.bool_)
    if shown.takes_integer:
        return isinstance(value, integers)
    return isinstance(value, (float, np.floating, *integers))
