"""Every example on a GPU, through CUDA and OpenCL; and what NVIDIA's sanitizer says of it."""

from __future__ import annotations

import pytest

from tests.gpu.example import NAMES
from tests.gpu.processes import run

_TOOLS = {
    "memcheck": ("--leak-check=no",),
    "racecheck": (),
    "initcheck": (),
    "synccheck": (),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ("opencl", "cuda"))
def test_example(name: str, target: str) -> None:
    assert f"kernels on {target}" in run("-m", "tests.gpu.example", target, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tool", _TOOLS)
def test_sanitizer(name: str, tool: str) -> None:
    before = ("compute-sanitizer", f"--tool={tool}", "--error-exitcode=1", *_TOOLS[tool])
    shown = run("-m", "tests.gpu.example", "cuda", name, before=before)
    assert "kernels on cuda" in shown
    assert "ERROR SUMMARY: 0 errors" in shown or "0 hazards displayed" in shown
