"""`polygen.prioritize_loops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.transformation import Kind, are_inames, to_names, transformation


def _are_loops(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` lists inames, or names of loops that there may be later."""
    if kernel.later is None or not isinstance(value, str | Sequence):
        return are_inames(kernel, value)
    names: tuple[Any, ...] = to_names(cast("Any", value))
    return all(isinstance(name, str) and name for name in names)


Priority = Annotated[
    str | Sequence[str], Kind("inames, outermost first: 'i, j' or a sequence", _are_loops)
]


@transformation(says_more=True)
def prioritize_loops(kernel: Kernel, loop_priority: Priority) -> Kernel:
    """Ask for a nesting: of the loops that could be outside, the one named first is.

    A priority is advice.  What the kernel's structure requires (a domain that needs another
    iname; all of one loop's instructions being part of another's) goes before it, with a
    warning.  Calling it again adds to what was asked for before; what contradicts
    it there is reordered: after ``"i, j, k"``, the priority ``"k, i"`` makes that ``"k, j, i"``.
    A kernel that was made with ``well_formed="later"`` gets it as soon as it has all of the loops.

    Kind: order and storage.

    Requires:
        1. Together with earlier priorities, it does not put loops in a circle.

    Parameters:
        loop_priority: inames, outermost first: a string with commas, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.prioritize_loops(knl, "j, i"), "c"))
        void polygen_kernel(float const *restrict a, int const m, int const n, float *restrict out)
        {
            for (int j = 0; j < m; ++j) {
                for (int i = 0; i < n; ++i)
                    out[i * m + j] = 2.0f * a[i * m + j];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname; of one that is well formed later, only when
            code is made.
        InvalidArgument: if an iname is named twice, or if 1 does not hold.

    Source: Loo.py, section 2.3, rule 1.
    """
    return with_priority(kernel, to_names(loop_priority))
