"""Generated code that outlives a process: a second one reads it instead of generating it."""

from __future__ import annotations

from polygen.analysis.integers.proving import proofs_are_on
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.value_texts import NotText
from polygen.pipeline import build_as_called
from polygen.runtime.disk import cache as disk
from polygen.runtime.disk.own_sources import sources_stamp
from polygen.targets.programs.program import Program
from polygen.targets.programs.program_text import program_of_text, program_text


def build_once(kernel: Kernel, called: Kernel, target: str, index_dtype: DType) -> Program:
    """Return the program of a kernel as it is called, from disk if it is there.

    Parameters:
        kernel: the kernel.
        called: what it is with the arguments of a call.
        target: the language.
        index_dtype: the type of loop counters and subscripts.

    Raises:
        UserError: as `polygen.generate_code` does.
    """
    if not disk.caching():
        return build_as_called(kernel, called, target, index_dtype)
    proved = "proved" if proofs_are_on() else ""
    name = disk.key_of("program", str(called), target, index_dtype.name, proved, sources_stamp())
    name += ".program"
    found = _loaded(name)
    if found is None:
        found = build_as_called(kernel, called, target, index_dtype)
        _store(name, found)
    return found


def _loaded(name: str) -> Program | None:
    content = disk.load(name)
    if content is None:
        return None
    try:
        return program_of_text(content.decode())
    except (NotText, UnicodeDecodeError):
        return None


def _store(name: str, program: Program) -> None:
    try:
        text = program_text(program)
    except NotText:  # it is generated again
        return
    disk.store(name, text.encode())
