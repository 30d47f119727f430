"""The tables of docs/porting.md: ``python -m docs.site.porting`` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polygen as pg
from polygen.compat._table import ROWS, Row

PAGE = Path(__file__).parents[1] / "porting.md"
_LINE = "\n| --- | --- |\n"
_DIFFERS, _ABSENT = f"| in Loo.py | here |{_LINE}", f"| not here | instead |{_LINE}"
_OTHERWISE = f"| argument | means here |{_LINE}"


def _shown(name: str) -> str:
    """Return a name as scripts write it; ``set_options.edit_code`` is an argument."""
    function, dot, argument = name.partition(".")
    if not dot:
        return f"`lp.{name}`"
    return f"`{name}`" if function == "knl" else f"`{function}(..., {argument}=)`"


def _note(row: Row) -> str:
    ours = row.where.partition(":")[2]
    ignored = ", ".join(f"`{name}=`" for name in row.ignored)
    renamed = f"`lp.{ours}`" if ours in pg.__all__ and ours not in row.names else ""
    unused = f"nothing depends on {ignored}" if ignored else ""
    return "; ".join(filter(None, (renamed, row.note, unused)))


def _table(row: Row) -> str:
    return {"no": _ABSENT, "otherwise": _OTHERWISE}.get(row.where, _DIFFERS)


def _lines(head: str) -> Iterator[str]:
    for row in ROWS:
        note = _note(row)
        if note and _table(row) == head:
            names = row.names[0] if row.where == "page" else ", ".join(map(_shown, row.names))
            yield f"| {names} | {note} |\n"


def with_tables(text: str) -> str:
    """Return the text of the page with the tables of today."""
    for head in (_DIFFERS, _OTHERWISE, _ABSENT):
        before, _, rest = text.partition(head)
        after = rest.partition("\n\n")[2]
        text = f"{before}{head}{''.join(_lines(head))}\n{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
