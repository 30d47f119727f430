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
from tests.deep.cases import case
from tests.deep.opencl_jobs import Jobs
from tests.deep.random_cases import deep_cases

pytestmark = pytest.mark.deep

OPTIONS = (
    "--data-races",
    "--uniform-writes",  # also if all write the same
    "--uninitialized",
    "--build-options",
    "-cl-opt-disable",
)
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
LOAD = "tile[i] = a[8 * g + i];"

# For each mistake: the case, what is changed in its source, and what must be said of it.
EDITED = {
    "divergent_barrier": (
        "reversed_tile_n3",
        (BARRIER, f"if (i < 4) {BARRIER}"),
        "Work-group divergence detected (barrier)",
    ),
    "local_out_of_bounds": (
        "reversed_tile_n3",
        ("tile[8]", "tile[7]"),
        "Invalid write of size 8 at local memory",
    ),
    "uninitialized_local": (
        "reversed_tile_n3",
        (LOAD, f"if (i > 0) {LOAD}"),
        "Uninitialized value written to global memory",
    ),
    "global_out_of_bounds": (
        "guarded_n17",
        ("< n", "<= n"),
        "Invalid write of size 8 at global memory",
    ),
    "global_race": (
        "guarded_n17",
        ("out[8 * i_outer + i_inner]", "out[i_inner]"),
        "Write-write data race at global memory",
    ),
}
MISSING_BARRIER = ("missing_barrier", "Read-write data race at local memory")


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


def test_planted_mistakes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs()
    jobs.add(case("reversed_tile_n3"))
    jobs.add(case("guarded_n17"))
    for name, (like, edit, _) in EDITED.items():
        jobs.add(case(like), name=name, edit=edit, compare=False)
    with monkeypatch.context() as patched:
        patched.setattr("polygen.lower.lower.place_barriers", lambda kernel, tree: tuple(tree))
        jobs.add(case("reversed_tile_n3"), name=MISSING_BARRIER[0], compare=False)
    _, log = _simulate(jobs, tmp_path)
    reports = _reports(log)
    wanted = {(name, report) for name, (_, _, report) in EDITED.items()} | {MISSING_BARRIER}
    assert wanted <= reports
    assert {name for name, _ in reports} == {name for name, _ in wanted}  # not of the unharmed
