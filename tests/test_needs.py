"""What is missing on a machine: which tests are left out, what is said of it, what fails in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import NEEDS, left_out

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
from tests.needs import needs, require

@needs("gfortran")
@pytest.mark.parametrize("n", range(2))
def test_marked(n): assert False

@pytest.fixture(scope="module")
def compiler(): require("g++")

def test_that_asks(compiler): assert False

@pytest.mark.skip("it rains")
def test_outside(): assert False

def test_at_home(): pass
"""
LINE = (
    "Tests left out: 2 for want of gfortran, 1 for want of g++, 1 because it rains; "
    "to have them run: apt install gfortran g++"
)
FAILS = "; POLYGEN_SKIP_NOTHING is set: this fails"


@pytest.mark.parametrize(
    ("options", "strict", "status", "last"),
    [
        ("", "", 0, LINE),
        ("-p xdist.plugin --numprocesses=1", "1", 1, f"{LINE}{FAILS}"),
        ("-k=at_home", "1", 0, "1 passed, 4 deselected"),
    ],
    ids=("may skip", "may not", "skips nothing"),
)
def test_last_line(options: str, strict: str, status: int, last: str, tmp_path: Path) -> None:
    """With processes of xdist's, too; and with nothing left out there is no such line."""
    (tmp_path / "test_these.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.needs", "-c", os.devnull]
    done = subprocess.run(
        [*command, *options.split(), f"--rootdir={tmp_path}", str(tmp_path / "test_these.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PATH": str(tmp_path),
            "POLYGEN_SKIP_NOTHING": strict,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert last in done.stdout.splitlines()[-1]


def test_what_is_left_out() -> None:
    assert left_out(["only root can give files away"]) == (
        "Tests left out: 1 because only root can give files away"
    )


def test_ci_and_readme_know_all_packages() -> None:
    ci, readme = ((ROOT / name).read_text() for name in (".ci/run", "README.md"))
    packages = {package for need in NEEDS.values() for package in need.packages}
    assert packages <= set(ci.split())
    assert packages <= set(readme.replace("`", " ").split())
    assert "POLYGEN_SKIP_NOTHING=1" in ci
