"""Generated OpenCL C in a simulator that finds races, bad accesses and unwritten memory.

Oclgrind's exit code says nothing of what it found; its log does.  Without optimisation, it sees
every access (and LLVM's `freeze`, which it does not know, does not occur).
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import polygen as pg
from tests.deep import tools
from tests.deep.cases import case
from tests.deep.opencl_jobs import Jobs
from tests.deep.random_cases import deep_cases
from tests.validation.planted import PLANTED

pytestmark = pytest.mark.deep

OPTIONS = (
    "--data-races",
    "--uniform-writes",  # also if all write the same
    "--uninitialized",
    "--build-options",
    "-cl-opt-disable",
)


def _simulate(jobs: Jobs, folder: Path) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run programs; return how that ended, and the log."""
    oclgrind, log = tools.find("oclgrind"), folder / "log"
    jobs.write(folder)
    command = [oclgrind, *OPTIONS, "--log", str(log)]
    done = tools.run([*command, *tools.python_module("run_opencl", str(folder))])
    assert done.returncode == 0, tools.shown(done)
    return done, log.read_text() if log.exists() else ""


def _reports(log: str) -> set[tuple[str, str]]:
    """Return the kernels of which something is reported, and what."""
    found: set[tuple[str, str]] = set()
    message = ""
    for line in log.splitlines():
        if line and not line[0].isspace():
            message = re.sub(r" address 0x.*", "", line)
        elif match := re.match(r"\s+Kernel:\s+(\w+)", line):
            found.add((match[1], message))
    return found


def test_generated_kernels_are_clean(tmp_path: Path) -> None:
    jobs = Jobs()
    for each in deep_cases():
        jobs.add(each)
    done, log = _simulate(jobs, tmp_path)
    assert log == ""
    assert done.stdout.split() == [job["name"] for job in jobs.jobs]


def test_planted_mistakes_are_reported(tmp_path: Path) -> None:
    """Polygen refuses them all: `tests.validation.test_planted`.  Here, its checks are off."""
    jobs = Jobs()
    for like in {planted.case for planted in PLANTED.values()}:
        jobs.add(case(like))
    for name, planted in PLANTED.items():
        with pytest.MonkeyPatch.context() as patched, pg.without_proofs():
            planted.plant(patched)
            jobs.add(case(planted.case), name=name, compare=False)
    _, log = _simulate(jobs, tmp_path)
    reports = _reports(log)
    assert {(name, planted.report) for name, planted in PLANTED.items()} <= reports
    assert {name for name, _ in reports} == PLANTED.keys()  # and nothing of the unharmed
