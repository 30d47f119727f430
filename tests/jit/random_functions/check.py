"""Random functions under `pg.jit`, beside CPython with NumPy; a failing one is shrunk.

python -m tests.jit.random_functions.check FIRST COUNT [--shrink]
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import polygen as pg
from tests.jit.agreement import DiffersError, Outcome, check
from tests.jit.random_functions.maker import Function, compiled, expected, make
from tests.jit.random_functions.shrinking import shrunk
from tests.jit.together import outcomes
from tests.quick_c import compile_quickly

SIZES = ((5, 4), (1, 3), (0, 2), (2, 6))
# Of inexact values: divisions, means, `exp`, and sums in another order.  Few of them are carried.
ROUNDINGS = 2.0**16


@dataclass(frozen=True)
class Failure:
    """A function that is wrong under `pg.jit`, and how."""

    function: Function
    sizes: tuple[int, int]
    error: Exception

    @property
    def kind(self) -> str:
        """What failures have in common that are taken for the same one."""
        if isinstance(self.error, DiffersError):
            return "differs"
        return f"{type(self.error).__name__}: {re.sub(r'[0-9]+', '#', str(self.error))[:40]}"

    def __str__(self) -> str:
        where = "" if isinstance(self.error, DiffersError) else f"\n{_place(self.error)}"
        what = f"{type(self.error).__name__}: {self.error}"
        return (
            f"seed {self.function.seed}, n, m = {self.sizes}: {what}{where}\n{self.function.text}"
        )


def _place(error: Exception) -> str:
    found = traceback.extract_tb(error.__traceback__)[-1]
    return f"  raised in {found.filename}, line {found.lineno}, {found.name}"


def as_users_have_it(function: Function) -> Callable[..., Any]:
    """Return a function whose text can be found, as that of a cell of a notebook is."""
    name = f"<{function.name} {hash(function.text)}>"
    text = function.source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "random_functions"}
    exec(compile(text, name, "exec"), names)  # noqa: S102  its own text
    found: Callable[..., Any] = names[function.name]
    return found


@dataclass
class Found:
    """What became of some functions.

    Attributes:
        failures: those that were wrong.
        calls: how many calls were compared.
        in_python: those that are kernels in part alone, with what is said of it.
    """

    failures: list[Failure]
    calls: int
    in_python: dict[int, list[str]]


def checked(
    functions: Sequence[Function],
    patch: pytest.MonkeyPatch,
    sizes: Sequence[tuple[int, int]] = SIZES[:2],
    *,
    scheduled: bool = True,
) -> Found:
    """Call functions under `pg.jit` for each of some sizes, and compare.

    Parameters:
        functions: of different seeds.
        patch: a pytest's.
        sizes: what `n` and `m` are.
        scheduled: whether kernels are scheduled, which takes most of the time, as users have them.
    """
    if not scheduled:
        patch.setattr("polygen.jitting.compiled_programs._scheduled", None)
    found = Found([], 0, {})
    jitted = {f.seed: pg.jit(as_users_have_it(f), target="c") for f in functions}
    for n, m in sizes:
        each = {f.seed: expected(f, n, m) for f in functions}
        meant = {seed: Outcome(*one) for seed, one in each.items() if one is not None}
        asked = [f for f in functions if f.seed in meant]
        left = outcomes([(jitted[f.seed], f.arguments(n, m)) for f in asked], patch)
        for function, outcome in zip(asked, left, strict=True):
            found.calls += 1
            error = _error(outcome, meant[function.seed])
            if isinstance(error, OverflowError) and has_large_integers(function, n, m):
                continue  # kernels say so, where Python goes on with more bits
            if error is not None:
                found.failures.append(Failure(function, (n, m), error))
    for seed, function_of_seed in jitted.items():
        if lines := in_python(function_of_seed):
            found.in_python[seed] = lines
    return found


def in_python(function: Any) -> list[str]:
    """Return what `explain` says of statements that are repeated, and stay Python's."""
    lines = [line.strip() for line in str(function.explain()).splitlines()]
    return [line for line in lines if ": Python: " in line and "nothing is repeated" not in line]


def has_large_integers(function: Function, n: int, m: int) -> bool:
    """Tell whether Python's integers become so large that products need more than 64 bits."""
    largest = 0

    def look(frame: Any, _event: str, _argument: Any) -> Any:
        nonlocal largest
        integers = [abs(one) for one in frame.f_locals.values() if type(one) is int]
        largest = max(largest, *integers, 0)
        return look

    sys.settrace(look)
    try:
        expected(function, n, m)
    finally:
        sys.settrace(None)
    return largest >= 2**31


def _error(found: Outcome | Exception, meant: Outcome) -> Exception | None:
    if isinstance(found, Exception):
        return found
    try:
        check(found, meant, ROUNDINGS)
    except DiffersError as error:
        return error
    return None


def smallest(failure: Failure, patch: pytest.MonkeyPatch, most: int = 300) -> Failure:
    """Return the same failure of a function of a few lines."""
    last = failure

    def fails(function: Function) -> bool:
        nonlocal last
        try:
            compiled(function)
        except SyntaxError:
            return False
        try:
            again = checked([function], patch, [failure.sizes]).failures
        except (NameError, TypeError, AttributeError):
            return False
        if not again or again[0].kind != failure.kind:
            return False
        last = again[0]
        return True

    shrunk(failure.function, fails, most)
    return last


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--shrink", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    functions = [make(seed) for seed in range(given.first, given.first + given.count)]
    with pytest.MonkeyPatch.context() as patch:
        compile_quickly(patch)
        found = checked(functions, patch)
        kinds: dict[str, Failure] = {}
        for failure in found.failures:
            kinds.setdefault(failure.kind if failure.kind != "differs" else repr(failure), failure)
        for failure in kinds.values():
            print(smallest(failure, patch) if given.shrink else failure)
    reasons: dict[str, int] = {}
    for lines in found.in_python.values():
        for line in lines:
            why = re.sub(r"\(.*?\)|[0-9]+|'\w+'", "", line.partition(": Python: ")[2])
            reasons[why] = reasons.get(why, 0) + 1
    for why, times in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"{times:5} {why}")
    print(
        f"{len(functions)} functions, {found.calls} calls: {len(found.failures)} failed;", end=" "
    )
    print(f"{len(found.in_python)} partly Python; {time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
