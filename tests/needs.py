"""What some tests need beside a C compiler, and the packages of Debian's that bring it.

A test says it with a mark, ``@needs("gfortran")``, a fixture with a call, ``require("g++")``.
Where something is missing, these tests are skipped, and the last line of a run says what was left
out and how to get it.  With POLYGEN_SKIP_NOTHING=1, as in CI, a run that skips a test fails.

It is a plugin of pytest's, which `tests/conftest.py` registers.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Need:
    """Programs and files, and the packages that they come in."""

    found_as: tuple[str, ...]
    packages: tuple[str, ...]

    def is_met(self) -> bool:
        """Tell whether all of it is here: files have a whole path."""
        return all(Path(f).is_file() if f[0] == "/" else shutil.which(f) for f in self.found_as)


NEEDS = {
    "gfortran": Need(("gfortran",), ("gfortran",)),
    "g++": Need(("g++",), ("g++",)),
    "Graphviz": Need(("dot",), ("graphviz",)),
    "Chromium": Need(("chromium", "chromedriver"), ("chromium", "chromium-driver")),
    "OpenCL's headers": Need(("/usr/include/CL/cl.h",), ("ocl-icd-opencl-dev",)),
}
_STRICT = "POLYGEN_SKIP_NOTHING"


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs something of the table."""
    return pytest.mark.skipif(not NEEDS[name].is_met(), reason=_reason(name))


def require(name: str) -> None:
    """Skip the tests that use a fixture, if something of the table is missing."""
    if not NEEDS[name].is_met():
        pytest.skip(_reason(name))


def apt_install(names: Iterable[str]) -> str:
    """Return the command that brings things of the table."""
    return " ".join(["apt install", *(p for name in names for p in NEEDS[name].packages)])


def _reason(name: str) -> str:
    return f"needs {name}: {apt_install([name])}"


def left_out(reasons: Iterable[str]) -> str:
    """Say what the tests that were skipped for these reasons needed, and how to get it."""
    counts = Counter(reasons)
    missing = {name: counts.pop(_reason(name), 0) for name in NEEDS}
    missing = {name: count for name, count in missing.items() if count}
    parts = [f"{count} for want of {name}" for name, count in missing.items()]
    parts += [f"{count} because {reason}" for reason, count in sorted(counts.items())]
    how = f"; to have them run: {apt_install(missing)}" if missing else ""
    return f"Tests left out: {', '.join(parts)}{how}"


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around what prints the summary
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Print the last line; fail if nothing may be skipped."""
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or "skipped" not in reporter.stats:  # a process of xdist's has none
        return result
    fails = bool(os.environ.get(_STRICT))
    skipped = reporter.stats["skipped"]
    line = left_out(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    reporter.write_line(f"{line}; {_STRICT} is set: this fails" if fails else line, bold=True)
    if fails and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result
