"""Which tests run which statements of the modules that mutants are made of."""

from __future__ import annotations

import ast
import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.deep.mutations import Mutant

ROOT = Path(__file__).parents[2]
MUTATED = ("polygen/analysis", "polygen/lower", "polygen/targets")
TESTS = (
    *("tests/analysis", "tests/lower", "tests/transforms", "tests/language", "tests/proof"),
    *("tests/validation", "tests/test_transformation.py", "tests/targets", "tests/read_back"),
    "tests/properties/test_random_kernels.py::test_loop_programs",
    *("tests/properties/test_random_copies.py", "tests/inspection", "tests/errors", "tests/docs"),
    *MUTATED,
)
CACHE = ROOT / ".pytest_cache" / "mutation.json"
SHARE = 8  # files of tests, for a process
BUDGET = 30.0  # seconds, for the fast tests of a mutant, and again for the slow ones
OPTIONS = ["-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=no", "-rf"]

_NOTE = "__ran__"
_RAN = (0, 1, 5)  # 1: some failed; 5: there was nothing to run


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports other code in place of that of files.

    Parameters:
        modules: the code, by file.
        names: what modules find among their names.
    """

    def __init__(self, modules: Mapping[Path, ast.Module], names: Mapping[str, Any]) -> None:
        self._names = names
        self._code = {
            ".".join(path.with_suffix("").parts): (ROOT / path, compile(tree, ROOT / path, "exec"))
            for path, tree in modules.items()
        }

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  (the interface of importlib)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._code:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self._code[fullname][0]))
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self._names)
        exec(self._code[module.__name__][1], module.__dict__)  # noqa: S102  (what it is for)


class _Noting(ast.NodeTransformer):
    """Lets each statement of a function note that it is run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        around, self._inside = self._inside, True
        self.generic_visit(node)
        self._inside = around
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        around, self._inside = self._inside, False
        self.generic_visit(node)
        self._inside = around
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody") if self._inside else ():
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [new for old in statements for new in self._noted(old)])
        return node

    def _noted(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return [statement]  # a docstring
        place = f"{self._path}:{statement.lineno}"
        call = ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(place)], [])
        return [ast.copy_location(ast.Expr(call), statement), statement]


def _noting(path: Path) -> ast.Module:
    tree = _Noting(path).visit(ast.parse((ROOT / path).read_text()))
    assert isinstance(tree, ast.Module)
    return ast.fix_missing_locations(tree)


class _Recorder:
    """A pytest plugin that notes which statements each test runs, and how long it takes."""

    def __init__(self) -> None:
        self.statements: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}
        self.on_import: set[str] = set()
        self.failed: set[str] = set()
        self._ran: set[str] = set()
        paths = [path for name in MUTATED for path in sorted((ROOT / name).rglob("*.py"))]
        modules = {path: _noting(path) for path in (p.relative_to(ROOT) for p in paths)}
        sys.meta_path.insert(0, Importer(modules, {_NOTE: self._ran.add}))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.on_import |= self._ran  # of this test's module, for one
        self._ran.clear()
        started = _time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = _time() - started
            self.statements[item.nodeid] = sorted(self._ran)
            self._ran.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def _time() -> float:
    """Return how long this process, and those that it waited for, have had a processor."""
    return sum(os.times()[:4])


@dataclass(frozen=True)
class Known:
    """What is known of tests.

    Attributes:
        statements: for each statement, the tests that run it, the fastest first.
        on_import: the statements that are run when modules are imported.
        seconds: how long each test takes.
    """

    statements: dict[str, list[str]]
    on_import: frozenset[str]
    seconds: dict[str, float]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run what is changed, as many as there is time for.

        The fastest, which are about one thing each; then the slowest, with many random kernels.
        """
        able = self._able(mutant)
        fast = list(self._affordable(able))
        return fast + list(self._affordable(reversed(able[len(fast) :])))

    def _affordable(self, tests: Iterable[str]) -> Iterator[str]:
        left = BUDGET
        for test in tests:
            left -= self.seconds[test]
            if left < 0:
                return
            yield test

    def _able(self, mutant: Mutant) -> list[str]:
        place = f"{mutant.path}:{mutant.statement}"
        if mutant.statement and place not in self.on_import:
            return self.statements.get(place, [])
        # Any test that runs something of the module.
        anywhere = [s for s in self.statements if s.startswith(f"{mutant.path}:")]
        found = {test for statement in anywhere for test in self.statements[statement]}
        return sorted(found, key=lambda test: (self.seconds[test], test))


def record(jobs: int) -> Known:
    """Run all tests, unless that was done for the files as they are.

    Tests that fail as they are tell nothing of mutants: they are named, and left out.

    Parameters:
        jobs: how many processes.
    """
    digest = _digest()
    if not CACHE.exists() or json.loads(CACHE.read_text())["digest"] != digest:
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        _merge(digest, list(_recorded(jobs)))
    known = json.loads(CACHE.read_text())
    tests = known["tests"]
    return Known(
        {place: [tests[number] for number in found] for place, found in known["ran"].items()},
        frozenset(known["on_import"]),
        known["seconds"],
    )


def _digest() -> str:
    found = hashlib.sha256()
    for folder in ("polygen", "tests", "transforms"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def _shares() -> list[list[str]]:
    """Return the tests in shares, each for a process: importing polygen takes a second."""
    files: list[str] = []
    for place in TESTS:
        inside = (ROOT / place).rglob("*.py" if place in MUTATED else "test_*.py")
        files += sorted(str(path.relative_to(ROOT)) for path in inside) or [place]
    return [files[start : start + SHARE] for start in range(0, len(files), SHARE)]


def _recorded(jobs: int) -> Iterator[dict[str, Any]]:
    """Run the shares in processes, several at once; yield what each has noted."""
    waiting = list(enumerate(_shares()))
    running: dict[int, int] = {}
    while waiting or running:
        if waiting and len(running) < jobs:
            number, share = waiting.pop()
            part, log = _part(number)
            running[start(partial(_record, share, part), log)] = number
            continue
        pid, status = os.wait()
        part, log = _part(running.pop(pid))
        if os.waitstatus_to_exitcode(status) not in _RAN:
            raise SystemExit(f"the tests cannot run:\n{log.read_text()[-4000:]}")
        for line in log.read_text().splitlines():
            if line.startswith("fails as it is"):
                sys.stdout.write(f"{line}\n")
        yield json.loads(part.read_text())


def _part(number: int) -> tuple[Path, Path]:
    """Return where a process notes what it found, and what it says."""
    return CACHE.with_suffix(f".{number}.json"), CACHE.with_suffix(f".{number}.log")


def _record(share: Sequence[str], part: Path) -> int:
    recorder = _Recorder()
    options = [option for option in OPTIONS if option != "-x"]
    code = int(pytest.main([*options, *share], plugins=[recorder]))
    for test in sorted(recorder.failed):
        sys.stderr.write(f"fails as it is: {test}\n")
        del recorder.seconds[test], recorder.statements[test]
    on_import = sorted(recorder.on_import)
    found = {"seconds": recorder.seconds, "ran": recorder.statements, "on_import": on_import}
    part.write_text(json.dumps(found))
    return code


def _merge(digest: str, parts: Sequence[dict[str, Any]]) -> None:
    """Write down what all processes noted, tests as numbers: the fastest first."""
    seconds: dict[str, float] = {test: s for part in parts for test, s in part["seconds"].items()}
    tests = sorted(seconds, key=lambda test: (seconds[test], test))
    statements = {test: places for part in parts for test, places in part["ran"].items()}
    ran: dict[str, list[int]] = {}
    for number, test in enumerate(tests):
        for place in statements[test]:
            ran.setdefault(place, []).append(number)
    on_import = sorted({place for part in parts for place in part["on_import"]})
    known = {"digest": digest, "tests": tests, "seconds": seconds, "ran": ran}
    CACHE.write_text(json.dumps(known | {"on_import": on_import}))


def start(run: Callable[[], int], output: Path) -> int:
    """Run a function in a forked process, which ends with what it returns; return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setpgid(0, 0)
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        code = run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
