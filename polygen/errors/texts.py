"""Parts of messages: what was meant, and where in a text something is wrong."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping


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


_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_CARETS = re.compile(r" *\^+ *")


def names_used(text: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names in a text that a user calls otherwise, each with what it is called.

    Parameters:
        text: what a message says.
        names: of all names of a kernel, what the user calls them, if only by the same name.
    """
    found = dict.fromkeys(word for word in _WORD.findall(text) if word in names)
    return {name: names[name] for name in found if name != names[name]}


def unambiguous(names: Mapping[str, str]) -> dict[str, str]:
    """Return what the user calls names, of those for which no other name has that: for tables."""
    meanings = Counter(names.values())
    return {name: called for name, called in names.items() if meanings[called] == 1}


def in_users_words(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names as the user wrote them, where these do not mean two things there.

    Carets stay below what they mark.

    Parameters:
        text: what a message says.
        names: as for `names_used`.
    """
    known = {word for word in _WORD.findall(text) if word in names}
    meanings = Counter(names[word] for word in known)
    shown = {word: names[word] for word in known if meanings[names[word]] == 1}
    lines = text.split("\n")
    renamed = [
        _moved(line, before, shown) if _CARETS.fullmatch(line) else _renamed(line, shown)
        for before, line in zip(["", *lines], lines, strict=False)
    ]
    return "\n".join(renamed)


def _renamed(line: str, shown: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: shown.get(match[0], match[0]), line)


def _moved(carets: str, line: str, shown: Mapping[str, str]) -> str:
    """Return carets below a line as they are below that line with other names."""
    start, end = carets.index("^"), len(carets.rstrip())
    first, last = (len(_renamed(line[:at], shown)) for at in (start, end))
    return " " * first + "^" * max(1, last - first)
