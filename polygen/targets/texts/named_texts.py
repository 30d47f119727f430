"""Texts by name, from the files beside this one.

A line ``//: NAME, NAME`` begins a text and says what it is called; a line ``//< NAME`` stands for
a text further up in the file; a line ``//# ...`` is about the file, and left out::

    //# Total, as NumPy's is.
    //: mod u
    $T $name($T a, $T b)
    {
        return b == 0 ? 0 : a % b;
    }

A helper function is called ``NAME KIND``, with the kind of type that it is for as NumPy writes it:
``mod u``, or ``mad_sat u8`` for one that 8 bytes alone need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files


class Texts(Mapping[str, str]):
    """A mapping of texts that is made when one of them is first asked for.

    Parameters:
        read: makes it.
    """

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return self._read()

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def texts_of(*names: str) -> Texts:
    """Return the texts of files, which are read when one of them is first asked for."""
    return Texts(lambda: {name: text for file in names for name, text in _read(file).items()})


@cache
def _read(file: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    _, *sections = (
        files("polygen.targets.texts").joinpath(file).read_text(encoding="utf-8").split("\n//: ")
    )
    for section in sections:
        names, *lines = section.splitlines()
        lines = [_line(line, found) for line in lines if not line.startswith("//#")]
        found |= dict.fromkeys(names.split(", "), "\n".join(lines).strip("\n"))
    return found


def _line(line: str, found: Mapping[str, str]) -> str:
    return found[line.removeprefix("//< ")] if line.startswith("//< ") else line
