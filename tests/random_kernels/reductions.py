"""Random reductions in expressions: see `tests.random_kernels.expressions`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.properties.expressions import mentions
from tests.random_kernels.values import BOOL, Value, computed, largest

if TYPE_CHECKING:
    from tests.random_kernels.maker import Maker

TRIPS = 24  # the most values that an iname of a reduction has
_WIDE = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64), "b": np.dtype(np.int64)}

# What is drawn instead of the other, now and then.
_BITS = {"xor_all": "bit_xor", "min": "bit_and", "max": "bit_or"}


class Reductions:
    """The rules for reductions."""

    maker: Maker
    random: random.Random
    inames: tuple[str, ...]
    bound: list[str]
    needed: set[str]
    of: Callable[[str, int], Value]
    exact: Callable[[str, int], Value]

    def opened(self, most: int = 1) -> list[str]:
        """Return new inames to reduce over; they are bound until `closed`."""
        count = self.random.choice((1, 1, most))
        for _ in range(count):  # a second one may be bounded by the first
            self.bound.append(self.maker.reduced(self))
        return self.bound[-count:]

    def closed(self, inames: list[str]) -> str:
        """Return the text of inames, which are not bound any more."""
        del self.bound[-len(inames) :]
        return inames[0] if len(inames) == 1 else f"({', '.join(inames)})"

    def over(self, inames: list[str], a: Value) -> Value:
        """Return a value that depends on the inames it is reduced over, as it has to."""
        for iname in inames:
            if mentions(a.text, iname) or iname in self.maker.bounded:
                continue
            asked = f"{iname} != 1"
            a = a.named(f"({a.text} and {asked})" if a.kind == "b" else f"if({asked}, {a.text}, 0)")
        return a

    def _reduction(self, kind: str) -> Callable[[int], Value]:
        rule = {"i": self._of_integers, "f": self._of_reals, "c": self._of_complex}
        return rule.get(kind, self._of_truths)

    def _of_integers(self, depth: int) -> Value:
        inames = self.opened(2)
        a = self.over(inames, self.of(self.random.choice("iiib"), depth))
        over = self.closed(inames)
        operation = self.random.choice(("sum", "product", "min", "max", "xor_all", "horner3"))
        if operation in _BITS and len(a.text) % 3:
            operation = _BITS[operation]
        if operation in ("sum", "product"):
            name, wide = operation, _WIDE[a.dtype.kind]
            if self.random.random() < 0.3 and a.dtype.kind == "i":
                wide = np.dtype(self.random.choice(("int8", "int32")))
                name = f"{operation}<{wide.name}>"
            return Value(f"{name}({over}, {a.text})", wide, largest(wide))
        if a.kind == "b":
            a = Value(f"int32({a.text})", np.dtype(np.int32), 1)
        forms = ("{o}({r}, {a})", "reduce({o}, {r}, {a})", "simul_reduce({o}, {r}, {a})")
        text = self.random.choice(forms).format(o=operation, r=over, a=a.text)
        return Value(text, a.dtype, largest(a.dtype))

    def _of_reals(self, depth: int) -> Value:
        inames = self.opened(2)
        a = self.over(inames, self.of("f", depth))
        over = self.closed(inames)
        if self.random.random() < 0.3:
            operation, limit = self.random.choice((("min", "9"), ("max", "-9")))
            inner = f"{operation}({over}, {a.text})"
            if operation == "max":
                inner += f", rescaled(max)({over}, {a.text}, 1.0)[0]"
            text = f"{operation}({inner}, {limit})"  # of nothing, infinite
            return computed(text, a.dtype, max(a.most, 9), a.error)
        typed = self.random.random() < 0.4
        half = a.dtype == np.float16
        wide = np.dtype(np.float64) if typed else np.dtype(np.float32) if half else a.dtype
        name = "sum<float64>" if typed else ("sum", "compensated(sum)")[len(a.text) % 2]
        return self._summed(f"{name}({over}, {a.text})", wide, a, TRIPS ** len(inames))

    def _of_complex(self, depth: int) -> Value:
        inames = self.opened()
        a = self.over(inames, self.of("c", depth))
        return self._summed(f"sum({self.closed(inames)}, {a.text})", a.dtype, a, TRIPS)

    def _summed(self, text: str, dtype: np.dtype[np.generic], a: Value, trips: int) -> Value:
        # Each of the sums on the way is rounded.
        return computed(text, dtype, trips * a.most, trips * a.error, 1 if a.exact else trips)

    def _of_truths(self, depth: int) -> Value:
        inames = self.opened(2)
        a = self.over(inames, self.exact(self.random.choice("bbi"), depth))
        operation = self.random.choice(("any", "all"))
        return Value(f"{operation}({self.closed(inames)}, {a.text})", BOOL, 1)

    def _best_index(self, depth: int) -> Value:
        inames = self.opened()
        a = self.exact(self.random.choice("if"), depth)
        iname = self.closed(inames)
        operation = self.random.choice(("argmin", "argmax"))
        text = f"{operation}({iname}, {a.text}, int32({iname}))[1]"
        return Value(text, np.dtype(np.int32), largest(np.dtype(np.int32)))

    def _since(self, depth: int) -> Value:
        """Return what was added up since a condition held."""
        inames = self.opened()
        a, starts = self.over(inames, self.of("i", depth)), self.of("b", depth)
        iname = self.closed(inames)
        operation, wide = self.random.choice(("sum", "product")), _WIDE[a.dtype.kind]
        text = f"segmented({operation})({iname}, {a.text}, {starts.text})[0]"
        return Value(text, wide, largest(wide))
