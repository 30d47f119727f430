"""Random expressions of all kinds, over what the kernel in the making has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tests.random_kernels import functions as fn
from tests.random_kernels.reductions import Reductions
from tests.random_kernels.values import BOOL, Value, computed, joined, largest

if TYPE_CHECKING:
    from tests.random_kernels.maker import Maker

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
KINDS = "iiiifffffcb"
TABLE = (3, 1, 4, 1, 5)

Rule: TypeAlias = "Callable[[int], Value | None]"


class Expressions(Reductions):
    """Makes the expressions of one instruction.

    Parameters:
        maker: the kernel in the making.
        inames: those that the instruction is within.

    Attributes:
        needed: ids of the instructions that wrote what is read.
        parameter: in the body of a rule, what it is given.
    """

    def __init__(
        self,
        maker: Maker,
        inames: Sequence[str],
        parameter: Value | None = None,
    ) -> None:
        self.maker = maker
        self.random: random.Random = maker.random
        self.inames = tuple(inames)
        self.bound: list[str] = []  # inames of the reductions that are open
        self.needed: set[str] = set()
        self.parameter = parameter

    def of(self, kind: str, depth: int) -> Value:
        """Return an expression of a kind, with values that can be computed with."""
        rules = {"i": self._integers, "f": self._reals, "c": self._complex, "b": self._truths}
        for _ in range(3 if depth > 0 else 0):
            needed = set(self.needed)
            value = self.random.choice(rules[kind]())(depth - 1)
            if value is not None and value.kind == kind and value.fits:
                return value
            self.needed = needed
        return self.leaf(kind)

    def exact(self, kind: str, depth: int) -> Value:
        """Return an expression of a kind that has no rounding errors."""
        needed = set(self.needed)
        value = self.of(kind, depth)
        if value.exact:
            return value
        self.needed = needed
        return self.input(kind)

    def text(self, kind: str, depth: int) -> str:
        """Return the text of a truth value or an integer."""
        return self.of(kind, depth).text

    def _pair(self, kind: str, depth: int) -> tuple[Value, Value]:
        return self.of(kind, depth), self.of(kind, depth)

    # --- rules of all kinds

    def _sum(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a, b = self._pair(kind, depth)
            text = f"({a.text} {self.random.choice('+-')} {b.text})"
            return computed(text, joined(a, b), a.most + b.most, a.error + b.error)

        return rule

    def _product(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a, b = self._pair(kind, depth)
            if self.random.random() < 0.3:
                b = Value(self.random.choice(("2", "3")), a.dtype, 3)
            error = a.most * b.error + b.most * a.error + a.error * b.error
            ulps = 8 if kind == "c" and error else 1
            return computed(f"{a.text}*{b.text}", joined(a, b), a.most * b.most, error, ulps)

        return lambda depth: self._closed(rule(depth))

    def _closed(self, value: Value) -> Value:
        return value.named(f"({value.text})")

    def _extremum(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a, b = self._pair(kind, depth)
            text = f"{self.random.choice(('min', 'max'))}({a.text}, {b.text})"
            return computed(text, joined(a, b), max(a.most, b.most), max(a.error, b.error))

        return rule

    def _choice(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a, b = self._pair(kind, depth)
            condition = self.text("b", depth)
            forms = ("if({c}, {a}, {b})", "({a} if {c} else {b})")
            text = self.random.choice(forms).format(a=a.text, b=b.text, c=condition)
            return computed(text, joined(a, b), max(a.most, b.most), max(a.error, b.error))

        return rule

    def _power(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a = self.of(kind, depth)
            error = 2 * a.most * a.error + a.error**2
            ulps = 1 if a.exact and kind != "c" else fn.ULPS
            return computed(f"{a.text}**2", a.dtype, a.most**2, error, ulps)

        return lambda depth: self._closed(rule(depth))

    def _sign(self, kind: str) -> Rule:
        def rule(depth: int) -> Value:
            a = self.of(kind, depth)
            return a.named(f"({self.random.choice('+-')}{a.text})")

        return rule

    def _weak(self, kind: str) -> Rule:
        def rule(depth: int) -> Value | None:
            """A loop counter takes on the type of what it is combined with."""
            a = self.of(kind, depth)
            if a.dtype.kind == "u" or a.dtype.itemsize < 2:
                return None
            iname = self.random.choice((*self.inames, *self.bound, "n"))
            text = self.random.choice(("({a} + {i})", "({i} + {a})", "({a} - {i})"))
            return computed(text.format(a=a.text, i=iname), a.dtype, a.most + 40, a.error)

        return rule

    def _invocation(self, kind: str) -> Rule:
        return lambda depth: self.maker.invoke(self, self.of(kind, depth), depth)

    def _anywhere(self, kind: str) -> list[Rule]:
        rules = [self._sum, self._product, self._choice, self._reduction, self._invocation]
        rules += [self._power, self._weak, self._sign]
        if kind != "c":
            rules.append(self._extremum)
        return [rule(kind) for rule in rules]

    # --- integers

    def _integers(self) -> list[Rule]:
        own = [self._quotient, self._bits, self._shift, self._cast, self._call, self._words]
        return [*self._anywhere("i"), *own, self._best_index, self._since, self._count]

    def _quotient(self, depth: int) -> Value:
        a, b = self._pair("i", depth)
        if self.random.random() < 0.5:
            b = Value(self.random.choice(("2", "3", "7")), a.dtype, 7)
        text = f"({a.text} {self.random.choice(('//', '%'))} {b.text})"
        return Value(text, joined(a, b), max(a.most, b.most))

    def _bits(self, depth: int) -> Value:
        a, b = self._pair("i", depth)
        text = f"({a.text} {self.random.choice('&|^')} {b.text})"
        if self.random.random() < 0.2:
            return Value(f"(~{a.text})", a.dtype, largest(a.dtype))
        return Value(text, joined(a, b), largest(joined(a, b)) if joined(a, b).kind in "iu" else 0)

    def _shift(self, depth: int) -> Value:
        a = self.of("i", depth)
        text = f"({a.text} {self.random.choice(('<<', '>>'))} {self.random.randint(0, 9)})"
        return Value(text, a.dtype, largest(a.dtype))

    def _cast(self, depth: int) -> Value:
        a = self.exact(self.random.choice("iifb"), depth)
        dtype = np.dtype(self.random.choice(INTEGERS))
        if a.kind == "f" and (dtype.kind == "u" or a.most >= largest(dtype)):
            dtype = np.dtype(np.int64)
        form = self.random.choice(("{t}({a})", "np.{t}({a})", "cast(np.{t}, {a})"))
        text = form.format(t=dtype.name, a=a.text)
        return Value(text, dtype, a.most if a.most <= largest(dtype) else largest(dtype))

    def _call(self, depth: int) -> Value:
        """Return a call of a function of the user's, or of `abs`."""
        a, b = self._pair("i", depth)
        if self.random.random() < 0.3:
            return Value(f"abs({a.text})", a.dtype, a.most)
        self.maker.uses("own_mix")
        text = f"own_mix(int32({a.text}), int32({b.text}))"
        return Value(text, np.dtype(np.int32), largest(np.dtype(np.int32)))

    def _words(self, depth: int) -> Value:
        name, bits, given = self.random.choice(fn.GENERATORS)
        arguments = ", ".join([self.of("i", depth).text, *map(str, range(given - 1))])
        dtype = np.dtype(f"uint{bits}")
        text = f"{name}({arguments})[{self.random.randint(0, 1)}]"
        return Value(text, dtype, largest(dtype))

    def _count(self, depth: int) -> Value:
        return Value(f"int16({self.text('b', depth)})", np.dtype(np.int16), 1)

    # --- real numbers

    def _reals(self) -> list[Rule]:
        own: list[Rule] = [self._function, self._function, self._function, self._two]
        own += [self._divided, self._rounded, self._real_cast, self._real_part, self._own_real]
        return [*self._anywhere("f"), *own]

    def _function(self, depth: int) -> Value:
        a = self.of("f", depth)
        f = self.random.choice(fn.ONE)
        error = f.slope * a.error
        return computed(f.form.format(x=a.text), a.dtype, f.most(a.most), error, fn.ULPS)

    def _two(self, depth: int) -> Value:
        a, b = self._pair("f", depth)
        f = self.random.choice(fn.TWO)
        error = a.error + b.error
        most = f.most(a.most + b.most)
        return computed(f.form.format(x=a.text, y=b.text), joined(a, b), most, error, fn.ULPS)

    def _divided(self, depth: int) -> Value:
        a = self.of(self.random.choice("fi"), depth)
        dtype = a.dtype if a.kind == "f" else np.dtype(np.float64)
        return computed(f"({a.text} / {self.random.choice('2357')})", dtype, a.most, a.error, 2)

    def _rounded(self, depth: int) -> Value:
        a = self.exact("f", depth)
        name = self.random.choice(("floor", "ceil", "trunc", "rint", "round", "fabs"))
        return a.named(f"{name}({a.text})")

    def _real_cast(self, depth: int) -> Value:
        a = self.of(self.random.choice("ffib"), depth)
        dtype = np.dtype(self.random.choice(REALS))
        return computed(f"{dtype.name}({a.text})", dtype, a.most, a.error)

    def _real_part(self, depth: int) -> Value:
        a = self.of("c", depth)
        name = self.random.choice(("real", "imag", "abs"))
        dtype = np.dtype(np.float32 if a.dtype == np.complex64 else np.float64)
        ulps = fn.ULPS if name == "abs" else 1
        return computed(f"{name}({a.text})", dtype, a.most, a.error, ulps)

    def _own_real(self, depth: int) -> Value:
        self.maker.uses("own_half")
        a = self.of("f", depth)
        dtype = np.dtype(np.float64 if a.dtype == np.float64 else np.float32)
        half = computed("", dtype, a.most, a.error)
        return computed(f"own_half({a.text})", dtype, half.most, half.error, 2)

    # --- complex numbers

    def _complex(self) -> list[Rule]:
        return [*self._anywhere("c"), self._complex_of, self._conjugate]

    def _complex_of(self, depth: int) -> Value:
        a, b = self.of("f", depth), self.of("c", depth)
        text, error = f"({a.text} + 1j*{b.text})", 2 * (a.error + b.error)
        return computed(text, joined(a, b), a.most + b.most, error, 8)

    def _conjugate(self, depth: int) -> Value:
        a = self.of("c", depth)
        return a.named(f"conj({a.text})")

    # --- truth values

    def _truths(self) -> list[Rule]:
        return [self._comparison, self._comparison, self._logic, self._reduction("b"), self._domain]

    def _comparison(self, depth: int) -> Value:
        kind = self.random.choice("iif")
        a, b = self.exact(kind, depth), self.exact(kind, depth)
        if kind == "f" and self.random.random() < 0.2:
            return Value(f"{self.random.choice(('isnan', 'isfinite'))}({a.text})", BOOL, 1)
        operator = self.random.choice(("==", "!=", "<", "<=", ">", ">="))
        return Value(f"({a.text} {operator} {b.text})", BOOL, 1)

    def _logic(self, depth: int) -> Value:
        a, b = self._pair("b", depth)
        forms = ("({a} and {b})", "({a} or {b})", "(not {a})", "({a} or not {b})")
        return Value(self.random.choice(forms).format(a=a.text, b=b.text), BOOL, 1)

    def _domain(self, _: int) -> Value:
        """Return a condition that the proofs see through."""
        around = self.inames or ("n",)
        a, b = self.random.choice(around), self.random.choice(around)
        forms = (f"{a} < 2", f"(2*{a} + {b}) % 3 != 1", f"{a} <= {b} + 1", f"{a} // 2 == {b} // 2")
        return Value(f"({self.random.choice(forms)})", BOOL, 1)

    # --- leaves

    def leaf(self, kind: str) -> Value:
        """Return something to read."""
        choice = self.random.random()
        if self.parameter is not None and self.parameter.kind == kind and choice < 0.6:
            return self.parameter
        if choice < 0.1 and kind in "fb":
            return self._literal(kind)
        if choice < 0.55 and (value := self.maker.read(self, kind)):
            return value
        if choice < 0.7 and kind in "if":
            return self._number(kind)
        if choice < 0.8 and kind == "i":
            self.maker.table()
            return Value(f"table[({self.affine()}) % {len(TABLE)}]", np.dtype(np.int8), max(TABLE))
        return self.input(kind)

    def _literal(self, kind: str) -> Value:
        """Return a number with digits after the point, or a truth value."""
        if kind == "b":
            return Value(self.random.choice(("True", "False")), BOOL, 1)
        text = self.random.choice(("2.5", ".25", "0.5e1", "1e-1"))
        if self.random.random() < 0.4:
            return computed(f"{text}f", np.dtype(np.float32), 5, 0, 2)
        dtype = np.dtype(self.random.choice(REALS))
        return computed(f"{dtype.name}({text})", dtype, 5, 0, 2)

    def _number(self, kind: str) -> Value:
        """Return an iname, a size or a number, with a type."""
        around = [*self.inames, *self.bound, "n", "m", "5"]
        dtype = np.dtype(self.random.choice(("int32", "int64", "int8") if kind == "i" else REALS))
        if self.random.random() < 0.3:
            name = "shift" if kind == "i" else "alpha"
            return self.maker.scalar(name)
        return Value(f"{dtype.name}({self.random.choice(around)})", dtype, 40)

    def input(self, kind: str) -> Value:
        """Return an element of an array that nothing writes; in half of them, where `idx` says."""
        names = {"i": INTEGERS, "f": REALS, "c": COMPLEX, "b": ("bool",)}
        dtype = self.random.choice(names[kind])
        if self.random.random() < 0.4 or not self.inames:
            index = f"({self.affine()}) % 9"
            if self.random.random() < 0.2:
                self.maker.input("int32", "idx")
                index = f"idx[{index}]"
            return self.maker.input(dtype, "a").at(f"[{index}]")
        iname = self.random.choice(self.inames)
        row, column = f"{iname} + {self.maker.OFFSET}", f"({self.affine()}) % 5"
        linear = self.random.random() < 0.15
        return self.maker.input(dtype, "b").at(
            f"[[5*({row}) + {column}]]" if linear else f"[{row}, {column}]"
        )

    def affine(self) -> str:
        """Return an integer in terms of inames and sizes."""
        around = [*self.inames, *self.bound, "n", "1"]
        return " + ".join(
            f"{self.random.choice((1, 2, -1))}*{self.random.choice(around)}" for _ in range(2)
        )
