"""Mutation testing: do the tests notice small changes of polygen?

    python -m tests.deep.mutate                     # a sample of 40, the same each time
    python -m tests.deep.mutate --count 200 --seed 7
    python -m tests.deep.mutate --full polygen/lower/bounds.py

First, all tests run once, and it is noted which functions each of them calls, and how long it
takes.  Then each mutant runs, in a process forked for it, those that call the changed function,
the fastest first, until one fails.  Files are never changed: the process imports the mutant.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

# Loaded once, before anything is forked; polygen itself is not.
import islpy  # noqa: F401
import lark  # noqa: F401
import numpy as np  # noqa: F401
import pymbolic  # noqa: F401
import pytest

from tests.deep.mutations import Mutant, mutants, mutated

ROOT = Path(__file__).parents[2]
MUTATED = ("polygen/analysis", "polygen/lower")
TESTS = (
    *("tests/analysis", "tests/lower", "tests/transforms", "tests/language", "tests/proof"),
    *("tests/test_transformation.py", "tests/targets/test_programs.py", *MUTATED),
)
CACHE = ROOT / ".pytest_cache" / "mutation.json"
LOG = CACHE.with_suffix(".log")
SLOWEST = 2.0  # seconds: slower tests are left out
BUDGET = 20.0  # seconds of tests for one mutant
TIMEOUT = 90.0  # seconds until a mutant counts as killed, for it may run forever
NEEDED = 85  # per cent
OPTIONS = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=no", "--no-summary"]


# --- which test calls what


class Recorder:
    """A pytest plugin that notes which functions of the mutated modules each test calls."""

    def __init__(self) -> None:
        self.calls: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self._prefixes = tuple(str(ROOT / folder) for folder in MUTATED)
        self._seen: set[CodeType] = set()

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            self._seen.add(frame.f_code)

    def _functions(self) -> set[str]:
        return {
            f"{os.path.relpath(code.co_filename, ROOT)}:{code.co_firstlineno}"
            for code in self._seen
            if code.co_filename.startswith(self._prefixes)
        }

    @contextmanager
    def _noted(self, name: str) -> Iterator[None]:
        self._seen = set()
        sys.setprofile(self._profile)
        started = time.perf_counter()
        try:
            yield
        finally:
            sys.setprofile(None)
            self.seconds[name] = time.perf_counter() - started
            self.calls[name] = self._functions()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        with self._noted(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        if not isinstance(collector, pytest.Module):
            return (yield)
        with self._noted(f"collect {collector.nodeid}"):
            return (yield)


@dataclass(frozen=True)
class Calls:
    """For each test, the functions that it calls, and how long it takes."""

    calls: dict[str, list[str]]
    seconds: dict[str, float]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that call the changed function, the fastest first."""
        path = str(mutant.path)
        prefix = f"{path}:{mutant.function}" if mutant.function else f"{path}:"
        found = [
            test
            for test, called in self.calls.items()
            if any(c == prefix or (not mutant.function and c.startswith(prefix)) for c in called)
        ]
        found.sort(key=self.seconds.__getitem__)
        chosen: list[str] = []
        left = BUDGET
        for test in found:
            left -= self.seconds[test]
            if left < 0:
                break
            chosen.append(test)
        return chosen


def _digest() -> str:
    found = hashlib.sha256()
    for folder in ("polygen", "tests", "transforms"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def record(cache: Path) -> Calls:
    """Run all tests once, unless that was done for the files as they are."""
    digest = _digest()
    if cache.exists() and (known := json.loads(cache.read_text()))["digest"] == digest:
        return Calls(known["calls"], known["seconds"])
    LOG.parent.mkdir(exist_ok=True)
    _, status = os.waitpid(_start(lambda: _record(cache, digest), quiet=False), 0)
    if status != 0:
        raise SystemExit(f"the tests fail as they are:\n{LOG.read_text()[-4000:]}")
    known = json.loads(cache.read_text())
    return Calls(known["calls"], known["seconds"])


def _record(cache: Path, digest: str) -> int:
    recorder = Recorder()
    tests = [test for test in TESTS if (ROOT / test).exists()]
    code = int(pytest.main([*OPTIONS, *tests], plugins=[recorder]))
    calls: dict[str, list[str]] = {}
    for test, called in recorder.calls.items():
        if not test.startswith("collect ") and recorder.seconds[test] < SLOWEST:
            imported = recorder.calls.get(f"collect {test.split('::')[0]}", set())
            calls[test] = sorted(called | imported)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"digest": digest, "calls": calls, "seconds": recorder.seconds}))
    return code


# --- running a mutant


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed module in place of the one in the file."""

    def __init__(self, name: str, tree: ast.Module, path: Path) -> None:
        self._name = name
        self._path = path
        self._code = compile(tree, str(path), "exec")

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  (the interface of importlib)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self._path))
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)  # noqa: S102  (this is what a mutant is for)


def run_mutant(mutant: Mutant, tests: Sequence[str]) -> int:
    """Run tests on a mutant, in this process; return pytest's exit code."""
    name = ".".join(mutant.path.with_suffix("").parts)
    sys.meta_path.insert(0, _Importer(name, mutated(mutant), ROOT / mutant.path))
    return int(pytest.main([*OPTIONS, *tests]))


@dataclass
class _Child:
    pid: int
    mutant: Mutant
    deadline: float


def _start(run: Callable[[], int], *, quiet: bool = True) -> int:
    """Run a function in a forked process, which ends with what it returns."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull if quiet else LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _kill(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def results(chosen: Sequence[Mutant], calls: Calls, jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what became of it: killed, survived, timeout or untested."""
    waiting = list(chosen)
    running: list[_Child] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            tests = calls.tests_of(mutant)
            if not tests:
                yield mutant, "untested"
                continue
            pid = _start(partial(run_mutant, mutant, tests))
            running.append(_Child(pid, mutant, time.monotonic() + TIMEOUT))
        time.sleep(0.02)
        for child in list(running):
            done, status = os.waitpid(child.pid, os.WNOHANG)
            if done:
                running.remove(child)
                survived = os.waitstatus_to_exitcode(status) == 0
                yield child.mutant, "survived" if survived else "killed"
            elif time.monotonic() > child.deadline:
                _kill(child.pid)
                running.remove(child)
                yield child.mutant, "timeout"


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
    calls = record(CACHE)
    chosen = _sample(options.paths, None if options.full else options.count, options.seed)
    table: dict[str, Counter[str]] = {}
    started = time.monotonic()
    for mutant, result in results(chosen, calls, options.jobs):
        table.setdefault(str(mutant.path), Counter())[result] += 1
        if result != "killed":
            _say(f"{result}: {mutant}")
    total = sum(table.values(), Counter())
    for path, counts in sorted(table.items()):
        _say(f"{path}: {', '.join(f'{n} {result}' for result, n in sorted(counts.items()))}")
    noticed = (total["killed"] + total["timeout"]) / max(1, total.total())
    seconds = time.monotonic() - started
    _say(f"{total.total()} mutants in {seconds:.0f} s: {dict(total)}, {noticed:.0%} noticed")
    sys.exit(100 * noticed < options.needed)


if __name__ == "__main__":
    main()
