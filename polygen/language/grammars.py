"""The parsers of the grammars in this folder, from tables that lark made ahead of time.

lark takes longer to make the tables of a grammar than all else that a first kernel takes; to read
them takes a twentieth of that.  So ``python -m polygen.language.grammars`` writes them beside the
grammars, whenever one has changed.  Tables of another grammar, or of another release of lark, are
left alone: then lark makes them anew, in each process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import lark

_FOLDER = Path(__file__).parent
_LARK: Any = lark.Lark  # only some of whose methods say their types


@dataclass(frozen=True)
class _Grammar:
    """The files and options that a parser is made of.

    Attributes:
        files: of this folder, which make up the grammar together.
        start: the rules that a text may be.
        callbacks: a class that has a method for each rule, which is called where a tree would be
            built.
    """

    files: tuple[str, ...]
    start: tuple[str, ...]
    callbacks: str

    def text(self) -> str:
        """Return the grammar."""
        return "\n".join((_FOLDER / file).read_text(encoding="utf-8") for file in self.files)

    def key(self) -> bytes:
        """Return what tables depend on; the files with tables begin with it."""
        release = lark.__version__.rpartition(".")[0]
        return f"lark {release}\n{' '.join(self.start)}\n{self.text()}\0".encode()

    def made(self) -> Any:
        """Return the parser, with tables that are made anew."""
        return _LARK(
            self.text(),
            parser="lalr",
            start=list(self.start),
            transformer=resolve_name(self.callbacks)(),
            maybe_placeholders=False,
        )


GRAMMARS = {
    "instructions": _Grammar(
        ("grammar.lark",),
        ("instruction", "rule", "test", "expressions", "block"),
        "polygen.language.nodes:Nodes",
    ),
    "kernels": _Grammar(
        ("grammar.lark", "kernel.lark"),
        ("reduction", "argument_line", "temporary", "tag", "priority"),
        "polygen.language.kernel_lines:KernelNodes",
    ),
    "queries": _Grammar(("query.lark",), ("query",), "polygen.language.queries:Queries"),
    "domains": _Grammar(("domain.lark",), ("start",), "polygen.language.explain_domain:Constants"),
}


@cache
def parser(name: str) -> Any:
    """Return lark's parser of ``"instructions"``, ``"kernels"``, ``"queries"`` or ``"domains"``."""
    grammar = GRAMMARS[name]
    key = grammar.key()
    kept = _tables(name).read_bytes()
    if not kept.startswith(key):
        return grammar.made()
    return _LARK.load(BytesIO(kept[len(key) :]))


def _tables(name: str) -> Path:
    return _FOLDER / f"{name}.tables"


def main() -> None:
    """Write the tables of all grammars."""
    for name, grammar in GRAMMARS.items():
        tables = BytesIO()
        grammar.made().save(tables)
        _tables(name).write_bytes(grammar.key() + tables.getvalue())


if __name__ == "__main__":
    main()
