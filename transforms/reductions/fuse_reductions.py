"""`polygen.fuse_reductions`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.analysis.access.accesses import Reference, references
from polygen.errors import InvalidArgument, NoSuchReduction, SeveralLaunches
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location, warn
from polygen.transformation import Within, transformation
from polygen.transforms.fusion.loop_sharing import (
    check_results,
    comes_after,
    in_loops_of,
    in_one_loop,
    is_passed_on,
    kept_by_items,
)
from polygen.transforms.reductions._consecutive_loops import beside, have_same_values


@transformation
def fuse_reductions(kernel: Kernel, insns: Within) -> Kernel:
    """Compute several reductions in one launch, and in one pass where that can be.

    The loops over the results of all become those of the first one, divided and tagged like these.
    Reductions that do not need each other, and run over the same values, then share a loop: what
    they read is read once.  Of others, each has a loop of its own, one after the other, in the same
    iteration of the loops over the results: the largest of a row, say, and then the sum of the
    powers that need it; a temporary in between, that nothing else uses, is each work item's own.

    Where results differ in number, one loop has the results of both, one after the other: on an
    axis of the grid, its groups are divided among the reductions.

    Kind: order and storage.

    Requires:
        1. Two or more instructions assign, and one of them reduces.
        2. Results of each are counted by the same number of loops, at subscripts that are affine;
           those of all but the first are not tagged, or as those of the first are.
        3. Where one reduction needs another's results, it does so result by result; what one group
           does, needs nothing of another group.  The warning `SeveralLaunches` says where that is
           not so: then nothing is wrong, but there are several launches.
        4. One loop can hold the instructions of both, as `fuse_loops` requires it.

    Parameters:
        insns: the instructions: ids, or queries.  What else uses the results in the end may be
            among them: the loops of `y[i, j] = exp(x[i, j] - most[i])/total[i]` over results, too,
            become those of the first.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,k,l]: 0<=i,k<n and 0<=j,l<m }",
        ...     ["s[i] = sum(j, a[i,j])  {id=s}", "q[k] = sum(l, a[k,l]**2)  {id=q}"],
        ...     name="moments",
        ... )
        >>> knl = pg.fuse_reductions(pg.add_dtypes(knl, {"a": "float32"}), ["s", "q"])
        >>> print(pg.generate_code(knl, "c"))
        void moments(
            float const *restrict a,
            int const m,
            int const n,
            float *restrict q,
            float *restrict s)
        {
            for (int i = 0; i < n; ++i) {
                float acc_j = 0.0f;
                float acc_j_0 = 0.0f;
                for (int j = 0; j < m; ++j) {
                    acc_j += a[i * m + j];
                    acc_j_0 += a[i * m + j] * a[i * m + j];
                }
                s[i] = acc_j;
                q[i] = acc_j_0;
            }
        }

    Raises:
        UnknownInstruction, NothingMatches: if there are no such instructions.
        NoSuchReduction, InvalidArgument: if 1 or 2 does not hold.
        DomainsDiffer, TagConflict, NotFusible, IllegalStep, CannotProve: if 3 or 4 does not hold.

    Source: the fused reductions of PANAMERA, section 5 (figure 8); loop fusion as in Kennedy,
    McKinley, LCPC 1993.
    """
    chosen = _chosen(kernel, insns)
    ids = [insn.id for insn in chosen]
    for other in ids[1:]:
        kernel = _with_loops_of(kernel, ids[0], other)
    for place, other in enumerate(ids):
        for earlier in ids[:place]:
            kernel = _in_one_pass(kernel, earlier, other)
    kernel = kept_by_items(kernel, *ids)
    _tell(kernel, ids)
    return kernel


def _chosen(kernel: Kernel, insns: Within) -> list[Instruction]:
    """Return the instructions, in their order."""
    found = list(matching(kernel, insns))
    if len(found) < 2:
        raise InvalidArgument(
            f"fuse_reductions: there is nothing to fuse '{found[0].id}' with",
            where=caller_location(),
            remedy="name several instructions: ['first', 'second']",
        )
    check_results("fuse_reductions", kernel, found)
    if not any(_plain(kernel, insn.id).reductions for insn in found):
        ids = [insn.id for insn in found]
        raise NoSuchReduction(
            f"there is no reduction in {' and '.join(ids)}",
            where=caller_location(),
            excerpt=excerpt(kernel, *ids),
            remedy="name instructions that have one; fuse_loops is for others",
        )
    return found


def _plain(kernel: Kernel, insn_id: str) -> Instruction:
    """Return an instruction with what its rules stand for."""
    return kernel.without_rules.instruction(insn_id)


def _with_loops_of(kernel: Kernel, first: str, other: str) -> Kernel:
    """Return the kernel with an instruction in the loops over the results of another."""
    made, used = _element(kernel, first), _read(kernel, first, other)
    if used is not None:
        return in_loops_of(kernel, made, used)
    made, used = _counted(made), _counted(_element(kernel, other))
    used = replace(used, index=used.index[: len(made.index)])
    loops = [sorted(use.insn.within_inames) for use in (made, used)]
    alone = len(loops[0]) == len(loops[1]) == 1 and loops[0] != loops[1]
    if alone and not have_same_values(kernel, loops[0][0], loops[1][0]):
        return beside(kernel, loops[0][0], loops[1][0])
    return in_loops_of(kernel, made, used)


def _element(kernel: Kernel, insn_id: str) -> Reference:
    """Return the first element that an instruction writes."""
    return next(use for use in references(_plain(kernel, insn_id)) if use.is_write)


def _counted(use: Reference) -> Reference:
    """Return an element without subscripts that are the same for all results: ``v[0]``."""
    inames = use.insn.within_inames
    moving = [i for i in use.index if not walk.free_variables(i).isdisjoint(inames)]
    return replace(use, index=tuple(moving))


def _read(kernel: Kernel, writer: str, reader: str) -> Reference | None:
    """Return the first element that an instruction reads of what another one writes."""
    written = kernel.instruction(writer).written_names
    uses = references(_plain(kernel, reader))
    return next((use for use in uses if use.name in written and not use.is_write), None)


def _in_one_pass(kernel: Kernel, first: str, second: str) -> Kernel:
    """Return the kernel with one loop for the reductions of two instructions, if that can be.

    They need the same loops around, and the same values; and neither needs the other.
    """
    one, other = (_plain(kernel, insn_id) for insn_id in (first, second))
    if one.within_inames != other.within_inames or comes_after(kernel, second, first):
        return kernel
    inames = [_reduced(insn) for insn in (one, other)]
    if len(inames[0]) != len(inames[1]):
        return kernel
    pairs = list(zip(*inames, strict=True))
    if not all(a == b or have_same_values(kernel, a, b) for a, b in pairs):
        return kernel
    for leading, following in pairs:
        if leading != following:
            kernel = in_one_loop(kernel, leading, following)
    return kernel


def _reduced(insn: Instruction) -> list[str]:
    """Return what an instruction reduces over, if all of its reductions are over that."""
    found = {reduction.inames for reduction in insn.reductions}
    return list(found.pop()) if len(found) == 1 else []


def _tell(kernel: Kernel, ids: Sequence[str]) -> None:
    """Warn of results that pass from group to group."""
    for place, reader in enumerate(ids):
        for writer in ids[:place]:
            used = _read(kernel, writer, reader)
            if used is not None and is_passed_on(kernel, writer, reader, used.name):
                warn(
                    SeveralLaunches(
                        f"kernel '{kernel.name}': '{reader}' is in a later launch than '{writer}': "
                        f"each group needs what others wrote to '{used.name}'"
                    )
                )
