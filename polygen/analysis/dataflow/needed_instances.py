"""Instances whose values something reads: what the others compute does not matter."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.dataflow.read_sources import (
    Source,
    element_names,
    final_sources,
    overlapping,
    sources,
)
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.instance_pairs import users
from polygen.ir.array import GlobalArg
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def is_free_of_data(kernel: Kernel, insn_id: str) -> bool:
    """Tell whether data has no say in which elements an instruction touches, nor who else does.

    Then no obligation is about its accesses, which would have to hold in all of its instances.
    """
    return all(
        all(a.exact for a in accesses)
        and (is_never_written(kernel, name) or _is_exact(kernel, name))
        for name, accesses in touched(kernel, insn_id).items()
    )


@per_kernel
def needed_instances(kernel: Kernel, insn_id: str) -> isl.Set | None:
    """Return the instances of an instruction that write what something reads, or a call returns.

    A flat set over its inames; None if that is not known.

    Parameters:
        kernel: a kernel of whose conflicting instances it is known which come first.
        insn_id: an instruction that is free of data (`is_free_of_data`).
    """
    found, readers = universe().complement(), set[str]()
    for name in kernel.assignment(insn_id).written_names:
        flow = _read(kernel, name)
        if flow is None:
            return None
        gone = [*kernel.inames, *element_names(kernel, name)]
        for reader, source in (s for s in flow if s[1].writer == insn_id):
            found = found.union(_writers(source, gone))
            readers.add(reader)
    # What nothing but itself reads, nothing needs.
    return found if readers - {insn_id} else universe().complement()


@per_kernel
def _is_exact(kernel: Kernel, name: str) -> bool:
    """Tell whether data has no say in who touches which elements of a variable."""
    accesses = (a for insn in users(kernel, name) for a in touched(kernel, insn)[name])
    return len(overlapping(kernel, name)) == 1 and all(a.exact for a in accesses)


@per_kernel
def _read(kernel: Kernel, name: str) -> tuple[tuple[str, Source], ...] | None:
    """Return where all that is read of a variable comes from, with who reads it: the call as "".

    None if that is not known.
    """
    accesses = (a for insn in users(kernel, name) for a in touched(kernel, insn)[name])
    flows: list[tuple[str, tuple[Source, ...] | None]] = []
    for access in (a for a in accesses if not a.is_write):
        known = None if access.reference is None else sources(kernel, access.reference)
        flows.append((access.insn_id, known))
    if isinstance(kernel.variables[name], GlobalArg):
        flows.append(("", final_sources(kernel, name)))
    found: list[tuple[str, Source]] = []
    for reader, flow in flows:
        if flow is None:
            return None
        found += [(reader, source) for source in flow]
    return tuple(found)


def _writers(source: Source, gone: list[str]) -> isl.Set:
    """Return the instances of a source's writer, under the names of its inames."""
    found = project_out(source.pairs, gone)
    for position, name in enumerate(flat_names(found)):
        if name.endswith(OTHER):
            found = found.set_dim_name(isl.dim_type.param, position, name.removesuffix(OTHER))
    return found
