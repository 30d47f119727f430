"""The OpenCL device that tests run on: a PoCL that knows this machine's processor.

The PoCL that comes with the tests is of 2022.  Of a processor that was made since, its compiler
says ``unknown target CPU 'generic'``; Debian's PoCL then takes one that it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from polygen.runtime.backends.opencl.pocl import PLATFORM


@cache
def usable_pocl() -> str:
    """Return what ``PYOPENCL_CTX`` has to be for a PoCL that compiles here."""
    import pyopencl as cl  # noqa: PLC0415  (after the environment is set)

    numbered = [(n, p) for n, p in enumerate(cl.get_platforms()) if p.name == PLATFORM]
    if len(numbered) < 2:
        return PLATFORM
    return next((str(n) for n, p in reversed(numbered) if _compiles(p.get_devices()[:1])), PLATFORM)


def _compiles(devices: Sequence[Any]) -> bool:
    import pyopencl as cl  # noqa: PLC0415  (see above)

    program = cl.Program(cl.Context(devices), "kernel void nothing() {}")
    try:
        program.build()
    except cl.RuntimeError:
        return False
    return True
