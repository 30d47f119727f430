"""Words of generated code: C, OpenCL C and CUDA C++."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]*)
  | (?P<pragma>\#[^\n]*)
  | (?P<number>0x[0-9a-fA-F.]+p[+-]?\d+[fF]? | 0x[0-9a-fA-F]+[uUlL]*
      | (?:\d+\.\d* | \.\d+ | \d+(?=[eE]))(?:[eE][+-]?\d+)?[fF]? | \d+[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><<= | >>= | \+\+ | -- | <= | >= | == | != | && | \|\| | << | >> | [-+*/%&|^]= | .)
    """,
    re.VERBOSE,
)


class NotRead(Exception):
    """The program has something that the reader does not look at."""


class WrongText(Exception):
    """The text cannot mean what the loop program does, or the reader does not know it."""


def tokens(text: str) -> list[str]:
    """Return the words and signs of a text, each directive as one."""
    return [m[0] for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]


def number(token: str) -> int | float:
    """Return the value of a literal."""
    if token.startswith("0x") and "p" in token:
        return float.fromhex(token.rstrip("fF"))
    if token.startswith("0x"):
        return int(token.rstrip("uUlL"), 16)
    if "." in token or "e" in token or "E" in token:
        return float(token.rstrip("fF"))
    return int(token.rstrip("uUlL"))


_FUNCTION = r"^[^\n(;#]*\b{0}\("


def function_text(source: str, name: str) -> str:
    """Return the definition of a function, from its parameters on."""
    for found in re.finditer(_FUNCTION.format(re.escape(name)), source, re.MULTILINE):
        end = source.find("\n}", found.end())
        begin = source.find("\n{", found.end())
        between = source[found.end() : begin]
        if 0 <= begin < end and ";" not in between and "{" not in between:
            return source[found.end() - 1 : end + 2]
    raise WrongText(f"there is no function '{name}'")
