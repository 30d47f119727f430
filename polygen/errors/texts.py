"""Parts of messages: what was meant, and where in a text something is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a remedy that names what is close to `name`, or what there is."""
    names = sorted(set(known))
    close = close_names(str(name), names)
    if close:
        return "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"there are: {shown}"


def close_names(name: str, known: Iterable[str], count: int = 2, alike: float = 0.5) -> list[str]:
    """Return the names, `count` of them at most, that are spelt like `name`, the closest first.

    Parameters:
        name: what was written.
        known: what there is.
        count: how many are returned at most.
        alike: how much of a name has to be the same, from 0 to 1.
    """
    return difflib.get_close_matches(name, sorted(set(known)), n=count, cutoff=alike)


def caret(text: str, column: int, length: int = 1) -> str:
    """Return `text` (one line) with a caret below the `column` (counted from 0)."""
    return f"{text}\n{' ' * column}{'^' * max(1, length)}"


def mark_lines(text: str, culprits: Iterable[str]) -> str:
    """Return `text` with an arrow before each line that is one of `culprits`."""
    marked = set(culprits)
    return "\n".join(("-> " if line in marked else "   ") + line for line in text.splitlines())
