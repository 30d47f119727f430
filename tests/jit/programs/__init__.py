"""Programs that users could have written: plain Python with NumPy, in files by kind."""

from __future__ import annotations

from tests.jit.programs import (
    alpyna,
    constructs,
    dynamic_programming,
    graphs,
    images,
    learning,
    linear_algebra,
    particles,
    sample_statistics,
    signals,
    solvers,
    sorting,
    stencils,
)
from tests.jit.programs.program import Program

_MODULES = (
    alpyna,
    constructs,
    dynamic_programming,
    graphs,
    images,
    learning,
    linear_algebra,
    particles,
    sample_statistics,
    signals,
    solvers,
    sorting,
    stencils,
)

PROGRAMS: tuple[Program, ...] = tuple(p for module in _MODULES for p in module.PROGRAMS)
