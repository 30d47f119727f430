"""Temporaries that only carry values within an iteration.

If each read of a temporary finds what was written before in the same iteration of some loops, and
no other iteration touches that copy in between, then it does not matter in which order these
iterations come: nothing is passed from one to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Access, is_affine, touched
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import has_copies, same_copy
from polygen.analysis.integers.isl_affine import to_val
from polygen.analysis.integers.known_facts import is_never_written, known_parameters
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.flag_history import set_since
from polygen.analysis.pairs.instance_pairs import equal, piece_set, renamed, users
from polygen.analysis.pairs.loop_coverage import in_reach, of_one_value
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.domain import project_out, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

_SET = isl.dim_type.set


@per_kernel
def common_inames(kernel: Kernel, name: str) -> frozenset[str]:
    """Return the inames that all instructions are within which touch a variable."""
    first, *others = (kernel.instruction(insn).within_inames for insn in users(kernel, name))
    return first.intersection(*others)


@per_kernel
def apart(kernel: Kernel, name: str, allowed: frozenset[str]) -> frozenset[str]:
    """Return those of the inames whose iterations do not mix in any copy of a variable.

    Those of the outermost loops come one after the other, and those of an axis have copies of
    their own.
    """
    common = common_inames(kernel, name)
    found = {i for i in common & allowed if has_copies(kernel, name, i)}
    for iname in order_of(kernel).loops(users(kernel, name)[0]):
        if iname not in common & allowed:
            break
        found.add(iname)
    return frozenset(found)


@per_kernel
def passes_nothing(kernel: Kernel, name: str, inames: frozenset[str]) -> bool:
    """Tell whether a variable passes no value from an iteration of `inames` to another.

    The inames are some that `apart` returns.
    """
    if not isinstance(kernel.variables[name], TemporaryVariable):
        return False
    reads = [a for i in users(kernel, name) for a in touched(kernel, i)[name] if not a.is_write]
    return all(_is_covered(kernel, read, inames) for read in reads)


def _is_covered(kernel: Kernel, read: Access, inames: frozenset[str]) -> bool:
    """Tell whether all that is read was written before in the same iteration of `inames`."""
    if is_plainly_written(kernel, read):  # the inames are around all that touches the variable
        return True
    return bool(unwritten(kernel, read, inames).is_empty())


def is_plainly_written(kernel: Kernel, read: Access) -> bool:
    """Tell whether it shows, without isl, that what is read was written in the same iteration.

    In the same iteration of all loops around the writer, that is, and in the same copy.
    """
    reader = kernel.instruction(read.insn_id)
    return any(_writes_first(kernel, w, reader, read) for w in kernel.writers.get(read.name, ()))


def _writes_first(kernel: Kernel, writer: Assigning, reader: Instruction, read: Access) -> bool:
    # With fewer inames, it has an instance for each of the reader's, at the same values of these.
    if writer.predicates or not writer.within_inames <= reader.within_inames:
        return False
    if not order_of(kernel).depends(writer.id, reader.id):
        return False
    index = () if read.reference is None else read.reference.index
    written = [ex.index_of(a) for a, _ in writer.pairs if ex.name_of(a) == read.name]
    if index not in written:
        return False
    names = NO_NAMES.union(*map(walk.free_variables, index))
    others = names - writer.within_inames.union(kernel.parameters)
    return all(is_never_written(kernel, name) for name in others)


def unwritten(
    kernel: Kernel, read: Access, inames: frozenset[str] = frozenset(), *, doubt: bool = True
) -> isl.Set:
    """Return what is read of a temporary before it was written in the same iteration of `inames`.

    Parameters:
        kernel: the kernel.
        read: an access.
        inames: loops or axes around all that touch the temporary.
        doubt: whether what may have been written counts as not written.  Otherwise, it counts as
            written: what is returned then was certainly not, if the access is exact.

    Returns:
        A set like the relation of the access, with a suffix at its inames.
    """
    left = renamed(read.relation, kernel.inames).intersect_params(known_parameters(kernel))
    for axis, extent in enumerate(kernel.array(read.name).shape or ()):
        if isinstance(extent, int):  # as all extents of temporaries are
            left = left.lower_bound_val(_SET, axis, isl.Val(0))
            left = left.upper_bound_val(_SET, axis, to_val(extent - 1))
    same = [equal(i) for i in sorted(inames)]
    for writer in kernel.writers.get(read.name, ()):
        copy = same_copy(kernel, (writer.id, read.insn_id), read.name, UNMOVED)
        if not copy.complete or (doubt and not copy.certain):
            continue
        where = [*same, copy.possible]
        for written in touched(kernel, writer.id)[read.name]:
            if written.is_write:
                left = _without_written(kernel, left, written, read, where, doubt=doubt)
                if left.is_empty():
                    return left
    return left


def _without_written(
    kernel: Kernel,
    left: isl.Set,
    written: Access,
    read: Access,
    where: Sequence[isl.Set],
    *,
    doubt: bool,
) -> isl.Set:
    """Return what is left to be written when a write has come."""
    writer = kernel.instruction(written.insn_id)
    there = certainly_written(kernel, writer, written, read) if doubt else universe()
    if there is None:
        return left
    pairs = reduce(isl.Set.intersect_params, [*where, there], written.relation).intersect(left)
    # What the same iteration wrote first: in most cases, nothing is left then.
    for piece in reversed([*moments(kernel).before(written, read)]):
        left = left.subtract(project_out(piece_set(pairs, piece), writer.within_inames))
        if left.is_empty():
            break
    return left


def certainly_written(
    kernel: Kernel, writer: Instruction, written: Access, read: Access
) -> isl.Set | None:
    """Return the pairs of which the first certainly writes what its access says; None if none.

    How often a loop runs, and whether a condition holds, may be data.
    """
    if written.exact:
        return universe()
    assert written.reference is not None  # no bound of a loop is written
    if written.reference.vague or not is_affine(kernel, written.reference):
        return None
    same = NO_NAMES
    if writer.predicates:
        agree = _has_predicates_of(kernel, written, read)
        if agree is None:
            return None
        names = agree.union(*map(walk.free_variables, writer.predicates))
        same = names & writer.within_inames
    if not same <= read.inames:
        return None
    loops = in_reach(kernel, writer, written, read)
    return None if loops is None else reduce(isl.Set.intersect, map(equal, sorted(same)), loops)


def _has_predicates_of(kernel: Kernel, written: Access, read: Access) -> frozenset[str] | None:
    """Return the inames that two instances share of which the first reads only if the other wrote.

    They share more where conditions need it; None if there is no telling.  What the conditions
    of both read must be something that never changes, or not between the two.
    """
    known = () if read.reference is None else read.reference.conditions
    predicates = kernel.instruction(written.insn_id).predicates
    wanted = {part for p in predicates for part in walk.conjuncts(p)}
    if not wanted <= set(known):
        return None
    found, others = NO_NAMES, set[Expression]()
    for part in wanted:
        held = set_since(kernel, part, written, read)
        if held is None:
            others.add(part)
        else:
            found |= held
    names = NO_NAMES.union(*map(walk.free_variables, others))
    for name in names & kernel.variables.keys():
        variable = kernel.variables[name]
        if isinstance(variable, GlobalArg) and not is_never_written(kernel, name):
            return None
        if name not in kernel.writers:
            continue
        if not isinstance(variable, TemporaryVariable) or variable.shape:
            return None
        own = kernel.address_space(name) is AddressSpace.PRIVATE  # no other work item writes it
        inames = of_one_value(kernel, name, written, read) if own else None
        if inames is None:
            return None
        found |= inames
    return found
