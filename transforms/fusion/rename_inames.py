"""`polygen.rename_inames`."""

from __future__ import annotations

from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, Within, to_names, transformation
from polygen.transforms.fusion.rename_iname import in_one_loop, rename_iname, with_new_name


@transformation
def rename_inames(
    kernel: Kernel,
    old_inames: Inames,
    new_iname: str,
    existing_ok: bool = False,
    within: Within | None = None,
) -> Kernel | Rearranged:
    """Give several inames one name, which makes one loop of theirs: `rename_iname` of all at once.

    Kind: order and storage.

    Requires:
        1. The inames are different ones, and not of the new name.
        2. What holds for `rename_iname`: the inames have the same values, and so on.

    Parameters:
        old_inames: ``"i, j"``, or a sequence; they are gone afterwards.
        new_iname: what all of them are called from now on.
        existing_ok: the new name may be that of an iname; then their loops become that one, too.
        within: the instructions in which they are renamed, as a query (`polygen.language.within`);
            all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i,j<n }", ["b[i] = 2*a[i]", "c[j] = b[j] + 1"], name="chain"
        ... )
        >>> knl = pg.rename_inames(pg.add_dtypes(knl, {"a": "float32"}), "i, j", "p")
        >>> print(pg.generate_code(knl, "c"))
        void chain(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int p = 0; p < n; ++p) {
                b[p] = 2.0f * a[p];
                c[p] = b[p] + 1.0f;
            }
        }

    Raises:
        InvalidArgument: if 1 does not hold.
        UnknownIname, NameTaken, ReservedName, DomainsDiffer, TagConflict, LoopsOfOneInstruction,
            NotFusible, IllegalStep, InameNotUsed, InameNeeded, NotDistributable: as `rename_iname`
            does.

    Source: Loo.py's transformation of this name.
    """
    olds = to_names(old_inames)
    if len(set(olds)) < len(olds) or new_iname in olds:
        raise InvalidArgument(
            f"rename_inames: {', '.join(olds)} are not different inames, none '{new_iname}'",
            where=caller_location(),
            remedy="name each once",
        )
    if within is not None:
        for position, iname in enumerate(olds):
            fused = existing_ok or position > 0
            kernel = rename_iname(kernel, iname, new_iname, existing_ok=fused, within=within)
        return kernel
    if existing_ok and new_iname in kernel.home_domains:
        return in_one_loop(kernel, olds, new_iname)
    first, *others = olds
    joined = in_one_loop(kernel, others, first).kernel if others else kernel
    result = with_new_name(joined, first, new_iname).kernel
    return Rearranged(result, dict.fromkeys(olds, ex.Variable(new_iname)))
