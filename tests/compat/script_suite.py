"""Runs the scripts that are written for Loo.py, and counts what becomes of them.

    python -m tests.compat.script_suite                      # all, in polygen
    python -m tests.compat.script_suite waves reductions     # of some folders
    python -m tests.compat.script_suite --loopy PYTHON       # beside Loo.py, in that interpreter

Each file of ``scripts/FOLDER`` imports Loo.py.  It puts what its kernels computed, or its queries
answered, into ``RESULTS``, and the same by NumPy or by hand into ``EXPECTED``.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import polygen as pg

FOLDER = Path(__file__).parent / "scripts"
EQUAL = "equal"
_MODULE = re.compile(r"^(\s*)(import|from) loopy\b", re.MULTILINE)
_IN_LOOPY = """
import pickle, sys, time, warnings
import numpy, pyopencl, pyopencl.array, loopy
warnings.simplefilter("ignore")
text = open(sys.argv[1]).read()
begin = time.perf_counter()
names = {"__name__": "script"}
exec(compile(text, sys.argv[1], "exec"), names)
seconds = time.perf_counter() - begin
pickle.dump((names["RESULTS"], seconds), open(sys.argv[2], "wb"))
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a script.

    Attributes:
        name: the script: ``folder/name``.
        kind: ``equal``, or the class of what went wrong.
        detail: what was said.
        seconds: how long it took, imports left out.
        results: what it found.
    """

    name: str
    kind: str
    detail: str = ""
    seconds: float = 0.0
    results: Mapping[str, Any] = field(default_factory=dict[str, Any])


def scripts(folders: Iterable[str] = ()) -> list[Path]:
    """Return the scripts of some folders, or all."""
    wanted = set(folders)
    return sorted(p for p in FOLDER.glob("*/*.py") if not wanted or p.parent.name in wanted)


def name_of(path: Path) -> str:
    """Return the name of a script: its folder's and its own."""
    return f"{path.parent.name}/{path.stem}"


def run(path: Path) -> Outcome:
    """Run a script with polygen in the place of Loo.py."""
    text = path.read_text()
    assert re.search(r"\nimport loopy as lp\n", text), path
    text = _MODULE.sub(r"\1\2 polygen.compat", text)
    variables: dict[str, Any] = {"__name__": "script"}
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scripts are not asked for what they are warned of
            exec(compile(text, str(path), "exec"), variables)  # noqa: S102  (our own script)
    except Exception as error:  # what it is, is what is counted
        return Outcome(name_of(path), _kind(error), str(error), time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    results = variables["RESULTS"]
    different = differences(results, variables["EXPECTED"])
    kind = "differs" if different else EQUAL
    return Outcome(name_of(path), kind, "; ".join(different), seconds, results)


def _kind(error: Exception) -> str:
    if isinstance(error, pg.errors.PolygenError):
        return f"refused: {type(error).__name__}"
    if isinstance(error, AttributeError) and "polygen" in str(error):
        return "not here"
    return f"raw: {type(error).__name__}"


def differences(found: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """Return the names of those values that are not the same, to what their types can say."""
    if found.keys() != right.keys():
        return [f"the names {sorted(found)} and {sorted(right)}"]
    return [name for name, value in found.items() if not _is_same(value, right[name])]


def _is_same(found: Any, right: Any) -> bool:
    if not isinstance(found, np.ndarray | np.generic | int | float | complex):
        return bool(found == right)
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape:
        return False
    if found.dtype.kind not in "fc" and right.dtype.kind not in "fc":
        return bool(np.array_equal(found, right))
    single = found.dtype in (np.float32, np.complex64) or right.dtype in (np.float32, np.complex64)
    tolerance = 2e-4 if single else 1e-9
    return bool(np.allclose(found, right, rtol=tolerance, atol=tolerance, equal_nan=True))


def run_in_loopy(path: Path, python: str) -> Outcome:
    """Run a script as it is, in an interpreter that has Loo.py."""
    with tempfile.NamedTemporaryFile() as file:
        command = [python, "-c", _IN_LOOPY, str(path), file.name]
        fresh = {**os.environ, "LOOPY_NO_CACHE": "1"}  # what its cache has, hides failures
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=fresh)
        if done.returncode:
            return Outcome(name_of(path), "fails", done.stderr.strip().splitlines()[-1])
        results, seconds = pickle.loads(Path(file.name).read_bytes())  # noqa: S301  (just written)
    return Outcome(name_of(path), EQUAL, "", seconds, results)


def main() -> None:
    """Run scripts, show what becomes of each that is not equal, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--loopy", help="an interpreter that has Loo.py")
    given = parser.parse_args()
    paths = scripts(given.folders)
    with get_context("spawn").Pool(2, _import_all, maxtasksperchild=25) as pool:
        outcomes = list(pool.imap(run, paths))
    for outcome in outcomes:
        if outcome.kind != EQUAL:
            first = outcome.detail.strip().partition("\n")[0]
            print(f"{outcome.name}: {outcome.kind}: {first[:200]}")
    if given.loopy:
        _beside_loopy(paths, outcomes, given.loopy)
    for kind, count in Counter(o.kind for o in outcomes).most_common():
        print(f"{count:4} {kind}")


def _import_all() -> None:
    """Import what scripts import, which their time leaves out."""
    import pyopencl.array  # noqa: F401, PLC0415

    import polygen.compat  # noqa: F401, PLC0415


def _beside_loopy(paths: list[Path], outcomes: list[Outcome], python: str) -> None:
    kinds = Counter[str]()
    for path, ours in zip(paths, outcomes, strict=True):
        theirs = run_in_loopy(path, python)
        if theirs.kind != EQUAL:
            kinds["Loo.py fails"] += 1
            print(f"{ours.name}: Loo.py: {theirs.detail[:160]}")
        elif ours.kind == EQUAL:
            different = differences(ours.results, theirs.results)
            kinds["not as in Loo.py" if different else "as in Loo.py"] += 1
            print(f"{ours.name}: {ours.seconds:.2f} s, Loo.py {theirs.seconds:.2f} s", *different)
            kinds["slower by half a second"] += ours.seconds > theirs.seconds + 0.5
    print(dict(kinds), file=sys.stdout)


if __name__ == "__main__":
    main()
