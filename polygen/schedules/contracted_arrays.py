"""Contracts temporaries: an array of which each iteration uses one element becomes a scalar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.schedules.fused_traffic import kept_names
from polygen.schedules.nest_siblings import Sibling, plain_nests
from polygen.schedules.plan import Plan
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space
from polygen.transforms.arrays.unprivatize_temporaries_with_inames import (
    unprivatize_temporaries_with_inames,
)


def arrays_contracted(plan: Plan) -> None:
    """Make scalars of temporaries that are used element by element in one nest."""
    if not any(temporary.shape for temporary in plan.kernel.temporaries):
        return
    for nest, names in list(_kept(plan.kernel)):
        if not _keep(plan, nest, names) and len(names) > 1:
            for name in names:
                _keep(plan, nest, [name])


def _keep(plan: Plan, nest: Sibling, names: Sequence[str]) -> bool:
    return plan.take(
        nest.ids,
        f"{', '.join(names)} kept in registers",
        "each iteration uses its own element alone",
        lambda knl: _contracted(knl, nest.loops, names),
    )


def _contracted(kernel: Kernel, loops: Sequence[str], names: Sequence[str]) -> Kernel:
    """Return the kernel with scalars, of each iteration, in the place of arrays."""
    kernel = unprivatize_temporaries_with_inames(kernel, loops, tuple(names))
    own = AddressSpace.PRIVATE
    shared = tuple([n for n in names if kernel.address_space(n) is not own])
    return set_temporary_address_space(kernel, shared, "private") if shared else kernel


def _kept(kernel: Kernel) -> Iterator[tuple[Sibling, list[str]]]:
    """Yield nests with the temporaries that can be scalars there."""
    plain = kernel.expanded
    users: dict[str, set[str]] = {}
    for insn in plain.instructions:
        for name in insn.read_names.union(insn.written_names):
            users.setdefault(name, set()).add(insn.id)
    for nest in plain_nests(kernel):
        outside = {t.name: len(users[t.name].difference(nest.ids)) for t in nest.touches}
        if names := sorted(kept_names(plain, nest.touches, nest.loops, outside)):
            yield nest, names
