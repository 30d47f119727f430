"""Syntax in colours: of a kernel's text, and of generated source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from polygen.inspection.pages.elements import Html, element, joined
from polygen.ir.array import ValueArg
from polygen.ir.kernel import Kernel

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<directive>^\s*\#(?:[^\n\\]|\\.)*)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)[a-zA-Z]*\b|\.\d+\b)
    | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_KEYWORDS = frozenset(
    """
    break case const continue default do else enum extern for goto if inline register restrict
    return sizeof static struct switch typedef union volatile while template typename using
    __kernel __global __local __private __constant __attribute__ __global__ __device__ __shared__
    __restrict__ __launch_bounds__ __forceinline__ and or not min max mod exists
    """.split()  # noqa: SIM905
)
_TYPES = re.compile(
    r"(?:void|bool|char|short|int|long|float|double|half|signed|unsigned|size_t|ptrdiff_t"
    r"|u?int(?:8|16|32|64)(?:_t)?|float(?:16|32|64)|complex(?:64|128)|bfloat16"
    r"|(?:u?(?:char|short|int|long)|float|double|half)(?:2|3|4|8|16))$"
)


def roles(kernel: Kernel) -> dict[str, str]:
    """Return what the names of a kernel are: loops, arrays, temporaries, sizes."""
    found = {t.name: "temporary" for t in kernel.temporaries}
    for argument in kernel.arguments:
        found[argument.name] = "size" if isinstance(argument, ValueArg) else "array"
    return found | dict.fromkeys(kernel.inames, "iname")


def highlighted(text: str, names: Mapping[str, str]) -> Html:
    """Return text with its tokens in elements that have a class.

    Parameters:
        text: of a kernel, or generated source.
        names: the classes of names that mean something: see `roles`.

    >>> highlighted("a[i] < 2", {"i": "iname"})
    'a[<span class="iname">i</span>] &lt; <span class="number">2</span>'
    """
    return joined(_pieces(text, names))


def _pieces(text: str, names: Mapping[str, str]) -> Iterator[str]:
    end = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "word":
            kind = _kind_of_word(text, match, names)
        yield text[end : match.start()]
        yield element("span", match[0], class_=kind) if kind else match[0]
        end = match.end()
    yield text[end:]


def _kind_of_word(text: str, match: re.Match[str], names: Mapping[str, str]) -> str:
    word = match[0]
    if word in names:
        return names[word]
    if word in _KEYWORDS:
        return "keyword"
    if _TYPES.match(word):
        return "type"
    return "function" if text[match.end() : match.end() + 1] == "(" else ""


def difference(text: str) -> Html:
    """Return what `polygen.diff` says, with classes for what was there and what is there now."""
    lines: list[Html] = []
    for line in text.splitlines(keepends=True):
        kind = {"+ ": "added", "- ": "removed"}.get(line[:2], "title")
        # The signs at their beginnings tell them apart where colours do not.
        lines.append(element("span", line, class_=kind))
    return element("span", *lines, class_="lines")
