"""What the two translations of a program share when they run: numbers, memory, and a trace.

Numbers are ideal: integers do not wrap around and nothing is rounded.  What is left of a type is
whether it is of integers, of truth values, of real or of complex numbers.  An array is as large as
anybody asks; an element that nobody wrote has a number that follows from its place.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from zlib import crc32

Value: TypeAlias = Any  # an integer, a truth value, a real or a complex number


class Enough(Exception):
    """So many iterations were run that what was seen of them has to do."""


class NotSaid(Exception):
    """The program does what it promised not to do: these sizes say nothing of its text."""


# --- numbers


# Integers are not let grow forever: only the remainder nearest to 0 is kept.
# It is the number itself for all that fit in 64 bits, whether or not they become real first.
_PRIME = 2**127 - 1
_HALF = _PRIME // 2


def to_integer(value: Value) -> int:
    """Return a number without its fraction."""
    if type(value) is not float:
        # The same, whether or not parts of what it was computed of were converted before.
        return (value + _HALF) % _PRIME - _HALF if abs(value) > _HALF else int(value)
    if not math.isfinite(value):
        return 0
    nearest = round(value)  # which it is, but for the last digits
    return nearest if abs(value - nearest) < 1e-7 * max(1, abs(value)) else int(value)


def to_unsigned(value: Value) -> Value:
    """Return a number without its fraction; here, none that wraps around."""
    return unsigned(to_integer(value))


def to_real(value: Value) -> Value:
    """Return a real number."""
    return float(to_integer(value) if type(value) is int else value)


def to_complex(value: Value, imaginary: Value = 0) -> complex:
    """Return a complex number."""
    return complex(value, imaginary) if imaginary else complex(value)


CONVERT: dict[str, Callable[[Value], Value]] = {
    "i": to_integer,
    "u": to_integer,
    "b": bool,
    "f": to_real,
    "h": to_real,  # bfloat16
    "V": to_real,
    "c": to_complex,
}


def quotient(a: Value, b: Value) -> Value:
    """Return a quotient of real or complex numbers, large integers as conversions leave them."""
    a, b = (to_integer(v) if type(v) is int else v for v in (a, b))
    if b == 0:
        known = a != 0 and not isinstance(a, complex) and not math.isnan(a)
        return math.copysign(math.inf, a) if known else math.nan
    return a / b


def are_integers(a: Value, b: Value) -> bool:
    """Tell whether C divides two numbers as integers."""
    return isinstance(a, int) and isinstance(b, int)


def divided(a: Value, b: Value) -> Value:
    """Return what ``/`` means in C: of integers, rounded towards zero."""
    if not are_integers(a, b):
        return quotient(a, b)
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def left_over(a: Value, b: Value) -> Value:
    """Return what ``%`` means in C: it has the sign of the dividend."""
    return a - b * divided(a, b) if are_integers(a, b) else math.fmod(a, b)


def floor_quotient(a: Value, b: Value) -> Value:
    """Return the quotient, rounded down; 0 where it is of zero."""
    return 0 if b == 0 else a // b


def modulo(a: Value, b: Value) -> Value:
    """Return the remainder that has the sign of the divisor."""
    return 0 if b == 0 else a % b


def power(a: Value, b: Value) -> Value:
    """Return a power; none that is too large or no real number."""
    if are_integers(a, b) and b < 0:
        return 1
    if are_integers(a, b) and b > 64:
        return pow(a, b, _PRIME)
    try:
        found = a**b
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return math.nan if isinstance(found, complex) and not isinstance(a, complex) else found


def root(a: Value) -> Value:
    """Return a square root."""
    return cmath.sqrt(a) if isinstance(a, complex) else power(a, 0.5)


def least(*values: Value) -> Value:
    """Return the smallest number."""
    return min(values)


def largest(*values: Value) -> Value:
    """Return the largest number."""
    return max(values)


def _of_bits(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return what is done with bits: what stands for an integer (`opaque`) becomes one."""
    return lambda *given: function(*(v if type(v) is bool else to_integer(v) for v in given))


# All bits the other way round; those that both have, either has, or one alone has.
complement = _of_bits(lambda a: (not a) if isinstance(a, bool) else ~a)
both_bits = _of_bits(operator.and_)
either_bit = _of_bits(operator.or_)
one_bit = _of_bits(operator.xor)
# A number times a power of two, 0 if no register holds that; and by one, rounded down.
left_shift = _of_bits(lambda a, b: a << b if 0 <= b < 64 else 0)
right_shift = _of_bits(lambda a, b: a >> b if 0 <= b < 64 else -(a < 0))


def total(*values: Value) -> Value:
    """Return a sum as NumPy does: of truth values, whether any holds."""
    first, *others = values
    for value in others:
        first = (
            (first or value)
            if isinstance(first, bool) and isinstance(value, bool)
            else first + value
        )
    return first


def product(*values: Value) -> Value:
    """Return a product as NumPy does: of truth values, whether all hold."""
    first, *others = values
    for value in others:
        both = isinstance(first, bool) and isinstance(value, bool)
        first = (first and value) if both else first * value
    return first


def compared(a: Value, b: Value) -> int:
    """Return the sign of a difference."""
    return int(a > b) - int(a < b)


def rounded(function: Callable[[float], int]) -> Callable[[Value], Value]:
    """Return what rounds numbers: those that are integers stay such."""
    return lambda a: float(function(a)) if isinstance(a, float) and math.isfinite(a) else a


def opaque(*values: Value) -> Value:
    """Return what stands for the value of a function: it depends on which operand is which.

    It is a whole number: so it makes no difference whether it is converted to an integer.
    """
    found: Value = 21.0
    for number, value in enumerate(values, 1):
        large = not cmath.isfinite(value) or abs(value) > 1e6
        found = found + (2.5 if large else value) * (37 + 8.3 * number)
    if isinstance(found, complex):
        return complex(round(found.real), round(found.imag))
    return float(round(found))


Passed: TypeAlias = Callable[[int, int], Value]  # what a work item passes, of its place
_LANES = [(x, y) for y in range(8) for x in range(4)]  # of a warp


def add_product(
    sums: list[tuple[Any, Value]],
    left: list[Passed | tuple[Passed, Passed]],
    right: list[Passed | tuple[Passed, Passed]],
    x: int,
    y: int,
) -> None:
    """Do what a warp's instruction does to what one work item holds.

    As the PTX ISA has it ("Matrix Fragments for mma"): of 4 work items side by side, 8 times, the
    one at (x, y) holds elements (y, 2*x) and (y, 2*x + 1) of the sum, and those 8 rows further
    down.  It passes element (y, x) of the left matrix, the one 8 rows further down, and so on for
    every fourth column; and element (x, y) of the right one, and so on for every fourth row.  Of
    pairs of numbers, it passes elements (y, 2*x) and (y, 2*x + 1), and so on for every eighth.

    Parameters:
        sums: arrays, and places in them.
        left: what any work item passes of the left matrix.
        right: of the right one.
        x: the place of the work item in the warp, along the first axis.
        y: along the second one.
    """
    rows, first = len(sums) // 2, y - y % 8
    assert len(left) == rows * len(right)
    for h in range(rows):
        for v in range(2):
            array, at = sums[2 * h + v]
            added = 0.0
            for number, passed in enumerate(right):
                both = zip(_numbers(left[number * rows + h]), _numbers(passed), strict=True)
                for a, b in both:
                    added += sum(a(t, y) * b(t, first + 2 * x + v) for t in range(4))
            array.put(at, array[at] + added, "p")


def _numbers(passed: Passed | tuple[Passed, Passed]) -> tuple[Passed, ...]:
    return passed if isinstance(passed, tuple) else (passed,)


def parts_of(
    rows: list[Callable[[int, int], tuple[Any, int]]], registers: int, transposed: bool, y: int
) -> list[tuple[Passed, Passed]]:
    """Return what any work item gets by ``ldmatrix``, for each register: two numbers.

    Work item number 8*m + r says where row r of matrix m begins, of 8 x 8 numbers.  The one at
    (x, y) gets elements (y, 2*x) and (y, 2*x + 1) of each; of a transposed one, (2*x, y) and
    (2*x + 1, y).

    Parameters:
        rows: for each load, where a work item says that a row begins: an array, and a place.
        registers: how many there are.
        transposed: whether matrices are.
        y: the place of the work item along the second axis.
    """
    each, first = registers // len(rows), y - y % 8
    begins = [[row(x, first + down) for x, down in _LANES] for row in rows]  # as loops are now

    def element(load: int, m: int, e: int) -> Passed:
        def number(x: int, y: int) -> Value:
            row, place = (2 * x + e, y % 8) if transposed else (y % 8, 2 * x + e)
            array, begin = begins[load][8 * m + row]
            return array[begin + place]

        return number

    return [
        (element(load, m, 0), element(load, m, 1)) for load in range(len(rows)) for m in range(each)
    ]


def shuffled(value: Value, distance: int) -> Value:
    """Return what stands for the number that another work item has."""
    if isinstance(value, complex):
        return complex(opaque(value.real, distance), opaque(value.imag, distance))
    return opaque(value, distance)


def opaque_integers(*values: Value) -> Value:
    """Return what stands for the integers, never negative, that a function makes."""
    return abs(int(opaque(*values)))


def part(value: Value, position: int) -> Value:
    """Return what stands for one of the results of a function that has several."""
    return (opaque_integers if isinstance(value, int) else opaque)(value, position)


# What is known of functions, by their names in kernels, and in C without prefix and suffix.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "fabs": abs,
    "sqrt": root,
    "floor": rounded(math.floor),
    "ceil": rounded(math.ceil),
    "trunc": rounded(math.trunc),
    "rint": rounded(round),
    "min": least,
    "max": largest,
    "fmin": least,
    "fmax": largest,
    "pow": power,
    "power": power,
    "powr": power,
    "fmod": left_over,
    "floor_div": floor_quotient,
    "mod": modulo,
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "fourth_power": lambda a: a * a * a * a,
    "shift_left": left_shift,
    "shift_right": right_shift,
    "compare": compared,
    "divide": quotient,
    "fdivide": quotient,
    "recip": lambda a: quotient(1.0, a),
    "all": bool,
    "any": bool,
    "isnan": cmath.isnan,
    "isinf": lambda a: abs(a) == math.inf,
    "isfinite": lambda a: abs(a) < math.inf,
    "signbit": lambda a: math.copysign(1.0, complex(a).real) < 0,
    "real": lambda a: complex(a).real,
    "imag": lambda a: complex(a).imag,
    "conj": lambda a: a.conjugate(),
}
# Those of random kernels that make integers, and what C calls them: so it makes no difference, how
# large the product of two may be, and whether one is converted before.
OWN: dict[str, Callable[..., Value]] = dict.fromkeys(
    ("own_mix", "own_mix_i"), lambda *given: int(opaque(*given))
)
FUNCTIONS |= OWN


# --- memory


class Memory(dict[Any, Value]):
    """An array: what was written to it, and the numbers that follow from places.

    Parameters:
        name: its name.
        kind: of what numbers it is: the letter that NumPy has for that.
        trace: where writes are noted; None if nobody else sees them.
    """

    __slots__ = ("convert", "kind", "name", "seed", "trace")

    def __init__(self, name: str, kind: str, trace: list[Any] | None) -> None:
        super().__init__()
        self.name, self.kind, self.trace = name, kind, trace
        self.convert, self.seed = CONVERT[kind], crc32(name.encode())

    def __missing__(self, key: Any) -> Value:
        mixed = hash((self.seed, key)) >> 5
        if self.kind in "iu":
            return mixed % 5
        if self.kind == "b":
            return mixed % 2 == 0
        real = 0.5 + (mixed % 997) / 500
        return complex(real, 1 - real) if self.kind == "c" else real

    def put(self, key: Any, value: Value, how: str) -> None:
        """Write an element.

        Parameters:
            key: its place.
            value: its value.
            how: ``a`` if atomically, ``p`` if not, ``s`` if nobody else can be there.
        """
        value = self.convert(value)
        self[key] = value
        if self.trace is not None:
            self.trace.append((self.name, key, value, how))


class Run:
    """What happens as one work item executes a launch.

    Parameters:
        sizes: the values of scalars, and of indices along the hardware's axes.
        iterations: how many iterations of loops there may be.
        backwards: whether loops of which iterations are in no order run from the end.
    """

    def __init__(
        self, sizes: dict[Any, Value], iterations: int, *, backwards: bool = False
    ) -> None:
        self.sizes, self.left, self.backwards = sizes, iterations, backwards
        self.trace: list[Any] = []
        # Parts of the trace: writes of which it makes no difference which comes first.
        self.in_no_order: list[slice] = []
        # What several iterations of such a loop write, not atomically.
        self.clashes: set[Any] = set()
        self._of_one_item: list[Any] = []
        self._count = 0
        self.shared: dict[str, Memory] = {}

    def array(self, name: str, kind: str) -> Memory:
        """Return an array that others see, too."""
        return self.shared.setdefault(name, Memory(name, kind, self.trace))

    def own(self, name: str, kind: str) -> Memory:
        """Return an array that a work item has to itself: another one each time."""
        if not self.backwards:
            return Memory(name, kind, None)
        found = Memory(name, kind, self._of_one_item)
        self._count += 1
        found.name = f"{name} {self._count}"
        return found

    def table(self, name: str, kind: str, elements: list[Value]) -> Memory:
        """Return an array of constants."""
        found = self.shared[name] = Memory(name, kind, None)
        found.update(enumerate(map(found.convert, elements)))
        return found

    def up(self, first: int, end: int, step: int) -> Iterator[int]:
        """Yield the values of a loop's counter."""
        for value in range(first, end, step):
            self.left -= 1
            if self.left < 0:
                raise Enough
            yield value

    def any_order(self, first: int, end: int, step: int) -> Iterator[int]:
        """Yield the values of the counter of a loop whose iterations are in no order."""
        if not self.backwards:
            yield from self.up(first, end, step)
            return
        written: set[Any] = set()  # by iterations before
        for value in reversed(range(first, end, step)):
            self.left -= 1
            if self.left < 0:
                raise Enough
            lists = self.trace, self._of_one_item
            starts = [len(events) for events in lists]
            yield value
            new = (e for events, start in zip(lists, starts, strict=True) for e in events[start:])
            own = {(event[0], event[1]) for event in new if event[-1] != "a"}
            self.clashes |= own & written
            written |= own

    def note(self, kind: str, *event: Any) -> None:
        """Note what is no write, under a name that no array has."""
        self.trace.append((f"({kind})", *event))

    def written_by_others(self, name: str) -> float:
        """Return what a scalar has that C of the user's wrote to."""
        return 0.5 + crc32(name.encode()) % 5


def unsigned(value: Value) -> Value:
    """Return a number of an unsigned type: here, none that wraps around."""
    if not isinstance(value, complex) and value < 0:
        raise NotSaid
    return value


def not_negative(value: int) -> int:
    """Return a number that the program says is never negative."""
    if value < 0:
        raise NotSaid
    return value
