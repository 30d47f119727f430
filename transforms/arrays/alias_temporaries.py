"""`polygen.alias_temporaries`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from polygen.errors import NotConcatenable
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Strided
from polygen.source import caller_location
from polygen.transformation import NewName, transformation
from polygen.transforms.arrays.array_rewriting import (
    Temporaries,
    check_rewritable,
    several,
    with_names,
)


@transformation
def alias_temporaries(
    kernel: Kernel,
    names: Temporaries,
    base_name_prefix: NewName | None = None,
    synchronize_for_exclusive_use: bool = True,
) -> Kernel:
    r"""Let temporaries share one storage: none is needed any more when the next is written.

    One temporary takes their place, as large as the largest along each axis.  The proof of this
    step is that each read still finds what was written to its own temporary: that the times in
    which values are needed do not overlap.

    Kind: order and storage.

    Requires:
        1. There are several temporaries, each named once, none a bound of a loop or a table.
        2. They are alike: of one type, which is declared or follows from declared ones, in one
           address space, with the same number of axes and the same tags, none of which is a stride.
        3. Each use of them is in sight: none in verbatim C, in a call of another kernel.
        4. No value is overwritten that is still needed.

    Parameters:
        names: the temporaries: ``"s, t"``, or a sequence, in the order in which they are used.
        base_name_prefix: the name of the one that takes their place; that of the first if not
            given.
        synchronize_for_exclusive_use: whether all that uses a temporary is made to depend on all
            that uses the one before it in `names`.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }",
        ...     "<> s = a[i] + 1\nb[i] = s*s  {id=b}\n<> t = a[i] - 1\nc[i] = t*t",
        ...     name="squares",
        ... )
        >>> knl = pg.alias_temporaries(pg.add_dtypes(knl, {"a": "float32"}), "s, t")
        >>> print(pg.generate_code(knl, "c"))
        void squares(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i) {
                float s = a[i] + 1.0f;
                b[i] = s * s;
                s = a[i] - 1.0f;
                c[i] = s * s;
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such temporary.
        InvalidArgument: if 1 does not hold, or one is an argument.
        NotConcatenable: if 2 does not hold.
        AxisNotPossible, VerbatimNotPossible: if 3 does not hold.
        NameTaken, ReservedName: if `base_name_prefix` cannot be a new name.
        DependencyCycle: if the uses cannot be ordered as `names` says.
        IllegalStep, CannotProve: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    given = several(
        "alias_temporaries", names, "temporaries", "the one that is used first in front"
    )
    check_rewritable(kernel, given)
    _check_alike(kernel, given)
    name = base_name_prefix or given[0]
    old = [t for t in kernel.temporaries if t.name in given]
    shape = tuple([max(extents) for extents in zip(*(_extents(t.shape) for t in old), strict=True)])
    one = replace(old[0], name=name, shape=shape)
    new = _in_turn(kernel, given) if synchronize_for_exclusive_use else kernel
    kept = [one if t is old[0] else t for t in kernel.temporaries if t not in old[1:]]
    others = [each for each in given if each != name]
    return with_names(new, dict.fromkeys(others, name)).copy(temporaries=tuple(kept))


def _extents(shape: Sequence[object]) -> list[int]:
    return [extent for extent in shape if isinstance(extent, int)]


def _check_alike(kernel: Kernel, names: Sequence[str]) -> None:
    first = kernel.array(names[0])
    shape = first.shape or ()
    for name in names:
        array, why = kernel.array(name), ""
        if any(name in domain.parameters for domain in kernel.domains):
            why = "cannot be one: one of them is the bound of a loop"
        elif len(array.shape or ()) != len(shape):
            why = "have other numbers of axes"
        elif replace(array, name=first.name, shape=shape) != first:
            why = "are not declared alike"
        elif any(isinstance(tag, Strided) for tag in array.dim_tags or ()):
            why = "have strides that are given"
        if why:
            raise NotConcatenable(
                f"'{first.name}' and '{name}' {why}",
                where=caller_location(),
                remedy="give them one type, address space and layout first (tag_array_axes)",
            )


def _in_turn(kernel: Kernel, names: Sequence[str]) -> Kernel:
    """Return the kernel with all uses of a temporary after all those of the one before."""
    users = {
        name: [i.id for i in kernel.instructions if name in i.read_names or name in i.written_names]
        for name in names
    }
    before: dict[str, frozenset[str]] = {}
    for earlier, later in pairwise(names):
        for insn_id in users[later]:
            before[insn_id] = before.get(insn_id, frozenset()).union(users[earlier]) - {insn_id}
    return kernel.copy(
        instructions=tuple(
            [
                insn.copy(depends_on=insn.depends_on | before.get(insn.id, frozenset()))
                for insn in kernel.instructions
            ]
        )
    )
