"""Places in files of the user's: their text, and the lines with carets that errors show."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from polygen.source import SeveralLocations, SourceLocation, caller_location, together


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return the name of a file of three lines."""
    path = tmp_path / "program.f90"
    path.write_text("do i = 1, n\n  \tx(i) =\ty(i) + ä(i)   \n\nend do")
    return str(path)


@pytest.mark.parametrize(
    ("line", "column", "end", "shown"),
    [
        (1, 0, 11, ("do i = 1, n", "^^^^^^^^^^^")),
        (1, 7, 11, ("do i = 1, n", "       ^^^^")),
        (1, 10, None, ("do i = 1, n", "          ^")),
        (1, 3, 3, ("do i = 1, n", "   ^^^^^^^^")),
        (1, 3, 1, ("do i = 1, n", "   ^^^^^^^^")),
        (1, 3, 99, ("do i = 1, n", "   ^^^^^^^^")),
        (1, 99, None, ("do i = 1, n", " " * 11 + "^")),
        (2, 10, 14, ("x(i) =\ty(i) + ä(i)", "      \t^^^^")),
        (2, 17, 21, ("x(i) =\ty(i) + ä(i)", "      \t       ^^^^")),
        (2, 0, 5, ("x(i) =\ty(i) + ä(i)", "^^")),
        (2, None, None, ("x(i) =\ty(i) + ä(i)",)),
        (3, 0, 1, ()),
        (4, 0, None, ("end do", "^^^^^^")),
        (5, 0, None, ()),
    ],
)
def test_lines_with_carets(
    file: str, line: int, column: int | None, end: int | None, shown: tuple[str, ...]
) -> None:
    assert SourceLocation(file, line, column, end).excerpt() == shown


def test_text() -> None:
    assert str(SourceLocation("a.py", 3)) == "a.py:3"
    assert str(SourceLocation("a.py", 3, 0, 5)) == "a.py:3:1"  # as editors count


def test_the_line_that_calls_is_not_shown_again() -> None:
    here = caller_location()
    assert here is not None
    assert here.file == __file__
    assert here.excerpt() == ()
    assert SourceLocation(here.file, here.line).excerpt() == ("here = caller_location()",)
    assert here == SourceLocation(here.file, here.line)


def test_lines_of_notebooks_are_those_that_python_keeps() -> None:
    name = "<cell 7 of a test>"
    linecache.cache[name] = (12, None, ["x = 1\n", "y = x\n"], name)
    try:
        assert SourceLocation(name, 2, 4, 5).excerpt() == ("y = x", "    ^")
    finally:
        del linecache.cache[name]
    assert SourceLocation(name, 2, 4, 5).excerpt() == ()


def test_a_changed_file_is_read_again(file: str) -> None:
    assert SourceLocation(file, 1).excerpt() == ("do i = 1, n",)
    Path(file).write_text("do j = 1, m, 2\n")
    assert SourceLocation(file, 1).excerpt() == ("do j = 1, m, 2",)


def test_several_places(file: str) -> None:
    first, second = SourceLocation(file, 1, 3, 4), SourceLocation("b.py", 2)
    both = together([first, None, second, first])
    assert isinstance(both, SeveralLocations)
    assert str(both) == f"{file}:1:4 and b.py:2"
    assert both.excerpt() == ("do i = 1, n", "   ^")
    assert together([None, second]) == second
    assert together([]) is None
