"""Functions of Python under `pg.jit` on a GPU, beside plain Python."""

from __future__ import annotations

import pytest

from tests.gpu.processes import run
from tests.jit.programs import PROGRAMS

KINDS = sorted({program.name.partition(".")[0] for program in PROGRAMS})


@pytest.mark.parametrize("library", ["numpy", "cupy", "torch"])
@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind: str, library: str) -> None:
    assert "programs are right" in run("-m", "tests.gpu.functions", kind, library)


def test_where_calls_run() -> None:
    assert "calls are placed" in run("-m", "tests.gpu.placement")
