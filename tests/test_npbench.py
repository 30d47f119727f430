"""The benchmark over a checkout of NPBench, on a checkout of one small kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.npbench import Row, Worker, measured, shown, speed
from benchmarks.on_npbench.checkout import Left, wrong

ABOUT = {
    "benchmark": {
        "relative_path": "own/sums",
        "module_name": "sums",
        "func_name": "kernel",
        "parameters": {"S": {"N": 5}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["a", "b"]},
        "input_args": ["N", "a", "b"],
        "array_args": ["a", "b"],
        "output_args": ["b"],
    }
}
INPUTS = """
import numpy as np

def initialize(N):
    return np.arange(N, dtype=float), np.zeros(N)
"""
RIGHT = """
def kernel(N, a, b):
    b[:] = 2 * a
    return a.sum()
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "npbench" / "benchmarks" / "own" / "sums"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "sums.json").write_text(json.dumps(ABOUT))
    (folder / "sums.py").write_text(INPUTS)
    (folder / "sums_numpy.py").write_text(RIGHT)
    return tmp_path


def worker(library: str, root: Path, limit: float = 60.0) -> Worker:
    return Worker(library, sys.executable, root, 1, limit)


def run(root: Path, *libraries: str, limit: float = 60.0) -> Row:
    workers = {library: worker(library, root, limit) for library in libraries}
    try:
        return measured("sums", "S", workers)
    finally:
        for one in workers.values():
            one.end()


def test_a_kernel_is_timed_and_compared(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.npbench.SECONDS", 0.0)
    monkeypatch.setattr("benchmarks.npbench.ROUNDS", 2)
    row = run(checkout, "numpy", "cupy")
    assert 0.0 < row.seconds["numpy"] < 1.0
    assert "cupy" not in row.seconds
    assert [note for note in row.notes if note.startswith("cupy: ")]
    assert row.kernel in shown(row, ["numpy", "cupy"])


def test_who_does_not_answer_is_ended(checkout: Path) -> None:
    module = checkout / "npbench" / "benchmarks" / "own" / "sums" / "sums_numpy.py"
    module.write_text("def kernel(N, a, b):\n    while True:\n        pass\n")
    row = run(checkout, "numpy", limit=3.0)
    assert row.seconds == {"numpy": 3.0}
    assert row.notes == ["numpy: over 3 s"]


def test_the_best_peer_counts() -> None:
    row = Row("k", {"polygen": 2.0, "numpy": 8.0, "numba": 4.0}, {"polygen": 0.1})
    assert speed(row, list(row.seconds)) == (2.0, "numba")
    assert speed(Row("k", {"numpy": 1.0}), ["numpy"]) is None


ONES, TWOS = np.ones(3), 2 * np.ones(3)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Left([1.0], [TWOS], []), None),
        (Left([1.0], [TWOS + 1e-7], []), None),
        (Left([1.0], [ONES], []), "off by"),
        (Left([2.0], [TWOS], []), "off by"),
        (Left([1.0, TWOS], [ONES], []), None),  # as JAX does
        (Left([1.0, 3 * ONES], [ONES], []), "off by"),
        (Left([1.0], [np.ones(4)], []), "shape"),
        (Left([], [], []), "no result"),
    ],
)
def test_rule(found: Left, says: str | None) -> None:
    expected = Left([1.0], [TWOS], [ONES, TWOS])
    difference: Any = wrong(expected, found)
    assert difference is None if says is None else says in difference
