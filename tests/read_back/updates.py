"""What statements of generated code change, at once or atomically, and what they call."""

from __future__ import annotations

from itertools import pairwise

from tests.read_back.declarations import CONVERT, Declarations
from tests.read_back.expressions import Known
from tests.read_back.tokens import WrongText

_UPDATES = {
    "+=": "+",
    "-=": "-",
    "*=": "*",
    "&=": "both_bits",
    "|=": "either_bit",
    "^=": "one_bit",
    "/=": "divided",
    "%=": "left_over",
    "<<=": "left_shift",
    ">>=": "right_shift",
}
_ATOMIC = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "and": "both_bits({0}, {1})",
    "or": "either_bit({0}, {1})",
    "xor": "one_bit({0}, {1})",
    "exch": "{1}",
    "min": "least({0}, {1})",
    "max": "largest({0}, {1})",
    "xchg": "{1}",
}
_FENCES = {"CLK_LOCAL_MEM_FENCE": "l", "CLK_GLOBAL_MEM_FENCE": "g"}


_OF_WARPS = {"pg_parts": "_parts", "pg_load_matrices": "_load_matrices"}
_CALLS = ("atomic_", "atom_", "atomicA", "atomicC", "atomicE", "atomicM", "atomicO", "atomicX")


def _operation(name: str) -> str:
    """Return what one of the languages' atomic functions does."""
    plain = name.removeprefix("atomic_").removeprefix("atom_").removeprefix("atomic").lower()
    return plain.removesuffix("_block").removesuffix("_system")


class Updates(Declarations):
    """Reads assignments, updates and calls."""

    # What an update that returns the old value writes: the loop program writes that after the old
    # value, to somewhere else.
    fetched = ""

    def of_ours(self, word: str) -> None:
        """Read a statement that begins with a name of polygen's."""
        if word == "pg_wait_for_team":
            raise WrongText("a team waits behind no loop")
        if word == "pg_after_other_launches":
            self.expect("pg_after_other_launches", "(", ")", ";")
        elif word == "pg_read_again":
            self.expect("pg_read_again", "(")
            self.known(self.take())
            self.expect(")", ";")
        elif word == "pg_wait":
            self.expect("pg_wait", "(", ")", ";")
            self.add("run.note('wait')")
        elif word == "pg_verbatim":
            self._verbatim()
        elif word == "pg_add_half":
            self.at += 1
            self._atomic("atomicAdd")
        elif word == "pg_copy":
            self._copy()
        elif word in _OF_WARPS or word.startswith("pg_multiply_"):
            getattr(self, _OF_WARPS.get(word, "_multiply"))()
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
            raise WrongText(f"'{word}'")

    def _verbatim(self) -> None:
        self.expect("pg_verbatim", "(")
        code, written = self.expected.verbatim[int(self.take())]
        given: list[str] = []
        while self.accept(","):
            given.append(self.expression())
        self.expect(")", ";")
        self.add(f"run.note('verbatim', {code!r}, {', '.join(given)})")
        for name in written:
            self.written_by_others(name)

    def _copy(self) -> None:
        """Read ``pg_copy(&a[i], &b[j]);``: it may be made at once."""
        self.expect("pg_copy", "(")
        if self.word == "(":
            to, at, _ = self.pointer_cast()
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

    def _parts(self) -> None:
        """Read ``pg_parts<4> a_parts[2];``."""
        self.expect("pg_parts", "<")
        registers = self.take()
        self.expect(">")
        name = self.take()
        self.expect("[")
        self.expression()
        self.expect("]", ";")
        known = self.declare(name, "i", in_memory=True)
        self.registers[known.python] = int(registers)
        self.add(f"{known.python} = {{}}")

    def _load_matrices(self) -> None:
        """Read ``pg_load_matrices<0>(a_parts[0], {&a[i]});``."""
        self.expect("pg_load_matrices", "<")
        is_transposed = self.take() == "1"
        self.expect(">", "(")
        known = self.known(self.take())
        at = self.key(known)
        self.expect(",", "{")
        rows: list[str] = []
        while not self.accept("}"):
            self.expect("&")
            array = self.known(self.take())
            rows.append(self._of_any(f"({array.python}, {self.key(array)})"))
            self.accept(",")
        self.expect(")", ";")
        registers = self.registers[known.python]
        texts = f"[{', '.join(rows)}], {registers}, {is_transposed}, run.sizes['l', 1]"
        made = f"parts_of({texts})"
        self.add(f"{known.python}[{at}] = {made}")

    def _of_any(self, value: str) -> str:
        """Return what a value is for another work item of the warp: a function of its place."""
        names, places = ", ".join(self.places), ", ".join(self.places.values())
        return f"lambda x, y: (lambda {names}: {value})({places})"

    def _multiply(self) -> None:
        """Read ``pg_multiply_float64({&c[0], &c[1]}, {a[i]}, {b[i]});``.

        What work items pass is asked of all of the warp.
        """
        self.at += 1
        self.expect("(", "{")
        sums: list[str] = []
        while not self.accept("}"):
            self.expect("&")
            known = self.known(self.take())
            sums.append(f"({known.python}, {self.key(known)})")
            self.accept(",")
        factors = [self._passed(), self._passed()]
        self.expect(")", ";")
        texts = ", ".join([f"[{', '.join(sums)}]", *factors])
        self.add(f"add_product({texts}, run.sizes['l', 0], run.sizes['l', 1])")

    def _passed(self) -> str:
        """Read what a work item passes; return that of any: functions of its place."""
        self.expect(",")
        if not self.accept("{"):  # it was loaded before
            known = self.known(self.take())
            return f"{known.python}[{self.key(known)}]"
        found: list[str] = []
        while not self.accept("}"):
            found.append(self._of_any(self.expression()))
            self.accept(",")
        return f"[{', '.join(found)}]"

    def assignment(self, how: str) -> None:
        """Read an assignment; `how` is that of `Memory.put`."""
        if self.word == "(":
            self.written_part()
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

    def written_part(self) -> None:
        """Read the assignment of a part of a vector."""
        known, at, part = self.part_of_vector()
        self._write(known, at if known.in_memory else "", part, "p" if self.threads else "s")

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
            old, line = to, f"{to} = {CONVERT[known.kind]}({{}})"
        sign = self.take()
        value = self.expression()
        self.expect(";")
        if sign in _UPDATES:
            made = _UPDATES[sign]
            value = f"{made}({old}, {value})" if made.isidentifier() else f"({old} {made} {value})"
        elif sign != "=":
            raise WrongText(f"the assignment with '{sign}'")
        self.add(line.format(value))

    def _aligned(self, name: str) -> None:
        """Read ``a = __builtin_assume_aligned(a, 16);``."""
        self.expect("__builtin_assume_aligned", "(", name, ",")
        if self.take() != str(self.expected.alignments.get(name)):
            raise WrongText(f"'{name}' is said to be more aligned than it is")
        self.expect(")", ";")

    def _check_accumulated(self, name: str, known: Known, sign: str, first: str) -> None:
        """Check that what all iterations share is accumulated, as is said."""
        for around in self.around[known.depth :]:
            operation = around.get(name, "")
            is_call = first == operation or first.startswith(f"pg_{operation}_")
            if not operation or not (sign == f"{operation}=" or is_call):
                raise WrongText(f"iterations in no order share '{name}', {sign} {first}")
            if is_call:  # of the old value, and another one
                self.mentions.remove(name)

    def variable(self, name: str) -> str:
        """Read what stands behind a name; return what is meant."""
        if self.around and self.is_known(name):
            known = self.known(name)
            self.mentions += [name for around in self.around[known.depth :] if name in around]
        return super().variable(name)

    def called(self, name: str) -> None:
        """Read a call that is a statement."""
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
        elif name.startswith(_CALLS):
            self._atomic(name)
        elif name in ("__atomic_exchange", "__atomic_compare_exchange"):
            self._exchanged(name)
        elif name in self.expected.functions:
            self._function(name)
        elif name.startswith("__threadfence"):
            self.expect("(", ")", ";")
        else:
            raise WrongText(f"a call of '{name}'")

    def call(self, name: str) -> str:
        """Read the arguments of a function; return its value, which may be an old one."""
        if not name.startswith(_CALLS):
            return super().call(name)
        operation = _operation(name)
        self.expect("(")
        known, at = self._updated()
        self.expect(",")
        given = [self.expression()]
        if self.accept(","):
            given.append(self.expression())
        self.expect(")")
        old = f"{known.python}[{at}]"
        if operation in ("cmpxchg", "cas"):
            expected, desired = given
            new = f"({desired} if {old} == {expected} else {old})"
        else:
            new = _ATOMIC[operation].format(old, *given)
        return self._fetch(known, at, new)

    def _fetch(self, known: Known, at: str, new: str) -> str:
        """Note what an update that returns the old value writes; return that value."""
        if self.fetched:
            raise WrongText("an old value that goes nowhere")
        self._names += 1
        place, value, old = (f"{what}_{self._names}" for what in ("at", "new", "old"))
        array = known.python
        self.add(f"{place}, {value}, {old} = {at}, {new}, {array}[{at}]")
        self.add(f"{array}[{place}] = {array}.convert({value})")  # for whoever reads it again
        self.fetched = f"{array}.put({place}, {value}, 'a')"
        return old

    def atomically(self, *, captures: bool) -> None:
        """Read what stands behind ``#pragma omp atomic``."""
        if captures:
            self._captured()
        else:
            self.assignment("a")

    def _captured(self) -> None:
        """Read ``{ old = a[i]; a[i] += x; }``."""
        self.expect("{")
        old = self.known(self.take())
        self.expect("=")
        first = self._element()
        self.expect(";")
        known, at = self._element()
        if first != (known, at):
            raise WrongText("what is captured is not what is updated")
        sign = self.take()
        value = self.expression()
        self.expect(";", "}")
        made = _UPDATES[sign]
        now = f"{known.python}[{at}]"
        new = f"{made}({now}, {value})" if made.isidentifier() else f"({now} {made} {value})"
        self.add(f"{old.python} = {self._fetch(known, at, new)}")

    def _exchanged(self, name: str) -> None:
        """Read ``__atomic_exchange(&a[i], &next, &old, order);``, or one that compares."""
        self.expect("(", "&")
        known, at = self._element()
        names = [self._given_place(), self._given_place()]
        new, old = names if name == "__atomic_exchange" else reversed(names)
        while self.take() != ")":
            pass
        self.expect(";")
        value = new.python
        if name != "__atomic_exchange":
            now = f"{known.python}[{at}]"
            value = f"({value} if {now} == {old.python} else {now})"
        self.add(f"{old.python} = {self._fetch(known, at, value)}")

    def _given_place(self) -> Known:
        self.expect(",", "&")
        return self.known(self.take())

    def _atomic(self, name: str) -> None:
        operation = _operation(name)
        if operation not in _ATOMIC:
            raise WrongText(f"a call of '{name}'")
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
        if self.word == "(":  # the bits of a half, or a part of a vector
            known, at, part = self.part_of_vector()
            return known, f"({at}, {part})" if at else part
        known = self.known(self.take())
        if not known.in_memory:
            raise WrongText("an update of a variable")
        at = self.key(known)
        component = self.component() if known.lanes > 1 else None
        return known, at if component is None else f"({at}, {component})"

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
            self.written_by_others(written)

    def _given(self) -> str:
        """Read an argument: where a part of an array begins, or a number."""
        pointer = self.accept("&")
        known = self.known(self.word) if self.is_known(self.word) else None
        if known is not None and (pointer or (known.in_memory and self.words[self.at + 1] != "[")):
            name = self.take()
            at = self.expression() if self.accept("+") else "0"
            return f"({name!r}, {at})"
        return self.expression()

    def _end_of_block(self) -> int:
        depth, at = 1, self.at
        while depth:
            depth += {"{": 1, "}": -1}.get(self.words[at], 0)
            at += 1
        return at

    def is_retry(self) -> bool:
        """Tell whether a block updates something until nobody else has in between."""
        until = self._end_of_block()
        inside = self.words[self.at : until]
        return "do" in inside and inside.index("do") < [*inside, "{"].index("{")

    def retry(self) -> None:
        """Read such a block."""
        until = self._end_of_block() - len(self.words)
        while self.take() != "&" or (not self.is_known(self.word) and self.word != "("):
            pass
        known, at = self._element()
        while self.take() != "do":
            pass
        fetches = self._goes_to_old()
        self.scopes.append({})
        name = self.words[self.at]
        old = self.known(name) if fetches else self.declare(name, known.kind)
        self.add(f"{old.python} = {known.python}[{at}]")
        while self.take() != ";":
            pass
        self._to_bits()
        if fetches:
            self.add(f"{old.python} = {self._fetch(known, at, self.unary())}")
        else:
            self.add(f"{known.python}.put({at}, {self.unary()}, 'a')")
        self.scopes.pop()
        self.at = until + len(self.words)

    def _goes_to_old(self) -> bool:
        """Go on to where a name gets the old value; return whether that is declared before."""
        while True:
            if self.is_known(self.word) and self.words[self.at + 1] == "=":
                return True
            if self.take() == "const" and self._begins_old():
                return False

    def _begins_old(self) -> bool:
        """Tell whether this is no part of a word, shifted: ``seen >> shift``."""
        inside = self.words[self.at : self.words.index(";", self.at)]
        return not any(pair[0] == ">>" and pair[1] != "(" for pair in pairwise(inside))

    def _to_bits(self) -> None:
        """Go on to the bits of the new value, and put them in parentheses."""
        end = self.words.index(";", self.at)
        inside = self.words[self.at : end]
        if "~" in inside[:5]:  # with the rest of a word: next = seen & ~mask | (uint) bits << shift
            self.at += inside.index("|")
            while self.take() != ")":  # of the type
                pass
            return
        self.at += inside.index("=") + 1
        if self.word in ("atomic_cmpxchg", "atom_cmpxchg") or self.word.startswith("atomicCAS"):
            self.at += 6  # (place, seen,
            end -= 1
        self.words[self.at : end] = ["(", *self.words[self.at : end], ")"]
