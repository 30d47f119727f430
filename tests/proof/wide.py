"""Which random steps on kernels over the whole language are refused and look harmless.

    python -m tests.proof.wide 0 300

prints what there is for some seeds, the kernels and errors included, and how many steps there were.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.oracle.compare import typed
from tests.oracle.evaluate import OracleError, OracleLimitError
from tests.oracle.interpreter import interpret
from tests.oracle.overlaps import bytes_of, overlapping
from tests.oracle.rules import inlined
from tests.proof.any_step import DECLARED, AnyStep, random_step
from tests.proof.judge import UNDEFINED, outcomes
from tests.proof.precision import HARMLESS, REFUSALS, Looked, count, result_of
from tests.proof.races import has_race
from tests.proof.sequences import REGROUPING
from tests.proof.trace import trace
from tests.random_kernels.check import Arrays, Case, check_arrays, make_case
from tests.random_kernels.maker import arguments_of

TRIES = 5
SIZES = ((4, 3), (3, 5), (6, 6), (2, 2), (1, 4))
MORE_DATA = range(10, 26)  # seeds of it
OVERLAPS = 24  # of each two arrays


def look_at(seed: int) -> Iterator[Looked]:
    """Take random steps; look at each that is refused."""
    case = make_case(seed)
    choices = random.Random(seed)
    kernel = case.kernel
    for number in range(TRIES):
        step = random_step(kernel, choices)
        new = None if step.name in DECLARED else result_of(kernel, step)
        if new is None:
            continue
        try:
            accepted = step(kernel)
        except REFUSALS as error:
            verdict = _Look(case, kernel, new, step).harm(error) or HARMLESS
            yield Looked((seed, number), step, kernel, error, verdict)
        except UserError:
            continue  # it cannot be taken
        else:
            yield Looked((seed, number), step, kernel)
            kernel = accepted


@dataclass(frozen=True)
class _Look:
    """Looks for what is wrong with a step that was refused.

    Attributes:
        case: what was made at first.
        old: the kernel before the step, that does the same.
        new: what the step would make of it.
        step: the step.
    """

    case: Case
    old: Kernel
    new: Kernel
    step: AnyStep

    def harm(self, error: UserError) -> str | None:
        """Return what is wrong, or None if nothing is seen."""
        try:
            return self._harm(error)
        except OracleLimitError:
            return None

    def _harm(self, error: UserError) -> str | None:
        for n, m in SIZES:
            for seed in (1, 2):
                arguments = arguments_of(self.old, {"n": n, "m": m}, seed)
                wanted = interpret(self.case.kernel, arguments, seed).arrays
                found = self._seen(arguments, wanted)
                if found is not None:
                    return found
        return self._rounding() or self._data() or self._overlap(error)

    def _seen(self, arguments: Arrays, wanted: Arrays) -> str | None:
        try:
            for order in (1, 2, 3):
                found = interpret(self.new, arguments, order).arrays
                check_arrays(self.case, found, wanted, "after the step")
            if _has_race(self.new, arguments):
                return "a race"
        except OracleError:
            return "no execution is permitted"
        except AssertionError:
            return "results differ"
        return None

    def _rounding(self) -> str | None:
        """Look whether numbers are other ones, in whatever order sums are added up."""
        if self.step.name.startswith(REGROUPING):
            return None  # they may be
        for n, m in SIZES[:3]:
            arguments = _of_many_digits(arguments_of(self.old, {"n": n, "m": m}, n))
            if self._differs(arguments):
                return "numbers are rounded otherwise"
        return None

    def _differs(self, arguments: Arrays) -> bool:
        """Tell whether results differ in a call for which they are certain before the step."""
        expected = outcomes(self.old, arguments, range(3))
        if len(expected) > 1 or UNDEFINED in expected:
            return False
        return outcomes(self.new, arguments, range(3)) != expected

    def _data(self) -> str | None:
        """Look at more data, for it may decide which instances there are."""
        for seed in MORE_DATA:
            n, m = SIZES[seed % 3]
            arguments = arguments_of(self.old, {"n": n, "m": m}, seed)
            wanted = interpret(self.old, arguments, seed).arrays
            found = self._seen(arguments, wanted)
            if found is not None:
                return f"{found}, for some data"
        return None

    def _overlap(self, error: UserError) -> str | None:
        """Look at calls whose arrays overlap, where the kernel says that they may."""
        arguments = arguments_of(self.old, {"n": 4, "m": 3}, 5)
        for first, second in _may_overlap(self.old, error.what):
            for shift in _shifts(self.new, arguments, first, second):
                called = overlapping(arguments, first, second, shift)
                if _is_wrong(self.old, called):
                    continue  # what the kernel owes does not hold
                if _is_wrong(self.new, called):
                    return "a race of arrays that overlap"
                if self._differs(called):
                    return "results differ where arrays overlap"
        return None


def _has_race(kernel: Kernel, arguments: Arrays) -> bool:
    return has_race(_plain(kernel, arguments), arguments, range(4))


def _is_wrong(kernel: Kernel, arguments: Arrays) -> bool:
    try:
        return _has_race(kernel, arguments)
    except OracleError:
        return True


def _plain(kernel: Kernel, arguments: Arrays) -> Kernel:
    with pg.without_proofs():
        return inlined(typed(kernel, arguments))


def _of_many_digits(arguments: Arrays) -> Arrays:
    """Return arguments whose floating-point numbers few types can hold."""
    random_numbers = np.random.default_rng(7)
    found = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fcV":  # V: bfloat16
            found[name] = (value * random_numbers.uniform(0.5, 1, value.shape)).astype(value.dtype)
    return found


def _may_overlap(kernel: Kernel, what: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of arrays that may overlap, and of which a refusal names one."""
    arrays = [a for a in kernel.arguments if isinstance(a, pg.GlobalArg) and a.dtype != np.bool_]
    for first, second in combinations(arrays, 2):
        named = any(f"'{a.name}'" in what or f" {a.name}[" in what for a in (first, second))
        written = not kernel.writers.keys().isdisjoint((first.name, second.name))
        if named and written and (first.may_alias or second.may_alias):
            yield first.name, second.name


def _shifts(kernel: Kernel, arguments: Arrays, first: str, second: str) -> list[int]:
    """Return shifts of the second array with which elements that are touched are in one place."""
    touched = trace(_plain(kernel, arguments), arguments, 0).touched.values()
    places = {
        name: {
            bytes_of(arguments[name], index)[0] for t in touched for n, index, _ in t if n == name
        }
        for name in (first, second)
    }
    begin = {name: bytes_of(arguments[name], (0,) * arguments[name].ndim)[0] for name in places}
    size = arguments[second].itemsize
    found = {
        ((at - begin[first]) - (to - begin[second])) // size
        for at in places[first]
        for to in places[second]
    }
    return random.Random(1).sample(sorted(found), min(OVERLAPS, len(found)))


def main(first: int, last: int) -> None:
    """Print the steps of some seeds that are refused and harmless."""
    counted: Counter[str] = Counter()
    for seed in range(first, last):
        looked = list(look_at(seed))
        counted += count(looked)
        for each in looked:
            if each.verdict == HARMLESS:
                what = f"{each.place}: {each.step}\n{type(each.error).__name__}: {each.error}"
                sys.stdout.write(f"{what}\n{each.kernel}\n\n")
        sys.stdout.flush()
    sys.stdout.write(f"{dict(counted)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
