"""HTML, written so that no text of the user's can become a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from polygen.errors import UserError

_EMPTY = frozenset(("meta", "line", "path", "rect"))  # elements without an end tag, or drawn alone


class Html(str):
    """Text that is HTML already.  Everything else is escaped where it is put into an element."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str) -> Html:
    """Return an element.

    Parameters:
        name: of the element.
        children: its content: HTML as it is, other text escaped.
        attributes: their values are escaped; ``class_`` stands for ``class``, and ``_`` elsewhere
            for ``-``.

    >>> element("p", "a < b ", element("b", "&"), class_="note")
    '<p class="note">a &lt; b <b>&amp;</b></p>'
    """
    written = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    if name in _EMPTY and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Return parts one after the other: HTML as it is, other text escaped."""
    return Html(between.join(p if isinstance(p, Html) else escape(p) for p in parts))


def folded(summary: str, *content: str, is_open: bool = False, **attributes: str) -> Html:
    """Return what opens and closes by a click or a key, without a script."""
    opened = {"open": "open"} if is_open else {}
    return element("details", element("summary", summary), *content, **attributes, **opened)


def code(*lines: str) -> Html:
    """Return a block of text in which spaces and lines count; it can be scrolled sideways."""
    # A block that scrolls has to be in reach of the keyboard, and so has to have a role.
    return element("pre", joined(lines, "\n"), tabindex="0", role="group", aria_label="text")


def refusal(error: UserError) -> Html:
    """Return why something is not there."""
    return element("p", f"{type(error).__name__}: {error}", class_="refusal")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    """Return a table; the first cell of each row is its title."""
    titles = joined(element("th", title, scope="col") for title in head)
    lines: list[Html] = []
    for first, *others in rows:
        cells = [element("th", first, scope="row"), *(element("td", cell) for cell in others)]
        lines.append(element("tr", *cells))
    body = element("thead", element("tr", titles)) + element("tbody", *lines)
    whole = element("table", Html(body))
    return element("div", whole, class_="wide", tabindex="0", role="group", aria_label="table")
