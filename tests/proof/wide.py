"""Which random steps on kernels over the whole language are refused and look harmless.

    python -m tests.proof.wide 0 300

prints what there is for some seeds, the kernels and errors included, and how many steps there were.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

import polygen as pg
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from tests.oracle.compare import typed
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret
from tests.oracle.rules import inlined
from tests.proof.any_step import DECLARED, random_step
from tests.proof.precision import HARMLESS, REFUSALS, Looked, count, result_of
from tests.proof.races import has_race
from tests.random_kernels.check import Case, check_arrays, make_case
from tests.random_kernels.maker import arguments_of

TRIES = 5
_UNTRIED = "the kernel says that more may be touched than is in executions"
SIZES = ((4, 3), (3, 5), (6, 6), (2, 2), (1, 4))


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
            verdict = _UNTRIED if _is_untried(error) else _harm(case, new) or HARMLESS
            yield Looked((seed, number), step, kernel, error, verdict)
        except UserError:
            continue  # it cannot be taken
        else:
            yield Looked((seed, number), step, kernel)
            kernel = accepted


def _is_untried(error: UserError) -> bool:
    """Tell whether arrays that may overlap, or verbatim C that may read all of one, are why."""
    marked = [line for line in str(error).splitlines() if line.strip().startswith("| ->")]
    return "may overlap" in error.what or any(" code(" in line for line in marked)


def _harm(case: Case, new: Kernel) -> str | None:
    """Return what is wrong with a step that was refused, or None if nothing is seen."""
    for n, m in SIZES:
        for seed in (1, 2):
            arguments = arguments_of(case.kernel, {"n": n, "m": m}, seed)
            wanted = interpret(case.kernel, arguments, seed).arrays
            try:
                for order in (1, 2, 3):
                    found = interpret(new, arguments, order).arrays
                    check_arrays(case, found, wanted, "after the step")
                with pg.without_proofs():
                    plain = inlined(typed(new, arguments))
                with np.errstate(all="ignore"):
                    if has_race(plain, arguments, range(4)):
                        return "a race"
            except OracleError:
                return "no execution is permitted"
            except AssertionError:
                return "results differ"
    return None


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
