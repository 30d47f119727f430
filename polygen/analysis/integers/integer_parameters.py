"""Finds the parameters that are integers, which sets can speak of."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.dtype import is_integer
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@per_kernel
def integer_parameters(kernel: Kernel) -> frozenset[str]:
    """Return the scalar arguments that are integers.

    Those that are declared so, and those without a declared type of which a domain, an assumption,
    a shape or a subscript makes use.  Any other one may be 0.5: ``0 < x and x < 1`` can hold.
    """
    scalars = [a for a in kernel.arguments if isinstance(a, ValueArg)]
    declared = {a.name for a in scalars if a.dtype is not None and is_integer(a.dtype)}
    open_ = {a.name for a in scalars if a.dtype is None}
    derived = {size.name for size in kernel.derived_sizes}
    known = declared | derived | (open_ & _sizes(kernel))
    if open_ <= known:
        return frozenset(known)
    return frozenset(known | (open_ & _in_subscripts(kernel)))


def _sizes(kernel: Kernel) -> set[str]:
    """Return what domains, assumptions and shapes mention."""
    found = set(kernel.assumptions.parameters).union(*(s.names for s in kernel.derived_sizes))
    for domain in kernel.expanded.domains if kernel.calls else kernel.domains:
        found.update(domain.parameters)
    for variable in kernel.variables.values():
        for extent in getattr(variable, "shape", None) or ():
            found |= walk.free_variables(extent)
    return found


def _in_subscripts(kernel: Kernel) -> set[str]:
    found: set[str] = set()
    for insn in kernel.expanded.instructions:
        for access in insn.accesses:
            if isinstance(access, ex.Subscript):
                found |= _added_up(ex.index_tuple(access))
    return found


def _added_up(nodes: tuple[ex.Expression, ...]) -> set[str]:
    """Return the names that stand in subscripts as they are: not in what these choose by."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ex.Variable):
            found.add(node.name)
        elif isinstance(node, ex.Sum | ex.Product):
            found |= _added_up(node.children)
    return found
