"""The programs that the deep tests start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APT = "apt install graphviz oclgrind clang libomp-dev"


def find(tool: str) -> str:
    """Return the path of a program.  That there is none is a failure, not a reason to skip."""
    path = shutil.which(tool)
    if path is None:
        pytest.fail(f"the deep tests need {tool}, which is not here: {APT}", pytrace=False)
    return path


def run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a program in the root of the repository."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        timeout=timeout,
    )


def python_module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of the tests."""
    return [sys.executable, "-m", f"tests.deep.{name}", *arguments]


def shown(done: subprocess.CompletedProcess[str], limit: int = 4000) -> str:
    """Return what a program printed, for a message."""
    return f"exit code {done.returncode}\n{done.stdout[-limit:]}\n{done.stderr[-limit:]}"
