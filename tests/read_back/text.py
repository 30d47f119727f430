"""Functions of generated code, translated to Python statement by statement."""

from __future__ import annotations

from tests.read_back.expected import Expected
from tests.read_back.expressions import TYPES, Expressions
from tests.read_back.tokens import WrongText, tokens
from tests.read_back.updates import Updates

_BLOCKS = ("{", "for", "if")
_ENDLESS = str(2**63 - 1)


class Reader(Updates):
    """Reads the definition of a function, from its parameters on.

    Parameters: those of `Declarations`.

    Attributes:
        loops: the counters of its loops.
        unrolled: those of loops that are to be unrolled.
        unordered: whether there are loops for threads or vectors.
    """

    def __init__(self, text: str, expected: Expected) -> None:
        super().__init__(text, expected)
        self.loops: set[str] = set()
        self.unrolled: set[str] = set()
        self.unordered = False
        self._collapse = 0
        self._only_a_loop = False
        self._team = False
        self.parameters()
        self.expect("{")
        while not self.accept("}"):
            self.statement()
        if self.word:
            raise WrongText(f"behind the function: {self.word}")

    def statement(self) -> None:
        """Read a statement."""
        fetched, word = self.fetched, self.word
        if word in _BLOCKS or word.startswith("#"):
            self._of_several(word)
        elif (line := self.written_vector("p" if self.threads else "s")) is not None:
            self.add(line)
        elif word == "(" and self.words[self.at + 1] == "void":
            self._left_alone()
        elif self.begins_type(self.at):
            self.declaration()
        elif word == "struct" or (word.startswith("pg_") and not self.is_known(word)):
            self.of_ours(word)
        elif word != "(" and self.words[self.at + 1] == "(" and not self.is_known(word):
            self.called(self.take())
        else:
            self.assignment("p" if self.threads else "s")
        if fetched and not word.startswith("__threadfence"):
            self.add(fetched)
            self.fetched = ""

    def _of_several(self, word: str) -> None:
        """Read a statement that others are part of."""
        if word == "{":
            self._block()
        elif word == "for":
            self._for("up")
        elif word == "if":
            self._if()
        else:
            self._directive(self.take())

    def _block(self) -> None:
        self.expect("{")
        if self.is_retry():
            self.retry()
            return
        self.scopes.append({})
        before = len(self.lines)
        if self._only_a_loop:
            self._only_a_loop = False
            self.statement()
            if self.word != "}":
                raise WrongText("loops that are one are no nest")
        while not self.accept("}"):
            self.statement()
        if len(self.lines) == before:
            self.add("pass")
        self.scopes.pop()

    def _inside(self) -> None:
        """Read what a loop or a condition holds."""
        self.depth += 1
        self.scopes.append({})
        before = len(self.lines)
        self.statement()
        if len(self.lines) == before:
            self.add("pass")
        self.scopes.pop()
        self.depth -= 1

    def _left_alone(self) -> None:
        """Read ``(void) n;``."""
        self.expect("(", "void", ")")
        self.known(self.take())
        self.expect(";")

    def _if(self) -> None:
        self.expect("if", "(")
        self.add(f"if {self.expression()}:")
        self.expect(")")
        self._inside()
        while self.accept("else"):
            if self.word == "if":
                self.expect("if", "(")
                self.add(f"elif {self.expression()}:")
                self.expect(")")
                self._inside()
            else:
                self.add("else:")
                self._inside()
                return

    def _for(self, order: str, accumulated: dict[str, str] | None = None) -> None:
        self.expect("for", "(")
        self.type_words()
        name = self.take()
        self.expect("=")
        first = self.expression()
        self.expect(";")
        self.scopes.append({})
        known = self.declare(name, "i")
        end, runs = self._while(name)
        self.expect(";")
        step = self._step(name)
        self.expect(")")
        self.loops.add(name)
        self.add(f"for {known.python} in run.{order}({first}, {end}, {step}):")
        if runs:
            self.depth += 1
            self.add(f"if not ({runs}): break")
            self.depth -= 1
        if accumulated is not None:
            self.around.append(accumulated)
            known.depth += 1
        self._perfectly_nested(name)
        self._inside()
        if accumulated is not None:
            self.around.pop()
            if self.mentions:
                raise WrongText(f"iterations in no order ask what '{self.mentions[0]}' is so far")
        self.scopes.pop()

    def _while(self, name: str) -> tuple[str, str]:
        """Return where a loop ends, and what it asks beside; nothing if that is all."""
        if self.word != name:  # a flag alone ends it
            return _ENDLESS, self.expression()
        self.take()
        sign = self.take()
        last = self.operand_of_and()
        if sign not in ("<", "<="):
            raise WrongText(f"the loop over '{name}' goes on while it is {sign} its end")
        end = last if sign == "<" else f"{last} + 1"
        return end, self.expression() if self.accept("&&") else ""

    def _step(self, name: str) -> int:
        if self.accept("++"):
            self.expect(name)
            return 1
        self.expect(name, "+=")
        return int(self.take())

    def _perfectly_nested(self, name: str) -> None:
        """Check that a loop that is one with the next is around nothing else."""
        if not self._collapse:
            return
        self._collapse -= 1
        if not self._collapse:
            return
        braces = self.word == "{"
        if self.words[self.at + braces] != "for":
            raise WrongText(f"the loops in '{name}' are no nest")
        self._only_a_loop = braces

    def _directive(self, line: str) -> None:
        words = line.removeprefix("#").split()
        if words[:2] == ["pragma", "unroll"] or words[:3] == ["pragma", "GCC", "unroll"]:
            if self.word != "for":
                raise WrongText(f"'{line}' is not ahead of a loop")
            type_at = self.at + 2
            while self.words[type_at] in TYPES:
                type_at += 1
            self.unrolled.add(self.words[type_at])
            return
        if words[:2] != ["pragma", "omp"]:
            raise WrongText(f"the directive '{line}'")
        if words[2] == "atomic":
            self.atomically(captures="capture" in words)
        elif words[2] == "master":
            self._on_one_thread()
        elif words[2] == "simd" or "for" in words:
            self._on_threads(line, words[2:])
        elif words[2].startswith("parallel"):
            if self.word != "{":
                raise WrongText("a team executes no block")
            self._team = True
            self.statement()
            self._team = False
        else:
            raise WrongText(f"the directive '{line}'")

    def _on_one_thread(self) -> None:
        self.statement()
        self.expect("pg_wait_for_team", "(", "pg_team", ")", ";")

    def _on_threads(self, line: str, words: list[str]) -> None:
        self.unordered = True
        before = self.threads
        clauses = Expressions(tokens(" ".join(words)))
        count, accumulated = self._clauses(clauses)
        if "for" in words:
            if self._team != ("parallel" not in words) or self._team != ("nowait" in words):
                raise WrongText(f"'{line}' does not fit a team, or its absence")
            if self.expected.parallel.get(self.words[self.at + 3], 0) < count:
                raise WrongText(f"'{line}' ahead of the loop over '{self.words[self.at + 3]}'")
            self.threads = True
        self._collapse = count
        self._for("any_order", accumulated)
        self.threads = before
        if self._team and "for" in words:
            self.expect("pg_wait_for_team", "(", "pg_team", ")", ";")

    def _clauses(self, clauses: Expressions) -> tuple[int, dict[str, str]]:
        """Return how many loops are one, and what is accumulated in which variable."""
        count, accumulated = 1, dict[str, str]()
        clauses.scopes = self.scopes
        while word := clauses.take():
            if word == "collapse":
                (text,) = clauses.arguments()
                count = int(text)
            elif word == "reduction":
                clauses.expect("(")
                operation = clauses.take()
                clauses.expect(":")
                accumulated[clauses.take()] = operation
                clauses.expect(")")
            elif word == "if":
                clauses.arguments()
            elif word == "schedule":
                clauses.expect("(", "dynamic", ",")
                clauses.expression()
                clauses.expect(")")
            elif word not in ("parallel", "for", "simd", "nowait"):
                raise WrongText(f"the clause '{word}'")
        return count, accumulated
