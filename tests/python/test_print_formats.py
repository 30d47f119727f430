"""`polygen.printf` in plain Python prints what C does."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedFormat
from polygen.python.print_formats import parts_of_format

FLAGS = ("", "-", "+", " ", "0", "+0", "-+", "0 ")
WIDTHS = ("", "1", "8")
INTEGERS = (0, 1, -1, 65, -300, 2**31, 2**62, -(2**63))
REALS = (0.0, -0.0, 1.5, -2.25, 1e-7, 123456789.0, 1e22, math.inf, -math.inf, math.nan, 0.1)


def in_c(form: str, *values: Any) -> str:
    """Return what the C library prints."""
    text = ctypes.create_string_buffer(400)
    ctypes.CDLL(None).snprintf(text, ctypes.c_size_t(400), form.encode(), *values)
    return text.value.decode()


def printed(capsys: pytest.CaptureFixture[str], form: str, *values: Any) -> str:
    pg.printf(form, *values)
    return str(capsys.readouterr().out)


@pytest.mark.parametrize("letter", ["d", "i", "u", "x", "X", "o"])
def test_integers(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in FLAGS:
        for width in WIDTHS:
            form = f"<%{flags}{width}l{letter}>"
            wanted = "".join([in_c(form, ctypes.c_longlong(value)) for value in INTEGERS])
            assert printed(capsys, form * len(INTEGERS), *INTEGERS) == wanted, form


@pytest.mark.parametrize("letter", ["f", "e", "g", "E", "G"])
def test_reals(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (*FLAGS, "#"):
        for more in (*WIDTHS, ".0", "9.3", ".", "12.10"):
            form = f"<%{flags}{more}{letter}>"
            wanted = "".join([in_c(form, ctypes.c_double(value)) for value in REALS])
            assert printed(capsys, form * len(REALS), *REALS) == wanted, form


def test_texts_characters_and_percent_signs(capsys: pytest.CaptureFixture[str]) -> None:
    form = "%s|%8s|%-6s|%.2s|%%|%c|%3c|%-3c|"
    values = ("ab", "cd", "e", "xyz", 65, 66, 67)
    given = [v.encode() if isinstance(v, str) else v for v in values]
    assert printed(capsys, form, *values) == in_c(form, *given)


def test_types_of_numpy_have_their_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "%x %x %x", np.int8(-1), np.int32(-1), -1) == f"ff ffffffff {'f' * 16}"
    assert printed(capsys, "%d %u", np.uint64(2**64 - 1), np.uint8(7)) == f"{2**64 - 1} 7"
    assert printed(capsys, "%lld %hd %d", np.int64(2**40), True, np.bool_(False)) == f"{2**40} 1 0"
    assert printed(capsys, "%.1f %g", np.float32(0.5), np.array(3)) == "0.5 3"


@pytest.mark.parametrize(
    ("form", "values", "said"),
    [
        ("%d", (), "shows 1 value, and 0 are given"),
        ("none", (1,), "shows 0 values, and 1 is given"),
        ("%d", (1.5,), "'%d' shows an integer, and a value of the type float"),
        ("%g", (1j,), "'%g' shows a real number, and a value of the type complex"),
        ("%s", (1,), "'%s' shows a text, and a value of the type int"),
        ("%d", (np.arange(2),), "a value of the type ndarray"),
        ("%q", (1,), "'%q' is no value of a format"),
        ("%*d", (1, 2), r"'%\*' is no value of a format"),
        ("50%", (), "'%' is no value of a format"),
        ("%.3d", (1,), "'%.3d' has a flag or digits that numbers with a point have alone"),
        ("%#x", (1,), "'%#x' has a flag or digits"),
        ("%+s", ("a",), r"'%\+s' has a flag that numbers have alone"),
        ("a\0b", (), "holds a character of number 0"),
    ],
)
def test_refused(form: str, values: tuple[Any, ...], said: str) -> None:
    with pytest.raises(MalformedFormat, match=said) as caught:
        pg.printf(form, *values)
    assert caught.value.remedy


def test_parts() -> None:
    text, shown, percent = parts_of_format("a %-5.1f%%")
    assert (text, percent) == ("a ", "%")
    assert not isinstance(shown, str)
    assert (shown.flags, shown.width, shown.precision, shown.conversion) == ("-", "5", "1", "f")
    assert shown.in_c(np.dtype("float64")) == "%-5.1lf"
    assert shown.in_c(np.dtype("float32")) == "%-5.1f"
