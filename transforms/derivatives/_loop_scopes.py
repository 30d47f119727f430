"""Finds the loops that values pass through, which therefore run backwards."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import conflicts, equal, users
from polygen.analysis.pairs.iteration_local import passes_nothing
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._initial_adjoints import added
from polygen.transforms.derivatives._known_values import is_empty


def is_carried(
    kernel: Kernel, path: tuple[str, ...], scopes: Mapping[str, tuple[str, ...]]
) -> bool:
    """Tell whether the iterations of a loop have to be run from the last one to the first.

    Parameters:
        kernel: the kernel.
        path: the loop, those around it before it.
        scopes: for each variable that matters, its scope.
    """
    order = order_of(kernel)
    for name in scopes:
        ids = [i for i in users(kernel, name) if path == order.loops(i)[: len(path)]]
        if len(scopes[name]) >= len(path) and scopes[name][: len(path)] == path:
            continue
        adding = frozenset(i for i in ids if _only_adds(kernel, i, name))
        for first in ids:
            for second in ids:
                if {first, second} <= adding:
                    continue  # adjoints of sums are read alone
                for found in conflicts(kernel, first, second, name):
                    pairs = found.pairs
                    for iname in path[:-1]:
                        pairs = pairs.intersect(equal(iname))
                    if not is_empty(kernel, pairs.subtract(equal(path[-1]))):
                        return True
    return False


def _only_adds(kernel: Kernel, insn_id: str, name: str) -> bool:
    """Tell whether an instruction adds to a variable, and does nothing else with it."""
    for assignee, value in kernel.assignment(insn_id).pairs:
        rest = added(assignee, value) if ex.name_of(assignee) == name else value
        index = [n for i in ex.index_of(assignee) for n in walk.free_variables(i)]
        if rest is None or name in walk.free_variables(rest).union(index):
            return False
    return True


def scope_of(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return the loops from no iteration of which a variable passes values to another."""
    if not isinstance(kernel.variables[name], TemporaryVariable):
        return ()
    order, ids = order_of(kernel), users(kernel, name)
    shared = order.loops(ids[0])
    for other in ids:
        shared = shared[: len(order.shared_loops(ids[0], other))]
    while shared and not passes_nothing(kernel, name, frozenset(shared)):
        shared = shared[:-1]
    return shared
