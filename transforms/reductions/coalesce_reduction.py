"""`polygen.coalesce_reduction`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygen.analysis.rearrangement.same_instances import iname_groups
from polygen.analysis.rearrangement.summation_order import may_reorder
from polygen.errors import NoSuchReduction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import may_merge
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import InsnId, NewName, to_id, transformation
from polygen.transforms.fusion.rename_iname import rename_iname
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.loops.memory_order import along_memory
from polygen.transforms.reductions._transposed_copies import with_turned_copies
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.splitting.join_inames import join_inames


@transformation
def coalesce_reduction(
    kernel: Kernel,
    insn: InsnId,
    *,
    reduced_iname: NewName | None = None,
    parallel_iname: NewName | None = None,
    turned: bool = True,
) -> Kernel:
    """Make one loop of all that a reduction runs over, and one of those around it.

    So each reduction is in one of three forms, with one loop or two, whatever the order of the
    axes of its arrays: ``s = sum(r, a[r])`` (all-reduce), ``s[p] = sum(r, a[p,r])`` (x-reduce) or
    ``s[p] = sum(r, a[r,p])`` (y-reduce).  Either loop walks through memory in the order in which
    the array lies of which most is read; what the loops have in common with an array that lies
    that way is then one term of its subscript, without quotients and remainders.

    Kind: order and storage.

    Requires:
        1. The instruction has a reduction.
        2. The bounds of the loops that become one depend on sizes alone; or each but the outermost
           has a constant number of iterations, from an affine bound on, for any values of the
           outer ones.
        3. These loops are not tagged, or tagged ``for``, and no priority puts another one between.
        4. Reductions in the instruction that share one of these loops share all of them; so do
           other instructions, or the instruction can get loops of its own, as `duplicate_inames`
           makes them: it gets them if others there compute an array that it reads.
        5. No dependence would be turned around.  A reduction whose order matters keeps it: its
           inames are joined as they are written.

    Parameters:
        insn: the id of the instruction.  A reduction directly inside of another of the same
            operation becomes one with it; of several others, each is joined.  The loops around
            become one if subscripts of what is written mention them.
        reduced_iname: the name of the loop of the first reduction; its old names joined by ``_``
            if not given.
        parallel_iname: the name of the loop around, likewise.
        turned: let large arrays that lie across these loops be copied first into temporaries that
            lie along them, through tiles in local memory.  An array is copied if it is an argument
            that nothing writes, each element of which is read once, if it is known to have 32 MiB
            or more, so that no cache holds it, and if neighbours along the innermost loop are 32
            bytes apart or more: then reading it across takes longer than copying it.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [b,c,y,x]: 0<=b<n and 0<=c<64 and 0<=y,x<7 }",
        ...     "mean[c] = sum((x,y,b), a[b,y,x,c])/(49*n)", name="mean", assumptions="n >= 1",
        ... )
        >>> knl = pg.coalesce_reduction(knl, "insn", reduced_iname="r")
        >>> print(pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}), "c"))
        void mean(float const *restrict a, float *restrict mean, int const n)
        {
            for (int c = 0; c < 64; ++c) {
                float acc_r = 0.0f;
                for (int r = 0; r < 49 * n; ++r)
                    acc_r += a[64 * r + c];
                mean[c] = acc_r / (49 * n);
            }
        }

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NoSuchReduction: if 1 does not hold.
        ExtentNotConstant: if 2 does not hold.
        TagConflict, InvalidArgument: if 3 does not hold, or if another argument is of the wrong
            kind.
        MapMixesInames, InameNeeded, NotDistributable: if 4 does not hold.
        IllegalStep, CannotProve, Reassociated: if 5 does not hold.

    Source: Zhao et al., Parallelizing neural network models effectively on GPU by implementing
    reductions atomically, PACT 2022, section 3.1 and formula (1).
    """
    insn = to_id(kernel, insn)
    check_reduces(kernel, insn)
    kernel = _merged(_in_sight(kernel, insn), insn)
    if turned:
        loops = (*_around(kernel, insn), *kernel.instruction(insn).reduction_inames)
        kernel = with_turned_copies(kernel, insn, loops)
    kernel = _apart(kernel, insn)
    around = along_memory(kernel, insn, _around(kernel, insn))
    for group in _reduced(kernel, insn):
        kernel = _joined(kernel, insn, group, reduced_iname)
        reduced_iname = None
    return _joined(kernel, insn, around, parallel_iname)


def check_reduces(kernel: Kernel, insn_id: str) -> None:
    """Check that there is a reduction in an instruction.

    Raises:
        NoSuchReduction: if there is none.
    """
    if not kernel.expanded.instruction(insn_id).reductions:
        raise NoSuchReduction(
            f"there is no reduction in '{insn_id}'",
            where=caller_location(),
            excerpt=excerpt(kernel, insn_id),
            remedy="name an instruction that has one",
        )


_Runs: TypeAlias = Sequence[tuple[str, ...]]


def _in_sight(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with what the instruction reduces in it, and not in rules."""
    whole, own = kernel.expanded.instruction(insn_id), kernel.instruction(insn_id)
    if len(whole.reductions) == len(own.reductions):
        return kernel
    return expand_subst(kernel, insn_id)


@transformation
def _merged(kernel: Kernel, insn_id: str) -> Kernel:
    """Make one reduction of those directly inside of each other, of one operation."""

    def rule(node: Expression) -> Expression:
        if not isinstance(node, ex.Reduction) or not isinstance(node.operand, ex.Reduction):
            return node
        inner = node.operand
        if not may_merge(node.operation, inner.operation):
            return node
        return ex.Reduction(node.operation, (*node.inames, *inner.inames), inner.operand)

    def merged(insn: Instruction) -> Instruction:
        if insn.id != insn_id:
            return insn
        return insn.map_expressions(lambda e: walk.rewrite(e, rule))

    return kernel.copy(instructions=tuple(map(merged, kernel.instructions)))


def _apart(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with loops of its own for an instruction that are to be joined.

    Only if what computes an array that it reads is in them, too: quotients and remainders would say
    which elements are written, of which it is not known that these are all.
    """
    insn = kernel.expanded.instruction(insn_id)
    loops = {*_around(kernel, insn_id), *insn.reduction_inames}
    if len(_around(kernel, insn_id)) < 2 and all(len(r.inames) < 2 for r in insn.reductions):
        return kernel
    others = [i for i in kernel.expanded.instructions if i.id != insn_id]
    arrays = {n for n in insn.read_names.intersection(kernel.writers) if kernel.array(n).shape}
    if not any(
        not arrays.isdisjoint(i.written_names) and not i.within_inames.isdisjoint(loops)
        for i in others
    ):
        return kernel
    used = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in others))
    return duplicate_inames(kernel, [i for i in kernel.inames if i in loops & used], insn_id)


def _around(kernel: Kernel, insn_id: str) -> tuple[str, ...]:
    """Return the inames around an instruction that say which element is written."""
    insn = kernel.instruction(insn_id)
    names = NO_NAMES.union(*map(walk.free_variables, insn.assignees))
    return tuple([i for i in kernel.inames if i in insn.within_inames and i in names])


def _reduced(kernel: Kernel, insn_id: str) -> Iterator[_Runs]:
    """Yield the inames of each reduction, in the order in which they are to be joined."""
    seen: set[frozenset[str]] = set()
    for node in kernel.instruction(insn_id).reductions:
        if frozenset(node.inames) in seen:
            continue
        seen.add(frozenset(node.inames))
        runs = along_memory(kernel, insn_id, node.inames)
        yield runs if may_reorder(kernel, node) else (node.inames,)


def _joined(kernel: Kernel, insn_id: str, runs: _Runs, name: str | None) -> Kernel:
    """Return the kernel with loops of an instruction as one.

    Runs come first, so that what is contiguous in memory is one number in the subscripts.
    """
    if len(runs) > 1 and any(len(run) > 1 for run in runs):
        whole: list[str] = []
        for run in runs:
            whole.append(run[0] if len(run) == 1 else kernel.new_name("_".join(run), whole))
            kernel = _joined(kernel, insn_id, (run,), None if len(run) == 1 else whole[-1])
        runs = (tuple(whole),)
    inames = [iname for run in runs for iname in run]
    if len(inames) < 2:
        return rename_iname(kernel, inames[0], name) if inames and name is not None else kernel
    groups = [g for i in kernel.expanded.instructions for g in iname_groups(i)]
    shared = [g.intersection(inames) for g in groups if not g.isdisjoint(inames)]
    are_in_all = all(len(here) == len(inames) for here in shared)
    return join_inames(kernel, inames, name, within=None if are_in_all else insn_id)
