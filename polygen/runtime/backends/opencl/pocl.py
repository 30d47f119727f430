"""Options and workarounds for PoCL.

Its third version compiles kernels in which work items wait for each other inside of conditions, or
beside some in loops, to code that loses values (LLVM moves what PoCL then takes apart): oclgrind
and PoCL itself, without optimizations, agree on the right results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polygen.ir import walk
from polygen.ir.tags import LocalTag
from polygen.lower.program import Barrier, Block, HostLoop, HostNode, If, Launch, Loop, LoopProgram

PLATFORM = "Portable Computing Language"
_PLAIN = "-cl-opt-disable"
_FIRST_TRUSTED = 4
_UNKNOWN_PROCESSOR = "unknown target CPU"


def options_for(device: Any, program: LoopProgram) -> tuple[str, ...]:
    """Return the options with which a device's driver compiles a program correctly.

    Parameters:
        device: pyopencl's.
        program: what is compiled.
    """
    given = program.options.build_options
    platform = device.platform
    if platform.name != PLATFORM or _version(platform.version) >= _FIRST_TRUSTED:
        return given
    if _PLAIN in given or not needs_plain_code(program):
        return given
    return *given, _PLAIN


def needs_plain_code(program: LoopProgram) -> bool:
    """Tell whether PoCL, before its fourth version, compiles a program wrongly if it optimizes."""
    return any(map(_is_miscompiled, _launches(program.host)))


def remedy_for(message: str) -> str | None:
    """Return what helps if PoCL's compiler failed for a reason that is not in the kernel."""
    if _UNKNOWN_PROCESSOR not in message:
        return None
    return (
        "this PoCL is older than the processor: install a newer one (on Debian: apt install "
        'pocl-opencl-icd) and choose it (PYOPENCL_CTX=0), or run C: knl.executor("c")'
    )


def _version(text: str) -> int:
    """Return the major version of PoCL: 3 for ``OpenCL 3.0 PoCL 3.0-rc2 ...``."""
    _, _, rest = text.partition("PoCL ")
    digits = rest.split(".")[0]
    return int(digits) if digits.isdigit() else 0


def _launches(nodes: tuple[HostNode, ...]) -> Iterator[Launch]:
    for node in nodes:
        if isinstance(node, HostLoop):
            yield from _launches(node.body)
        else:
            yield node


def _is_miscompiled(launch: Launch) -> bool:
    own = {i for axis in launch.axes if isinstance(axis.tag, LocalTag) for i, _ in axis.inames}
    return any(_is_risky(node, frozenset(own)) for node in launch.body)


def _is_risky(node: object, own: frozenset[str]) -> bool:
    """Tell whether work items wait in a condition, or in a loop beside what PoCL takes apart.

    That is a condition that is the same for all of them, and a loop that is not.
    """
    if not isinstance(node, If | Loop) or not _waits(node.body):
        return False
    if isinstance(node, If):
        return True
    return any(_is_beside(n, own) or _is_risky(n, own) for n in node.body)


def _is_beside(node: object, own: frozenset[str]) -> bool:
    if isinstance(node, If):
        return walk.free_variables(node.condition).isdisjoint(own)
    if isinstance(node, Loop):
        bounds = walk.free_variables(node.lower) | walk.free_variables(node.upper)
        return not bounds.isdisjoint(own)
    return False


def _waits(body: Block) -> bool:
    return any(
        isinstance(node, Barrier) or (isinstance(node, If | Loop) and _waits(node.body))
        for node in body
    )
