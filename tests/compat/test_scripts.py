"""Loo.py's own examples, with another import: the same scripts run in Loo.py.

``scripts/`` holds them as they are written for Loo.py.  What they compute is compared with NumPy;
with Loo.py it was, too: ``python tests/compat/scripts/paper.txt`` runs there.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg

FOLDER = Path(__file__).parent / "scripts"


def run(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a script with polygen in the place of Loo.py, and return its variables."""
    monkeypatch.setenv("POLYGEN_NO_CACHE", "0")  # the script changes it
    text = (FOLDER / name).read_text()
    assert text.count("\nimport loopy as lp\n") == 1
    text = text.replace("import loopy as lp", "import polygen.compat as lp")
    text = text.replace("from loopy.", "from polygen.compat.")
    assert re.search(r"\bloopy\b", text.split('"""', 2)[2]) is None
    variables: dict[str, Any] = {"__name__": name}
    with warnings.catch_warnings():
        # Loo.py does not warn of it where one of the loops is unrolled.
        warnings.simplefilter("ignore", pg.AmbiguousNesting)
        exec(compile(text, name, "exec"), variables)  # noqa: S102  (our own script)
    return variables


def _tutorial(v: dict[str, Any]) -> dict[str, Any]:
    x, a, zero = v["x_host"], v["a_host"], np.zeros(v["N"])
    bins = np.bincount(np.arange(v["N"]) % 20, weights=2.0 * x)
    (p, q), (g, h) = v["abc"], v["gh"]
    return {
        "twice": 2 * x,
        "twice, on the host": 2 * x,
        "transpose, double": 2 * a.T,
        "zeros": np.zeros_like(a),
        "cleared, i_outer,i_inner": zero,
        "cleared, i_inner,i_outer": zero,
        "tiled": a.T,
        "unrolled": zero,
        "parallel": zero,
        "slabs": zero,
        "sine": np.sin(x),
        "cosine": np.abs(np.cos(x)),
        "sine again": np.sin(x),
        "sixteen times": 16 * x,
        "sixteen times, shared": 16 * x,
        "atomic": bins,
        "absolute": np.abs(x),
        "transposed through a tile": a.T,
        "c": p * q / 3 + p,
        "e": g * (2 + h[:, 1:]),
        "types": ["float32", "float64"],
    }


def _paper(v: dict[str, Any]) -> dict[str, Any]:
    x, a, n = v["x_dev"].get(), v["a_dev"].get(), v["N"]
    ramp = 12 + np.arange(n) * x
    return {
        "twice": 2 * x,
        "twice, of known sizes": 2 * x,
        "product": a @ a,
        "transpose, double": 2 * a.T,
        "chain": (2 * x + 1) ** 2,
        "split": np.zeros(n),
        "unrolled": np.zeros(n),
        "rules": (1 + 21 * ramp) ** 2,
        "tiled product": a @ a,
    }


def _more(v: dict[str, Any]) -> dict[str, Any]:
    f, (a, c) = v["field"], (v["a"], v["centres"])
    mean = (f[1:-1, :-2] + f[1:-1, 2:] + f[:-2, 1:-1] + f[2:, 1:-1]) / 4
    dense = np.zeros((4, 4))
    rows = np.repeat(np.arange(4), np.diff(v["start"]))
    np.add.at(dense, (rows, v["columns"]), v["values"])
    near = np.exp(-((v["points"][:, None] - c) ** 2)).sum(1)
    return {
        "relaxed": f[1:-1, 1:-1] + 0.5 * (mean - f[1:-1, 1:-1] + v["source"]),
        "sparse": dense @ v["x"] + 2 * v["y_before"],
        "known": [
            ["el", "row_inner", "row_outer"], ["dot", "insn", "insn_0", "store"], ["dot", "store"],
            ["acc", "begin", "end"], ["beta", "ncols", "nnz", "nrows"], True,
            ["acc", "begin", "end", "y"], True, ["l.0"],
        ],
        "called": 3 * v["inputs"] + 1,
        "inlined": 3 * v["inputs"] + 1,
        "fused": a**2 + 1,
        "kept": a**2,
        "batched": 2 * a[:99].reshape(3, 33),
        "columns": v["matrix"].T + np.arange(4),
        "shared": near,
        "stored": near,
        "u": c.sum() * np.arange(70),
        "v": np.full(70, c.max()),
    }  # fmt: skip


def _api(_v: dict[str, Any]) -> dict[str, Any]:
    """What Loo.py 2025.2 answers, written down when it was run."""
    every = ["a", "c", "i", "j", "n", "out", "t"]
    both = ["store", "t"]
    return {
        "names": [
            ["i", "j"], ["n"], every, [], ["a", "c", "i", "j", "n", "t"], ["out", "t"],
            ["a", "c", "n", "out", "t"], ["c", "n"], ["a", "out"], [], ["store"], ["t"],
            ["i", "j"], ["i", "j"], both, ["t"], [],
        ],
        "new names": ["t_0", "t_1", "u", "store_0"],
        "priority": ["('j', 'i')"],
        "tags": [["l.0"], [0], []],
        "instruction": [
            "out[i, j]", "t + c", ["t"], ["i", "j"], ["c", "i", "j", "t"], ["i", "j", "out"],
            ["c", "i", "j", "out", "t"], ["out"], True,
        ],
        "queries": [
            ["store"], both, ["t"], ["store"], both, ["store"], both, ["store"], both, [], ["t"],
        ],
        "program": [["mine"], "mine", ["mine"], "mine", "mine", True, False, True, False],
        "code": [True, True, ["mine"], True, False, True],
        "graph": True,
        "mapped": [
            ["a", "b", "i"], ["j"], ["b", "i"], ["a", "b", "k"], "out[k]",
            ["a[i]", "a[j]", "b[i]"], 102, ["a", "b", "c", "i"],
        ],
        "inames": [["j_and_i"], ["i"], "g.0"],
        "found": [4, ["f"], True, True],
        "built": [["pause", "s", "store", "t", "wait"], [["s", "wait"]], ["s", "t"]],
        "computed": np.array([1, 5, 17, 37, 65]),
    }  # fmt: skip


def _statistics(v: dict[str, Any]) -> dict[str, Any]:
    n, m, l = (v["param_dict"][name] for name in "nml")  # noqa: E741  (as the script has it)
    accesses = [2 * n * m * l, n * m * l, n * m * l, n * m, n * m, n * m]
    assert v["BARRIERS"] == 50 * 10  # in Loo.py twice that: there is one at the end, too
    return {
        "operations": [*[n * m * l] * 3, *[n * m] * 3],
        "of float32": 3 * n * m * l,
        "by type": [3 * n * m * l, 2 * n * m, n * m],
        "together": 3 * n * m * l + 3 * n * m,
        "accesses": accesses,
        "bytes loaded, stored": [12 * n * m * l + 16 * n * m, 4 * n * m * l + 8 * n * m],
        "consecutive": accesses,
        "not consecutive": accesses,
        "launches": 1,
        "launches again": 1,
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tutorial.txt", _tutorial),
        ("paper.txt", _paper),
        ("more.txt", _more),
        ("api.txt", _api),
        ("statistics.txt", _statistics),
    ],
    ids=["tutorial", "paper", "more", "api", "statistics"],
)
def test_a_script_runs_as_it_is(
    name: str, expected: Callable[[dict[str, Any]], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = run(name, monkeypatch)
    found, right = variables["RESULTS"], expected(variables)
    assert list(found) == list(right)
    for what, value in right.items():
        if what not in {"types", "known"} and isinstance(found[what], np.ndarray):
            np.testing.assert_allclose(found[what], value, rtol=2e-4, atol=2e-4, err_msg=what)
        else:
            assert found[what] == value, what
