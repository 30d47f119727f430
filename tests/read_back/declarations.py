"""Functions of generated code: what they begin with, and declare."""

from __future__ import annotations

from typing import Any

from tests.read_back.expected import AS, Expected
from tests.read_back.expressions import FIELDS, Known, kind_of
from tests.read_back.tokens import WrongText, tokens
from tests.read_back.vectors import Vectors

_PLACES = {"run.sizes['l', 0]": "x", "run.sizes['l', 1]": "y"}
CONVERT = {"i": "to_integer", "f": "to_real", "b": "bool", "c": "to_complex"}


class Declarations(Vectors):
    """Reads parameters and declarations.

    Parameters:
        text: the definition of a function, from its parameters on.
        expected: what it is to be about.

    Attributes:
        lines: its body, in Python.
        pool: where variables begin that are parts of a group's memory, in bytes.
        registers: how many there are in each part of a matrix that was loaded.
        places: names of the work item's place along the first two axes: ``x`` or ``y``.
    """

    def __init__(self, text: str, expected: Expected) -> None:
        super().__init__(tokens(text))
        self.expected, self.complexes = expected, expected.complexes
        self.reals = frozenset([n for n, kind in expected.declared.items() if kind == "f"])
        self.lines: list[str] = []
        self.pool: dict[str, int] = {}
        self.places: dict[str, str] = {}
        self.registers: dict[str, int] = {}
        self.depth = 1
        self._names = 0
        self.threads = expected.grid or expected.in_parallel
        # Loops for threads or vectors around: what these accumulate, with which operation.
        self.around: list[dict[str, str]] = []
        self.mentions: list[str] = []  # of these, where the value so far is asked for

    def add(self, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * self.depth + text)

    def declare(self, name: str, kind: str, **more: Any) -> Known:
        """Declare a variable, and say what it is called in Python."""
        self._names += 1
        known = Known(f"t{self._names}_{name}", kind, depth=len(self.around), **more)
        self.scopes[-1][name] = known
        return known

    def parameters(self) -> None:
        """Read the parameters, which have to be those that are expected."""
        self.expect("(")
        found: list[str] = []
        while not self.accept(")"):
            if self.word == "void" and self.words[self.at + 1] == ")":
                self.at += 1
                continue
            found.append(self._parameter())
            if self.word != ")":
                self.expect(",")
        if found != list(self.expected.arguments):
            raise WrongText(f"parameters {found}, not {[*self.expected.arguments]}")

    def _parameter(self) -> str:
        words = [self.take(), self.take()] if self.word == "read_only" else self.type_words()
        lanes = 1 if words[0] == "read_only" else self.lanes
        while self.words[self.at + 1] not in (",", ")"):
            words.append(self.take())
        name = self.take()
        wanted = self.expected.arguments.get(name)
        kind = kind_of(words)
        if wanted is None or wanted.is_array != ("*" in words or words[0] == "read_only"):
            raise WrongText(f"parameter '{name}' is {' '.join(words)}")
        if kind not in AS[wanted.kind] and words[0] != "read_only":
            raise WrongText(f"parameter '{name}' is {' '.join(words)}")
        if {"restrict", "__restrict__"} & {*words} and name in self.expected.overlapping:
            raise WrongText(f"'{name}' may overlap others, and is restrict")
        if wanted.is_array:
            known = self.declare(name, kind, in_memory=True, own=False, lanes=lanes)
            self.add(f"{known.python} = run.array({name!r}, {wanted.kind!r})")
        else:
            known = self.declare(name, kind)
            self.add(f"{known.python} = run.sizes[{name!r}]")
        return name

    def declaration(self) -> None:
        """Read a declaration."""
        if self.accept("extern"):
            while self.take() != ";":
                pass
            return
        words = self.type_words()
        lanes = self.lanes
        if self.word in ("*", "&"):
            self._in_pool(words)
            return
        name = self.take()
        kind, shared = self._kind(name, words), bool({"__local", "__shared__"} & {*words})
        if self.accept("["):
            self.expression()
            self.expect("]")
            self._attribute()
            if self.accept("="):
                self._table(self.declare(name, kind, in_memory=True), name, kind)
                return
            self.expect(";")
            self.memory(name, kind, shared=shared, lanes=lanes)
        elif shared:
            self._attribute()
            self.expect(";")
            self.memory(name, kind, shared=True, alone=True, lanes=lanes)
        else:
            self._variable(name, kind, lanes)

    def _variable(self, name: str, kind: str, lanes: int) -> None:
        """Read the rest of the declaration of a variable that a work item has to itself."""
        value = self.expression() if self.accept("=") else ""
        self._attribute()
        self.expect(";")
        if value.startswith("opaque") and self._has_several(name):
            known = self.declare(name, kind)
            self.results.add(known.python)
        else:
            known = self.declare(name, kind, lanes=lanes)
            if value in _PLACES:
                self.places[known.python] = _PLACES[value]
            none = "None" if lanes == 1 else f"Lanes([None] * {lanes})"
            value = f"{CONVERT[kind]}({value})" if value else none
        self.add(f"{known.python} = {value}")

    def _has_several(self, name: str) -> bool:
        """Tell whether a variable that has no name in the program has results by their fields."""
        if name in self.expected.declared or name not in self.words[self.at :]:
            return False
        used = self.words.index(name, self.at)
        return self.words[used + 1] == "." and self.words[used + 2] in FIELDS

    def _kind(self, name: str, words: list[str]) -> str:
        """Return of what kind a variable is, whose type may be wider than it says."""
        kind = kind_of(words)
        wanted = self.expected.declared.get(name, kind)
        if kind not in AS[wanted]:
            raise WrongText(f"'{name}' is {' '.join(words)}")
        return "f" if wanted == "h" else wanted

    def _attribute(self) -> None:
        if self.accept("__attribute__"):
            self.expect("(", "(", "aligned")
            self.arguments()
            self.expect(")", ")")

    def memory(self, name: str, kind: str, *, shared: bool, **more: Any) -> None:
        """Declare an array, or what a group has one of."""
        known = self.declare(name, kind, in_memory=True, own=not shared, **more)
        made = f"run.{'array' if shared else 'own'}({name!r}, {kind!r})"
        self.add(f"{known.python} = {made}")

    def _in_pool(self, words: list[str]) -> None:
        """Read ``float *a = (float *) (pg_shared + 16);``."""
        lanes, alone = self.lanes, self.take() == "&"
        name = self.take()
        self.expect("=")
        place = 0
        while (word := self.take()) != ";":
            place = int(word) if word.isdigit() else place
        self.pool[name] = place
        self.memory(name, self._kind(name, words), shared=True, alone=alone, lanes=lanes)

    def _table(self, known: Known, name: str, kind: str) -> None:
        """Read the elements of a table."""
        self.expect("{")
        found: list[str] = []
        while not self.accept("}"):
            found.append(self.expression())
            self.accept(",")
        self.expect(";")
        self.add(f"{known.python} = run.table({name!r}, {kind!r}, [{', '.join(found)}])")

    def written_by_others(self, name: str) -> None:
        """Let a variable have what C of the user's may have written to it."""
        known = self.known(name)
        if not known.in_memory:
            value = f"{CONVERT[known.kind]}(run.written_by_others({name!r}))"
            self.add(f"{known.python} = {value}")
