"""Functions of generated code, translated to Python statement by statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.read_back.expressions import TYPES, Expressions, Known, kind_of
from tests.read_back.tokens import NotRead, WrongText, tokens
from tests.read_back.vectors import Vectors

_CONVERT = {"i": "to_integer", "f": "to_real", "b": "bool", "c": "to_complex"}
_UPDATES = {
    **{"+=": "+", "-=": "-", "*=": "*", "&=": "&", "|=": "|", "^=": "^"},
    **{"/=": "divided", "%=": "left_over", "<<=": "left_shift", ">>=": "right_shift"},
}
_ATOMIC = {
    **{"add": "({0} + {1})", "sub": "({0} - {1})", "and": "({0} & {1})", "or": "({0} | {1})"},
    **{"xor": "({0} ^ {1})", "exch": "{1}", "min": "least({0}, {1})", "max": "largest({0}, {1})", "xchg": "{1}"},
}
_FENCES = {"CLK_LOCAL_MEM_FENCE": "l", "CLK_GLOBAL_MEM_FENCE": "g"}


# The types that a text may have for one: OpenCL has no truth values in memory, C no bfloat16.
_AS = {"i": "i", "f": "f", "c": "c", "b": "bi", "h": "if"}


class Parameter(NamedTuple):
    """A parameter of a function: of what kind, and whether it is an array."""

    kind: str
    is_array: bool


@dataclass
class Expected:
    """What a text is to be about.

    Attributes:
        arguments: the parameters by name, in order.
        grid: whether work items run it.
        verbatim: the C of the user's that is in it, and what it writes.
        functions: those of the program that it may call.
        in_parallel: whether several threads may call it.
        parallel: how many loops, from one of a name on, may run on threads together.
        overlapping: the arrays that may overlap others.
        alignments: what arrays begin at a multiple of, if that is known.
        complexes: whether there are complex numbers.
        declared: the kinds of variables that are declared.
    """

    arguments: Mapping[str, Parameter]
    grid: bool
    verbatim: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    in_parallel: bool = False
    parallel: Mapping[str, int] = field(default_factory=dict)
    overlapping: frozenset[str] = frozenset()
    alignments: Mapping[str, int | None] = field(default_factory=dict)
    complexes: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)


class Reader(Vectors):
    """Reads the definition of a function, from its parameters on.

    Parameters:
        text: the definition.
        expected: what it is to be about.

    Attributes:
        lines: its body, in Python.
        loops: the counters of its loops.
        unrolled: those of loops that are to be unrolled.
        unordered: whether there are loops for threads or vectors.
        pool: where variables begin that are parts of a group's memory, in bytes.
    """

    def __init__(self, text: str, expected: Expected) -> None:
        super().__init__(tokens(text))
        self.expected, self.complexes = expected, expected.complexes
        self.lines: list[str] = []
        self.loops: set[str] = set()
        self.unrolled: set[str] = set()
        self.unordered = False
        self.pool: dict[str, int] = {}
        self._depth = 1
        self._names = 0
        self._threads = expected.grid or expected.in_parallel
        # Loops for threads or vectors around: what these accumulate, with which operation.
        self._around: list[dict[str, str]] = []
        self._collapse = 0
        self._only_a_loop = False
        self._team = False
        self._parameters()
        self.expect("{")
        while not self.accept("}"):
            self.statement()
        if self.word:
            raise NotRead(f"behind the function: {self.word}")

    def add(self, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * self._depth + text)

    def declare(self, name: str, kind: str, **more: Any) -> Known:
        """Declare a variable, and say what it is called in Python."""
        self._names += 1
        known = Known(f"t{self._names}_{name}", kind, depth=len(self._around), **more)
        self.scopes[-1][name] = known
        return known

    # --- parameters

    def _parameters(self) -> None:
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
        if kind not in _AS[wanted.kind] and words[0] != "read_only":
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

    # --- statements

    def statement(self) -> None:
        """Read a statement."""
        word = self.word
        if (line := self.written_vector("p" if self._threads else "s")) is not None:
            self.add(line)
        elif word.startswith("#"):
            self._directive(self.take())
        elif word == "{":
            self._block()
        elif word == "for":
            self._for("up")
        elif word == "if":
            self._if()
        elif word == "(" and self.words[self.at + 1] == "(":
            self._part_of_vector()
        elif word == "(":
            self._left_alone()
        elif self.begins_type(self.at):
            self._declaration()
        elif word == "struct" or word.startswith("pg_") and not self.is_known(word):
            self._of_ours(word)
        elif self.words[self.at + 1] == "(" and not self.is_known(word):
            self._called(self.take())
        else:
            self._assignment("p" if self._threads else "s")

    def _block(self) -> None:
        self.expect("{")
        if self._is_retry():
            self._retry()
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
        self._depth += 1
        self.scopes.append({})
        before = len(self.lines)
        self.statement()
        if len(self.lines) == before:
            self.add("pass")
        self.scopes.pop()
        self._depth -= 1

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
        if self.take() != name:
            raise WrongText(f"the loop over '{name}' compares something else")
        sign = self.take()
        last = self.expression()
        if sign not in ("<", "<="):
            raise WrongText(f"the loop over '{name}' goes on while it is {sign} its end")
        end = last if sign == "<" else f"{last} + 1"
        self.expect(";")
        step = self._step(name)
        self.expect(")")
        self.loops.add(name)
        self.add(f"for {known.python} in run.{order}({first}, {end}, {step}):")
        if accumulated is not None:
            self._around.append(accumulated)
            known.depth += 1
        self._perfectly_nested(name)
        self._inside()
        if accumulated is not None:
            self._around.pop()
        self.scopes.pop()

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

    # --- directives

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
            raise NotRead(f"the directive '{line}'")
        if words[2] == "atomic":
            self._assignment("a")
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
            raise NotRead(f"the directive '{line}'")

    def _on_one_thread(self) -> None:
        self.statement()
        self.expect("pg_wait_for_team", "(", "pg_team", ")", ";")

    def _on_threads(self, line: str, words: list[str]) -> None:
        self.unordered = True
        before = self._threads
        clauses = Expressions(tokens(" ".join(words)))
        count, accumulated = self._clauses(clauses)
        if "for" in words:
            if self._team != ("parallel" not in words) or self._team != ("nowait" in words):
                raise WrongText(f"'{line}' does not fit a team, or its absence")
            if self.expected.parallel.get(self.words[self.at + 3], 0) < count:
                raise WrongText(f"'{line}' ahead of the loop over '{self.words[self.at + 3]}'")
            self._threads = True
        self._collapse = count
        self._for("any_order", accumulated)
        self._threads = before
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
                raise NotRead(f"the clause '{word}'")
        return count, accumulated

    # --- declarations

    def _declaration(self) -> None:
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
            self._memory(name, kind, shared=shared, lanes=lanes)
        elif shared:
            self._attribute()
            self.expect(";")
            self._memory(name, kind, shared=True, alone=True, lanes=lanes)
        else:
            value = "None" if lanes == 1 else f"Lanes([None] * {lanes})"
            if self.accept("="):
                value = f"{_CONVERT[kind]}({self.expression()})"
            self._attribute()
            self.expect(";")
            known = self.declare(name, kind, lanes=lanes)
            if lanes > 1 and "(opaque(" in value:  # results that are a vector
                known.lanes = 1
                self.results.add(known.python)
            self.add(f"{known.python} = {value}")

    def _kind(self, name: str, words: list[str]) -> str:
        """Return of what kind a variable is, whose type may be wider than it says."""
        kind = kind_of(words)
        wanted = self.expected.declared.get(name, kind)
        if kind not in _AS[wanted]:
            raise WrongText(f"'{name}' is {' '.join(words)}")
        return "f" if wanted == "h" else wanted

    def _attribute(self) -> None:
        if self.accept("__attribute__"):
            self.expect("(", "(", "aligned")
            self.arguments()
            self.expect(")", ")")

    def _memory(self, name: str, kind: str, *, shared: bool, **more: Any) -> None:
        known = self.declare(name, kind, in_memory=True, own=not shared, **more)
        made = f"run.array({name!r}, {kind!r})" if shared else f"Memory({name!r}, {kind!r}, None)"
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
        self._memory(name, self._kind(name, words), shared=True, alone=alone, lanes=lanes)

    def _table(self, known: Known, name: str, kind: str) -> None:
        """Read the elements of a table."""
        self.expect("{")
        found: list[str] = []
        while not self.accept("}"):
            found.append(self.expression())
            self.accept(",")
        self.expect(";")
        self.add(f"{known.python} = run.table({name!r}, {kind!r}, [{', '.join(found)}])")

    def _of_ours(self, word: str) -> None:
        if word == "pg_wait_for_team":
            raise WrongText("a team waits behind no loop")
        if word == "pg_wait":
            self.expect("pg_wait", "(", ")", ";")
            self.add("run.note('wait')")
        elif word == "pg_verbatim":
            self._verbatim()
        elif word == "pg_add_half":
            self.at += 1
            self._atomic("atomicAdd")
        elif word == "pg_copy":
            self._copy()
        elif word in ("struct",) or self.words[self.at + 1].isidentifier():
            # The results of a function that has several: const name = call;
            self.at += 2 if word == "struct" else 1
            self.accept("const")
            name = self.take()
            self.expect("=")
            value = self.expression()
            self.expect(";")
            results = self.declare(name, "f").python
            self.results.add(results)
            self.add(f"{results} = {value}")
        else:
            raise NotRead(f"'{word}'")

    def _verbatim(self) -> None:
        self.expect("pg_verbatim", "(")
        code, written = self.expected.verbatim[int(self.take())]
        given: list[str] = []
        while self.accept(","):
            given.append(self.expression())
        self.expect(")", ";")
        self.add(f"run.note('verbatim', {code!r}, {', '.join(given)})")
        for name in written:
            self._written_by_others(name)

    def _written_by_others(self, name: str) -> None:
        known = self.known(name)
        if not known.in_memory:
            value = f"{_CONVERT[known.kind]}(run.written_by_others({name!r}))"
            self.add(f"{known.python} = {value}")

    def _copy(self) -> None:
        """Read ``pg_copy(&a[i], &b[j]);``: it may be made at once."""
        self.expect("pg_copy", "(")
        if self.word == "(":
            to, at, count = self.pointer_cast()
            self.expect(",")
            value = "load({}, {}, {})".format(*self.pointer_cast())
            self.add(f"store({to}, {at}, {value}, 'p')")
        else:
            self.expect("&")
            known = self.known(self.take())
            at = self.key(known)
            self.expect(",", "&")
            self.add(f"{known.python}.put({at}, {self.expression()}, 'p')")
        self.expect(")", ";")

    # --- what is done

    def _assignment(self, how: str) -> None:
        if self.word == "(":
            self._part_of_vector()
            return
        name = self.take()
        known = self.known(name)
        if known.in_memory and not known.alone and self.accept("="):
            self._aligned(name)
        elif known.in_memory:
            at = self.key(known)
            part = self.component() if known.lanes > 1 else None
            self._write(known, at, part, how)
        else:
            begin = self.at
            part = self.component() if known.lanes > 1 else None
            self._write(known, "", part, how)
            self._check_accumulated(name, known, self.words[begin], self.words[begin + 1])

    def _part_of_vector(self) -> None:
        known, at, part = self.part_of_vector()
        self._write(known, at if known.in_memory else "", part, "p" if self._threads else "s")

    def _write(self, known: Known, at: str, part: str | None, how: str) -> None:
        """Read what is written to an element of an array, or to a variable, or a part of it."""
        to = known.python
        if at and known.lanes > 1 and part is None:
            old = f"whole({to}, {at}, {known.lanes})"
            line = f"put_whole({to}, {at}, {{}}, {how!r}, {known.lanes})"
        elif at:
            key = at if part is None else f"({at}, {part})"
            old, line = f"{to}[{key}]", f"{to}.put({key}, {{}}, {how!r})"
        elif part is not None:
            old, line = f"{to}[{part}]", f"{to} = changed({to}, {part}, {{}})"
        else:
            old, line = to, f"{to} = {_CONVERT[known.kind]}({{}})"
        sign = self.take()
        value = self.expression()
        self.expect(";")
        if sign in _UPDATES:
            made = _UPDATES[sign]
            value = f"{made}({old}, {value})" if made.isidentifier() else f"({old} {made} {value})"
        elif sign != "=":
            raise NotRead(f"the assignment with '{sign}'")
        self.add(line.format(value))

    def _aligned(self, name: str) -> None:
        """Read ``a = __builtin_assume_aligned(a, 16);``."""
        self.expect("__builtin_assume_aligned", "(", name, ",")
        if self.take() != str(self.expected.alignments.get(name)):
            raise WrongText(f"'{name}' is said to be more aligned than it is")
        self.expect(")", ";")

    def _check_accumulated(self, name: str, known: Known, sign: str, first: str) -> None:
        """Check that what all iterations share is accumulated, as is said."""
        for around in self._around[known.depth :]:
            operation = around.get(name, "")
            same = sign == f"{operation}=" or first == operation
            if not operation or not (same or first.startswith(f"pg_{operation}_")):
                raise WrongText(f"iterations in no order share '{name}', {sign} {first}")

    def _called(self, name: str) -> None:
        if name == "barrier":
            self.expect("(")
            spaces = [_FENCES[self.take()]]
            while self.accept("|"):
                spaces.append(_FENCES[self.take()])
            self.expect(")", ";")
            self.add(f"run.note('barrier', {''.join(sorted(spaces))!r})")
        elif name == "__syncthreads":
            self.expect("(", ")", ";")
            self.add("run.note('barrier', None)")
        elif name == "vstore_half_rte":
            self.expect("(")
            value = self.expression()
            self.expect(",")
            at = self.expression()
            self.expect(",")
            array = self.known(self.take()).python
            self.expect(")", ";")
            self.add(f"{array}.put({at}, {value}, 'p')")
        elif name.startswith(("atomic_", "atom_", "atomicA", "atomicE", "atomicM", "atomicO", "atomicX")):
            self._atomic(name)
        elif name in self.expected.functions:
            self._function(name)
        elif name.startswith("__threadfence"):
            self.expect("(", ")", ";")
        else:
            raise NotRead(f"a call of '{name}'")

    def _atomic(self, name: str) -> None:
        operation = name.removeprefix("atomic_").removeprefix("atom_").removeprefix("atomic").lower()
        operation = operation.removesuffix("_block").removesuffix("_system")
        if operation not in _ATOMIC:
            raise NotRead(f"a call of '{name}'")
        self.expect("(")
        known, at = self._updated()
        self.expect(",")
        value = self.expression()
        self.expect(")", ";")
        made = _ATOMIC[operation].format(f"{known.python}[{at}]", value)
        self.add(f"{known.python}.put({at}, {made}, 'a')")

    def _updated(self) -> tuple[Known, str]:
        """Read ``(int *) &a[i]``."""
        if self.accept("("):
            while self.take() != ")":
                pass
        self.expect("&")
        return self._element()

    def _element(self) -> tuple[Known, str]:
        if self.word == "(":  # a part of a vector
            known, at, part = self.part_of_vector()
            return known, f"{at}, {part}"
        known = self.known(self.take())
        if not known.in_memory:
            raise NotRead("an update of a variable")
        at = self.key(known)
        part = self.component() if known.lanes > 1 else None
        return known, at if part is None else f"({at}, {part})"

    def _function(self, name: str) -> None:
        """Read a call of a function of the program."""
        self.expect("(")
        given: list[str] = []
        while not self.accept(")"):
            given.append(self._given())
            self.accept(",")
        self.expect(";")
        self.add(f"run.note('call', {name!r}, {', '.join(given)})")
        for written in self.expected.functions[name]:
            self._written_by_others(written)

    def _given(self) -> str:
        """Read an argument: where a part of an array begins, or a number."""
        pointer = self.accept("&")
        known = self.known(self.word) if self.is_known(self.word) else None
        if known is not None and (pointer or (known.in_memory and self.words[self.at + 1] != "[")):
            name = self.take()
            at = self.expression() if self.accept("+") else "0"
            return f"({name!r}, {at})"
        return self.expression()

    # --- updates that are tried again

    def _end_of_block(self) -> int:
        depth, at = 1, self.at
        while depth:
            depth += {"{": 1, "}": -1}.get(self.words[at], 0)
            at += 1
        return at

    def _is_retry(self) -> bool:
        """Tell whether a block updates something until nobody else has in between."""
        until = self._end_of_block()
        inside = self.words[self.at : until]
        return "do" in inside and inside.index("do") < [*inside, "{"].index("{")

    def _retry(self) -> None:
        until = self._end_of_block() - len(self.words)
        while self.take() != "&" or not self.is_known(self.word) and self.word != "(":
            pass
        known, at = self._element()
        while self.take() != "do":
            pass
        while self.take() != "const" or not self._begins_old():
            pass
        self.scopes.append({})
        old = self.declare(self.words[self.at], known.kind)
        self.add(f"{old.python} = {known.python}[{at}]")
        while self.take() != ";":
            pass
        self._to_bits()
        self.add(f"{known.python}.put({at}, {self.unary()}, 'a')")
        self.scopes.pop()
        self.at = until + len(self.words)

    def _begins_old(self) -> bool:
        """Tell whether this is no part of a word."""
        end = self.words.index(";", self.at)
        return ">>" not in self.words[self.at : end]

    def _to_bits(self) -> None:
        """Go on to the bits of the new value, and put them in parentheses."""
        end = self.words.index(";", self.at)
        inside = self.words[self.at : end]
        if "|" in inside:  # with the rest of a word, shifted
            self.at += len(inside) - inside[::-1].index("|")
            while self.take() != ")":  # of the type
                pass
            return
        self.at += inside.index("=") + 1
        if self.word in ("atomic_cmpxchg", "atom_cmpxchg") or self.word.startswith("atomicCAS"):
            self.at += 6  # (place, seen,
            end -= 1
        self.words[self.at : end] = ["(", *self.words[self.at : end], ")"]
