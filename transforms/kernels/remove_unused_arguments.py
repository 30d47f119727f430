"""`polygen.remove_unused_arguments`."""

from __future__ import annotations

from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.claims import Injective
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from polygen.transformation import transformation


@transformation(declared=True)
def remove_unused_arguments(kernel: Kernel) -> Kernel:
    """Leave out arguments that nothing mentions.

    A scalar stays that bounds, assumptions, or the shape or layout of what stays mention; so does
    an array of which something is claimed.

    Kind: change of interface.

    Before -> After:

        >>> import polygen as pg
        >>> data = [pg.GlobalArg("old", "float32", "m"), pg.GlobalArg("a", "float32", "n"), "..."]
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", data)
        >>> [argument.name for argument in knl.arguments]
        ['old', 'a', 'm', 'n', 'out']
        >>> [argument.name for argument in pg.remove_unused_arguments(knl).arguments]
        ['a', 'n', 'out']

    Source: Loo.py's transformation of this name.
    """
    used = _used(kernel)
    return kernel.copy(arguments=tuple([a for a in kernel.arguments if a.name in used]))


def _used(kernel: Kernel) -> set[str]:
    used = {name for d in (*kernel.domains, kernel.assumptions) for name in d.parameters}
    used = used.union(*(size.names for size in kernel.derived_sizes))
    for insn in (*kernel.instructions, *kernel.expanded.instructions):
        used.update(insn.read_names, insn.written_names)
        used.update(name for relation in insn.happens_after for name in relation.parameters)
    for node in (*kernel.separations, *(rule.expression for rule in kernel.substitutions)):
        used |= walk.free_variables(node)
    used.update(claim.array for claim in kernel.claims if isinstance(claim, Injective))
    for variable in kernel.variables.values():
        if variable.name in used and not isinstance(variable, ValueArg):
            for extent in (*(variable.shape or ()), *layout_expressions(variable)):
                used |= walk.free_variables(extent)
    return used
