"""Generated OpenCL C in a simulator that finds races, bad accesses and unwritten memory.

Oclgrind's exit code says nothing of what it found; its log does.  Without optimisation, it sees
every access (and LLVM's `freeze`, which it does not know, does not occur).
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.deep import tools
from tests.deep.cases import all_cases

pytestmark = pytest.mark.deep

OPTIONS = (
    "--data-races",
    "--uniform-writes",  # also if all write the same
    "--uninitialized",
    "--build-options",
    "-cl-opt-disable",
)

# What must be said of each planted mistake.
REPORTS = {
    "missing_barrier": "Read-write data race at local memory",
    "divergent_barrier": "Work-group divergence detected (barrier)",
    "local_out_of_bounds": "Invalid write of size 8 at local memory",
    "uninitialized_local": "Uninitialized value written to global memory",
    "global_out_of_bounds": "Invalid write of size 8 at global memory",
    "global_race": "Write-write data race at global memory",
}


def _simulate(what: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run a batch; return how it ended, and the log."""
    oclgrind, log = tools.find("oclgrind"), folder / "log"
    command = [oclgrind, *OPTIONS, "--log", str(log), *tools.python_module("run_opencl", what)]
    done = tools.run(command)
    assert done.returncode == 0, tools.shown(done)
    return done, log.read_text() if log.exists() else ""


def _reports(log: str) -> set[tuple[str, str]]:
    """Return what is reported, with the kernel."""
    found: set[tuple[str, str]] = set()
    message = ""
    for line in log.splitlines():
        if line and not line[0].isspace():
            message = re.sub(r" address 0x.*", "", line)
        elif match := re.match(r"\s+Kernel:\s+(\w+)", line):
            found.add((match[1], message))
    return found


def test_generated_kernels_are_clean(tmp_path: Path) -> None:
    done, log = _simulate("cases", tmp_path)
    assert log == ""
    assert done.stdout.split() == [case.name for case in all_cases()]


def test_planted_mistakes_are_reported(tmp_path: Path) -> None:
    _, log = _simulate("planted", tmp_path)
    reports = _reports(log)
    assert set(REPORTS.items()) <= reports
    assert {name for name, _ in reports} == REPORTS.keys()  # and nothing of the unharmed kernel
