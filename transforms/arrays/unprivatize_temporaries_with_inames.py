"""`polygen.unprivatize_temporaries_with_inames`."""

from __future__ import annotations

from dataclasses import replace

from polygen.analysis.access.accesses import Reference, references_by_name
from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import AxisNotPossible, InvalidArgument, did_you_mean
from polygen.ir.array import TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Inames, Names, to_names, transformation
from polygen.transforms.arrays.array_rewriting import Index, check_no_verbatim, without_rules_about
from polygen.transforms.arrays.axis_rewriting import Change, changed, with_tags


@transformation
def unprivatize_temporaries_with_inames(
    kernel: Kernel, privatizing_inames: Inames, only_var_names: Names | None = None
) -> Kernel:
    """Let the iterations of loops share elements of temporaries, in which each has its own.

    It takes back what `privatize_temporaries_with_inames` does: an axis along which the subscript
    counts the iterations, in all uses, is left out.  The proof of this step is that no iteration
    needs what another one overwrites.

    Kind: order and storage.

    Requires:
        1. The temporaries have an axis along which every use has one of the inames as its
           subscript, with or without something added.
        2. Each use of them is in sight: none in verbatim C, in a call of another kernel.
        3. What an iteration writes to a temporary, no other one overwrites before it is read.

    Parameters:
        privatizing_inames: ``"i"``, ``"i, j"``, or a sequence.
        only_var_names: the temporaries; all that have such an axis if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<8 }",
        ...     ["t[i] = 2*a[i]  {id=t}", "out[i] = t[i]*t[i]"],
        ...     [pg.TemporaryVariable("t", "float32", 8), pg.GlobalArg("a", "float32", 8), "..."],
        ...     name="squares",
        ... )
        >>> knl = pg.unprivatize_temporaries_with_inames(knl, "i", "t")
        >>> print(pg.generate_code(knl, "c"))
        void squares(float const *restrict a, float *restrict out)
        {
            for (int i = 0; i < 8; ++i) {
                float const t = 2.0f * a[i];
                out[i] = t * t;
            }
        }

    Raises:
        UnknownIname, UnknownArgument: if the kernel has no such iname or temporary.
        InvalidArgument: if a variable is no temporary.
        AxisNotPossible: if 1 does not hold for a temporary that is named, or if 2 does not hold.
        VerbatimNotPossible: if 2 does not hold.
        IllegalStep, CannotProve: if 3 does not hold.

    Source: Loo.py's transformation of this name.
    """
    inames = to_names(privatizing_inames)
    changes: dict[str, Change] = {}
    for name in _chosen(kernel, only_var_names):
        dropped = _axes(kernel, name, inames)
        if dropped:
            changes[name] = _without(kernel, name, dropped)
        elif only_var_names is not None:
            raise AxisNotPossible(
                f"'{name}' has no axis along which each use has {' or '.join(inames)} as its "
                "subscript",
                where=caller_location(),
                remedy="print(kernel) shows the subscripts",
            )
    # A rule that mentions an iname in such a subscript alone would name it for nothing.
    return changed(without_rules_about(kernel, changes), changes).kernel


def _chosen(kernel: Kernel, given: Names | None) -> tuple[str, ...]:
    if given is None:
        return tuple([t.name for t in kernel.temporaries if t.shape and not t.read_only])
    names = to_names(given)
    for name in names:
        if not isinstance(kernel.variable(name), TemporaryVariable):
            raise InvalidArgument(
                f"unprivatize_temporaries_with_inames: '{name}' is an argument",
                where=caller_location(),
                remedy=did_you_mean(name, [t.name for t in kernel.temporaries]),
            )
    check_no_verbatim(kernel, names)
    return names


def _axes(kernel: Kernel, name: str, inames: tuple[str, ...]) -> frozenset[int]:
    """Return the last axis for each of the inames along which it counts in all uses."""
    uses = references_by_name(kernel.expanded).get(name, ())
    found: set[int] = set()
    for iname in inames:
        axes = range(len(kernel.array(name).shape or ()))
        counting = [a for a in axes if uses and all(_counts(use, a, iname) for use in uses)]
        found.update(counting[-1:])
    return frozenset(found)


def _counts(use: Reference, axis: int, iname: str) -> bool:
    """Tell whether a subscript is another one for each value of an iname."""
    form = linear_form(use.index[axis]) if use.index else None
    return form is not None and abs(form.terms.get(iname, 0)) == 1


def _without(kernel: Kernel, name: str, dropped: frozenset[int]) -> Change:
    array = kernel.array(name)
    kept = [axis for axis in range(len(array.shape or ())) if axis not in dropped]

    def index(old: Index) -> Index:
        return tuple([old[axis] for axis in kept])

    new = replace(array, shape=tuple([(array.shape or ())[axis] for axis in kept]))
    if array.dim_names is not None:
        new = replace(new, dim_names=tuple([array.dim_names[axis] for axis in kept]) or None)
    tags = None if array.dim_tags is None else [array.dim_tags[axis] for axis in kept]
    return Change(with_tags(new, tags or None), index)
