"""Calls of kernels: what each gives to what it calls."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.expression import Expression
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from tests.oracle.evaluate import OracleError


@dataclass(frozen=True)
class Given:
    """What a call gives, by the names of the callee's arguments."""

    scalars: dict[str, Expression]
    parts: dict[str, ex.SubArrayRef]


def given(call: KernelCall) -> Given:
    """Return what a call gives to its kernel: first what that reads, then what it writes."""
    callee = call.callee
    if callee is None:
        raise OracleError(f"nobody knows what {call.function} is")
    read, written = touched(callee)
    arrays = [a.name for a in callee.arguments if isinstance(a, GlobalArg)]
    inputs = [a.name for a in callee.arguments if isinstance(a, ValueArg) or a.name in read]
    found = Given({}, {})
    pairs = [
        *zip(inputs, call.arguments, strict=True),
        *zip([a for a in arrays if a in written], call.results, strict=True),
    ]
    for name, node in pairs:
        if isinstance(node, ex.SubArrayRef):
            if found.parts.setdefault(name, node) != node:
                raise OracleError(f"{name} is given twice")
        else:
            found.scalars[name] = node
    return found


def touched(kernel: Kernel) -> tuple[set[str], set[str]]:
    """Return the names that a kernel reads, and those that it writes, also through others."""
    read: set[str] = set()
    written: set[str] = set()
    for insn in kernel.instructions:
        if isinstance(insn, KernelCall) and insn.callee is not None:
            passed = given(insn)
            inside = touched(insn.callee)
            for names, own in zip((read, written), inside, strict=True):
                names |= {ex.name_of(part) for name, part in passed.parts.items() if name in own}
            read |= insn.read_names - {ex.name_of(part) for part in passed.parts.values()}
        else:
            read |= insn.read_names
            written |= set(insn.written_names)
    return read, written
