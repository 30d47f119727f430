"""Reads vectors: of OpenCL C, of GCC, and of the CUDA C++ that polygen makes."""

from __future__ import annotations

import re

from tests.read_back.expressions import Expressions, Known, kind_of
from tests.read_back.tokens import WrongText

_OPENCL = re.compile(r"(u?(?:char|short|int|long)|half|float|double)(2|3|4|8|16)")
_GCC = re.compile(r"pg_([a-z]+)\d*_vec(\d+)")
_COMPONENT = re.compile(r"s([0-9a-f])")
_LOAD = re.compile(r"vload(?:_half)?(\d+)")
_STORE = re.compile(r"vstore(?:_half)?(\d+)(?:_rte)?")
_HELPER = re.compile(r"pg_select_\w+_vec\d+")
_NAMES = {"uint": "int", "int": "int", "float": "float", "bool": "bool"}


class Vectors(Expressions):
    """Reads expressions, vectors too.

    Attributes:
        complexes: whether ``float2`` is a complex number,
        reals: but for these variables.
        lanes: how many components the type has that was read last.
        has_vectors: whether there were any.
    """

    complexes = False
    reals: frozenset[str] = frozenset()
    lanes = 1
    has_vectors = False

    # --- types

    def vector_at(self, at: int) -> tuple[str, int] | None:
        """Return the type of the components, and their number, if a vector's type is there."""
        word = self.words[at]
        complexes = self.complexes and self.words[at + 1] not in self.reals
        if complexes and word in ("float2", "double2"):
            return None
        if word == "pg_vector":
            return "CUDA", 0
        if found := _OPENCL.fullmatch(word):
            return found[1], int(found[2])
        if found := _GCC.fullmatch(word):
            return _NAMES[found[1]], int(found[2])
        return None

    def begins_type(self, at: int) -> bool:
        """Tell whether a type is there, or what types are qualified by."""
        return super().begins_type(at) or (
            self.vector_at(at) is not None and not self.is_known(self.words[at])
        )

    def type_words(self) -> list[str]:
        """Read the name of a type, and what it is qualified by."""
        self.lanes = 1
        return super().type_words()

    def type_word(self) -> str:
        """Read a word of it."""
        vector = self.vector_at(self.at)
        if vector is None:
            return super().type_word()
        self.has_vectors = True
        word, self.lanes = vector
        if self.take() == "pg_vector":
            self.expect("<")
            words = [self.take()]
            while not self.accept(","):
                words.append(self.take())
            self.lanes = int(self.take())
            self.expect(">")
            word = words[-1]
            if word == ">":  # pg_complex<float>
                raise WrongText("vectors of complex numbers")
        return word

    # --- places

    def pointer(self) -> tuple[str, str]:
        """Read ``a + e``; return the array and the offset."""
        name = self.known(self.take()).python
        return name, self.expression() if self.accept("+") else "0"

    def pointer_cast(self) -> tuple[str, str, int]:
        """Read ``(float4 *) (a + e)``; return the number of components, too."""
        self.expect("(")
        self.type_words()
        count = self.lanes
        self.expect("*", ")", "(")
        array, offset = self.pointer()
        self.expect(")")
        return array, offset, count

    def component(self) -> str | None:
        """Read which component is meant, if one is."""
        if self.word == "[":
            self.expect("[")
            found = self.expression()
            self.expect("]")
            return found
        if self.word == "." and _COMPONENT.fullmatch(self.words[self.at + 1]):
            self.at += 1
            return str(int(self.take()[1:], 16))
        return None

    def variable(self, name: str) -> str:
        """Read what stands behind a name; return what is meant."""
        known = self.known(name) if self.is_known(name) else None
        if known is None or known.lanes == 1:
            return super().variable(name)
        if not known.in_memory:
            part = self.component()
            return known.python if part is None else f"{known.python}[{part}]"
        at = self.key(known)
        part = self.component()
        if part is None:
            return f"whole({known.python}, {at}, {known.lanes})"
        return f"{known.python}[{at}, {part}]"

    def part_of_vector(self) -> tuple[Known, str, str]:
        """Read ``((float *) &a[i])[2]``, or ``((ushort *) a)[i]``: then nothing for the first."""
        self.expect("(", "(")
        self.type_words()
        self.expect("*", ")")
        whole = self.accept("&")
        known = self.known(self.take())
        at = self.key(known) if known.in_memory and whole else "0" if whole else ""
        self.expect(")", "[")
        part = self.expression()
        self.expect("]")
        return known, at, part

    # --- operands

    def unary(self) -> str:
        """Read an operand, with what stands before it."""
        if self.word == "*":
            self.at += 1
            return "load({}, {}, {})".format(*self.pointer_cast())
        return super().unary()

    def of_type(self, kind: str) -> str:
        """Read what is converted to a type, behind that."""
        count = self.lanes
        if count == 1:
            return super().of_type(kind)
        if self.accept("{"):
            found: list[str] = []
            while not self.accept("}"):
                found.append(self.expression())
                self.accept(",")
            return f"lanes([{', '.join(found)}], {count})"
        if self.word != "(":
            raise WrongText("a vector as one of another type")
        found = self.arguments()
        if len(found) == 1:
            return f"same({found[0]}, {count})"
        return f"lanes([{', '.join(found)}], {count})"

    def call(self, name: str) -> str:
        """Read the arguments of a function; return its value."""
        if found := _LOAD.fullmatch(name):
            self.expect("(", "0", ",")
            array, offset = self.pointer()
            self.expect(")")
            self.has_vectors = True
            return f"load({array}, {offset}, {found[1]})"
        if name.startswith("convert_") and _OPENCL.fullmatch(name.removeprefix("convert_")):
            if self.complexes and name in ("convert_float2", "convert_double2"):
                return self.arguments()[0]
            real = name.startswith(("convert_float", "convert_double", "convert_half"))
            return f"{'to_real' if real else 'to_integer'}({self.arguments()[0]})"
        if name == "__builtin_convertvector":
            self.expect("(")
            value = self.expression()
            self.expect(",")
            real = "f" in kind_of(self.type_words())
            self.expect(")")
            return f"{'to_real' if real else 'to_integer'}({value})"
        if name == "select":
            other, then, condition = self.arguments()
            return f"choose({condition}, {then}, {other})"
        if _HELPER.fullmatch(name) or name == "pg_select":
            return f"choose({', '.join(self.arguments())})"
        return super().call(name)

    def template(self, name: str) -> str:
        """Read a call of one of the templates of CUDA's."""
        if name == "pg_bits":
            self.expect("<")
            self.type_words()
            self.expect(">")
            return self.arguments()[0]
        if name not in ("pg_load", "pg_lanes", "pg_convert", "pg_same"):
            return super().template(name)
        self.expect("<")
        kind, count = kind_of(self.type_words()), self.lanes
        self.expect(">")
        if name == "pg_load":
            self.expect("(")
            array, offset = self.pointer()
            self.expect(")")
            return f"load({array}, {offset}, {count})"
        given = self.arguments()
        if name == "pg_lanes":
            return f"lanes([{', '.join(given)}], {count})"
        if name == "pg_same":
            return f"same({given[0]}, {count})"
        return f"{'to_real' if kind == 'f' else 'to_integer'}({given[0]})"

    # --- writes: each returns the line

    def written_vector(self, how: str) -> str | None:
        """Read the assignment of a vector to the elements of an array; None if it is none."""
        if self.word == "*":
            self.at += 1
            if self.words[self.words.index(")", self.at) + 1] == "&":
                return self._atomically()
            array, offset, count = self.pointer_cast()
            self.expect("=")
            value = self.expression()
        elif found := _STORE.fullmatch(self.word):
            self.has_vectors = True
            self.at += 1
            self.expect("(")
            value = self.expression()
            self.expect(",", "0", ",")
            array, offset = self.pointer()
            self.expect(")")
            count = int(found[1])
        elif self.word == "pg_store":
            self.expect("pg_store", "<")
            self.type_words()
            count = self.lanes
            self.expect(">", "(")
            array, offset = self.pointer()
            self.expect(",")
            value = self.expression()
            self.expect(")")
        else:
            return None
        self.expect(";")
        return f"store({array}, {offset}, same({value}, {count}), {how!r})"

    def _atomically(self) -> str:
        """Read ``(volatile uchar *) &a[i] = value;``."""
        while self.take() != "&":
            pass
        known = self.known(self.take())
        at = self.key(known)
        self.expect("=")
        value = self.expression()
        self.expect(";")
        return f"{known.python}.put({at}, {value}, 'a')"
