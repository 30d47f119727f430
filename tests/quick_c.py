"""Compiling C with few optimizations: a kernel of a test takes half as long.

Examples, kernels of benchmarks, lanes and loops for processors, and what is marked ``more`` or
``deep``, are compiled as users have them.
"""

from __future__ import annotations

import pytest

# It takes its flags from the compiler's as it is loaded: before these change.
import polygen.emission.makefiles  # noqa: F401
from polygen.runtime.backends.c import c_compiler

_QUICK = tuple("-O1" if flag == "-O3" else flag for flag in c_compiler.FLAGS)


def compile_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let gcc optimize little, for one test."""
    monkeypatch.setattr(c_compiler, "FLAGS", _QUICK)
