"""What a first process has compiled and chosen, a second one reads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.runtime.calls.kept_programs as programs
from polygen.jitting import compiled_programs as jitting

FUNCTIONS = """
import subprocess
import numpy as np
import polygen as pg
import polygen.jitting.compiled_programs as jitting
import polygen.runtime.calls.kept_programs as programs

FACTOR = 3

def other(x):
    return FACTOR*x

@pg.jit
def smooth(T, A, B):
    total = 0.0
    for t in range(T):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:])/other(1.0)
        A[1:-1] = B[1:-1]
        total += A[2]
    return total

made = []

def counted(module, name):
    known = getattr(module, name)
    def call(*args, **kwargs):
        made.append(name)
        return known(*args, **kwargs)
    setattr(module, name, call)

counted(jitting, "optimize")
counted(programs, "build_as_called")
started = subprocess.Popen.__init__

def start(self, command, *args, **kwargs):
    if "--version" not in command:
        made.append("compiler")
    return started(self, command, *args, **kwargs)

subprocess.Popen.__init__ = start
x, y = np.random.default_rng(1).random((2, 40))
copy, total = x.copy(), 0.0
for t in range(9):
    copy[1:-1] = (copy[:-2] + copy[1:-1] + copy[2:])/3
    total += copy[2]
np.testing.assert_allclose(smooth(9, x, y), total, rtol=1e-12)
np.testing.assert_allclose(x, copy, rtol=1e-12)
print("made:", *sorted(set(made)))
print(smooth.explain())
"""


def _run(folder: Path, text: str = FUNCTIONS, **variables: str) -> tuple[set[str], str]:
    """Return what a process had to make, and what it explains."""
    file = folder / "functions.py"
    file.write_text(text)
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "POLYGEN_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(file)]
    given = {**os.environ, **own, **variables}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, explained = done.stdout.split("\n", 1)
    return set(first.split()[1:]), explained


def test_a_second_process_neither_chooses_nor_compiles(tmp_path: Path) -> None:
    made, explained = _run(tmp_path)
    assert made == {"compiler", "build_as_called", "optimize"}
    # Lines move, and the kernels are the same: places are those of the file as it is.
    again, moved = _run(tmp_path, text=f"# another line\n{FUNCTIONS}", PYTHONHASHSEED="7")
    assert again == set()
    lines = re.compile(r"(?<=lines )(\d+)-(\d+)")
    assert lines.search(explained)
    assert moved == lines.sub(lambda m: f"{int(m[1]) + 1}-{int(m[2]) + 1}", explained)


FACTOR = 2.0


def scaled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return FACTOR * x + 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is made, and not read from disk, one entry each time."""
    found: list[str] = []

    def counted(module: Any, name: str) -> None:
        known: Callable[..., Any] = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            found.append(name)
            return known(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    counted(jitting, "optimize")
    counted(programs, "build_as_called")
    return found


BOTH = ["optimize", "build_as_called"]


def _called(size: int = 40, dtype: str = "float64", **options: Any) -> Any:
    """Call a function that is compiled anew, as in another process."""
    compiled = pg.jit(scaled, **options)
    x = np.arange(size, dtype=dtype)
    np.testing.assert_array_equal(compiled(x), FACTOR * x + 1)
    return compiled


def test_what_is_kept_is_found_by_all_that_it_depends_on(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _called()
    assert made == BOTH
    second = _called(size=39)
    assert made == BOTH
    (one,), (other,) = (f.kernels(np.ones(40)) for f in (first, second))
    assert one == other
    assert one.choices == other.choices
    assert [i.location for i in one.instructions] == [i.location for i in other.instructions]
    changes: list[Callable[[], object]] = [
        lambda: monkeypatch.setitem(globals(), "FACTOR", 4.0),
        lambda: monkeypatch.setattr(pg, "__version__", "99"),
        lambda: monkeypatch.setenv("POLYGEN_PROOFS", "0"),
    ]
    for count, change in enumerate(changes, 2):
        change()
        for _ in range(2):
            _called()
        assert made == BOTH * count
    _called(dtype="float32")
    assert made == BOTH * 5
    _called(size=100)
    assert made == [*BOTH * 5, "optimize"]  # which may come to the same kernel
    _called(deterministic=True)
    assert made == [*BOTH * 5, "optimize", *BOTH]


def test_what_is_damaged_is_made_anew(made: list[str], tmp_path: Path) -> None:
    _called()
    entries = [f for f in tmp_path.iterdir() if f.suffix in {".program", ".schedule"}]
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-7])
    _called()
    assert made == BOTH * 2
    _called()
    assert made == BOTH * 2


def _other_text(_name: str) -> bytes:
    return b'{"classes": [], "values": 3}'


def test_what_is_none_of_ours_is_made_anew(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that is whole, and yet no kernel: from another state of the sources, say."""
    with monkeypatch.context() as other:
        other.setattr("polygen.runtime.disk.cache.load", _other_text)
        _called()
    assert made == BOTH


def test_nothing_is_kept_where_nothing_may_be(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    for _ in range(2):
        _called()
    assert made[: len(BOTH) + 1] == [*BOTH, "optimize"]
    assert not list(tmp_path.glob("*.schedule"))
