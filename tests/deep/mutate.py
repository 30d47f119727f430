"""Mutation testing: do the tests notice small changes of polygen?

    python -m tests.deep.mutate                     # a sample of 40, the same each time
    python -m tests.deep.mutate --count 200 --seed 7
    python -m tests.deep.mutate --full polygen/lower/bounds.py

First, all tests run once, and it is noted which statements each of them runs, and how long it
takes.  Then each mutant runs, in a process forked for it, those that run the changed statement,
the fastest first, until one fails.  Files are never changed: the process imports the mutant.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

# Loaded once, before anything is forked; polygen itself is not.
import islpy  # noqa: F401
import lark  # noqa: F401
import numpy as np  # noqa: F401
import pymbolic  # noqa: F401
import pytest

from tests.deep.mutations import Mutant, mutants, mutated
from tests.deep.which_tests import MUTATED, OPTIONS, ROOT, Importer, Known, record, start

LONGEST = 150  # seconds of a processor until a mutant counts as noticed, for it may run forever
LARGEST = 8 << 30  # bytes that it may use
NEEDED = 85  # per cent


# --- running a mutant


def run_mutant(mutant: Mutant, tests: Sequence[str]) -> int:
    """Run tests on a mutant, in this process; return pytest's exit code."""
    # Seconds of a processor, which others may share; after that, the process is ended.
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 1))
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
    sys.meta_path.insert(0, Importer({mutant.path: mutated(mutant)}, {}))
    return int(pytest.main([*OPTIONS, *tests]))


def results(chosen: Sequence[Mutant], known: Known, jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what became of it: killed, survived, endless or untested."""
    waiting = list(chosen)
    running: dict[int, Mutant] = {}
    while waiting or running:
        if waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            tests = known.tests_of(mutant)
            if tests:
                running[start(partial(run_mutant, mutant, tests), Path(os.devnull))] = mutant
            else:
                yield mutant, "untested"
            continue
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        ended = code in (-signal.SIGXCPU, -signal.SIGKILL)
        yield running.pop(pid), "survived" if code == 0 else "endless" if ended else "killed"


# --- the report


def _sample(paths: Sequence[str], count: int | None, seed: int) -> list[Mutant]:
    found: list[Mutant] = []
    for place in (ROOT / name for name in paths):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found += mutants(path.relative_to(ROOT))
    if count is None or count >= len(found):
        return found
    return sorted(random.Random(seed).sample(found, count), key=str)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation testing of polygen.")
    parser.add_argument("paths", nargs="*", default=MUTATED, help="files and folders to change")
    parser.add_argument("--count", type=int, default=40, help="how many mutants (default: 40)")
    parser.add_argument("--full", action="store_true", help="all mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument("--needed", type=int, default=NEEDED, help=f"per cent (default: {NEEDED})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["CI"] = "1"  # hypothesis tries the same examples each time
    known = record(options.jobs)
    chosen = _sample(options.paths, None if options.full else options.count, options.seed)
    table: dict[str, Counter[str]] = {}
    started = time.monotonic()
    for mutant, result in results(chosen, known, options.jobs):
        table.setdefault(str(mutant.path), Counter())[result] += 1
        if result != "killed":
            _say(f"{result}: {mutant}")
    total = sum(table.values(), Counter())
    for path, counts in sorted(table.items()):
        _say(f"{path}: {', '.join(f'{n} {result}' for result, n in sorted(counts.items()))}")
    noticed = (total["killed"] + total["endless"]) / max(1, total.total())
    seconds = time.monotonic() - started
    _say(f"{total.total()} mutants in {seconds:.0f} s: {dict(total)}, {noticed:.0%} noticed")
    sys.exit(100 * noticed < options.needed)


if __name__ == "__main__":
    main()
