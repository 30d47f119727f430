"""Instructions in the loops of others: for steps that let several share a launch, or a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Reference, references_by_name
from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.instance_pairs import conflicts
from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import project_out, universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import ForTag, GroupTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Name, transformation
from polygen.transforms.arrays.array_rewriting import without_rules_about
from polygen.transforms.arrays.axis_rewriting import Change, changed
from polygen.transforms.fusion.fuse_loops import fuse_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.map_domain import map_domain


def loops_of_all(kernel: Kernel, ids: Sequence[str]) -> frozenset[str]:
    """Return the inames that all of some instructions are within."""
    first, *others = (kernel.instruction(insn_id).within_inames for insn_id in ids)
    return first.intersection(*others)


def check_results(step: str, kernel: Kernel, insns: Sequence[Instruction]) -> None:
    """Check that each of some instructions has results of its own: is neither a call nor nothing.

    Raises:
        InvalidArgument: if one has none.
    """
    for insn in insns:
        if not isinstance(insn, Assigning) or isinstance(insn, KernelCall):
            calls = isinstance(insn, KernelCall)
            raise InvalidArgument(
                f"{step}: '{insn.id}' {'calls a kernel' if calls else 'assigns to nothing'}",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy="inline_callable_kernel makes instructions of a call"
                if calls
                else "name instructions that assign",
            )


def comes_after(kernel: Kernel, insn_id: str, earlier: str) -> bool:
    """Tell whether an instruction depends on another one, through others too."""
    pending, seen = [insn_id], set[str]()
    while pending:
        found = kernel.instruction(pending.pop()).depends_on - seen
        seen |= found
        pending += found
    return earlier in seen


def in_one_loop(kernel: Kernel, first: str, second: str) -> Kernel:
    """Return the kernel with one loop of two, iteration by iteration; the second gets the tag."""
    tags = [kernel.tags.get(iname, ForTag()) for iname in (first, second)]
    if tags[0] != tags[1] and tags[1] == ForTag():
        kernel = tag_inames(kernel, {second: tags[0]})
    return fuse_loops(kernel, first, second, 0)


def in_loops_of(kernel: Kernel, made: Reference, used: Reference) -> Kernel:
    """Return the kernel with an instruction in loops of another, where both mean one element.

    Parameters:
        kernel: the kernel.
        made: an element that the instruction writes whose loops these are.
        used: an element of the same array, or of one like it, that the other one mentions.

    Raises:
        InvalidArgument: if no loops of the other one count the elements.
        DomainsDiffer, TagConflict, NotFusible, IllegalStep, CannotProve: if loops cannot be one.
    """
    inames = made.insn.within_inames
    if len(used.index) < len(made.index):
        raise _uncounted(kernel, made, used)
    for written, read in zip(made.index, used.index, strict=True):
        value, at = linear_form(written), linear_form(read)
        if value is not None and value == at:
            continue
        found = None if value is None or at is None else _solved(value, at, used.insn)
        if found is None or found[0].names().isdisjoint(inames):
            raise _uncounted(kernel, made, used)
        if found[1] not in inames:
            kernel, pairs = _at_value(kernel, *found)
            for leading, following in pairs:
                kernel = in_one_loop(kernel, leading, following)
    return kernel


def _uncounted(kernel: Kernel, made: Reference, used: Reference) -> InvalidArgument:
    return InvalidArgument(
        f"no loop of '{used.insn.id}' counts the results of '{made.insn.id}': "
        f"{_shown(made)} is written, and '{used.insn.id}' has {_shown(used)}",
        where=caller_location(),
        excerpt=excerpt(kernel, made.insn.id, used.insn.id),
        remedy="let it have each result at a subscript of an iname alone: map_domain gives "
        "loops such coordinates",
    )


def _shown(use: Reference) -> str:
    return f"{use.name}[{', '.join(map(show_expression, use.index))}]"


def _solved(value: LinearForm, at: LinearForm, insn: Instruction) -> tuple[LinearForm, str] | None:
    """Return what the one iname in a subscript is where the subscript has this value, and it."""
    inames = [name for name in at.names() if name in insn.within_inames]
    factor = at.terms.get(inames[0], 0) if len(inames) == 1 else 0
    if not factor:
        return None
    rest = value - at + LinearForm.of_name(inames[0]) * factor
    if any(number % factor for number in (rest.constant, *rest.terms.values())):
        return None
    terms = {name: number // factor for name, number in rest.terms.items()}
    return LinearForm(rest.constant // factor, terms), inames[0]


def _at_value(
    kernel: Kernel, value: LinearForm, iname: str
) -> tuple[Kernel, list[tuple[str, str]]]:
    """Return the kernel with a loop divided as others are, of which the iname is this value.

    Returns:
        The kernel, and the pairs of inames that count alike: of the others, and of that loop.
    """
    others = sorted(value.names().intersection(kernel.inames))
    if value == LinearForm.of_name(others[0]):
        return kernel, [(others[0], iname)]
    names: dict[str, str] = {}
    for other in others:
        names[other] = kernel.new_name(f"{iname}_{other}", names.values())
    values = domain_of(kernel, frozenset(others))
    values = project_out(values, set(kernel.inames) - set(others))
    for other, name in names.items():
        at = values.find_dim_by_name(isl.dim_type.param, other)
        values = values.set_dim_name(isl.dim_type.param, at, name)
    bounds = str(values).partition(":")[2].rpartition("}")[0]
    form = LinearForm(
        value.constant, {names.get(str(t), t): factor for t, factor in value.terms.items()}
    )
    given, news = show_expression(form.expression()), ", ".join(names.values())
    text = f"{{ [{iname}] -> [{news}]: {iname} = {given} and ({bounds}) }}"
    return map_domain(kernel, text), list(names.items())


def is_passed_on(kernel: Kernel, writer: str, reader: str, name: str) -> bool:
    """Tell whether what an instruction writes, another one reads in another work group.

    Then it does so in a later launch.
    """
    if kernel.address_space(name) is not AddressSpace.GLOBAL:
        return False
    plain = kernel.expanded
    axes = [_groups(plain, insn_id) for insn_id in (writer, reader)]
    together = [set(inames) == set(axes[0]) for inames in axes]
    for found in conflicts(plain, writer, reader, name):
        if found.kind != "flow":
            continue
        apart = found.pairs
        if all(together):
            same = [_same_value(axes[0][axis], axes[1][axis]) for axis in axes[0]]
            apart = apart.subtract(reduce(isl.Set.intersect, same, universe()))
        if not apart.intersect(plain.assumptions.flat).is_empty():
            return True
    return False


def _groups(kernel: Kernel, insn_id: str) -> dict[int, str]:
    """Return the inames of an instruction on axes of work groups, by their axes."""
    tags = {iname: kernel.tags.get(iname) for iname in kernel.instruction(insn_id).within_inames}
    return {tag.axis: iname for iname, tag in tags.items() if isinstance(tag, GroupTag)}


def _same_value(first: str, second: str) -> isl.Set:
    """Return the pairs of instances that have the same value, each of its iname."""
    found = condition_set(ex.Comparison(ex.Variable(first), "==", ex.Variable(second + OTHER)))
    assert found is not None
    return found


@transformation
def as_scalar(kernel: Kernel, name: Name) -> Kernel:
    """Let each work item have one variable in the place of a temporary with elements for all."""
    array = kernel.array(name)
    assert isinstance(array, TemporaryVariable)
    scalar = replace(
        array, shape=(), dim_tags=None, dim_names=None, address_space=AddressSpace.PRIVATE
    )
    return changed(without_rules_about(kernel, [name]), {name: Change(scalar, lambda _: ())}).kernel


def kept_by_items(kernel: Kernel, *ids: str) -> Kernel:
    """Return the kernel with temporaries of instructions in variables of the work items.

    Those of which all uses are at one element, in loops that all of them are in.
    """
    uses = references_by_name(kernel.expanded)
    around = loops_of_all(kernel, ids)
    for temporary in kernel.temporaries:
        own = uses.get(temporary.name, ())
        if not temporary.shape or {*ids}.isdisjoint(use.insn.id for use in own):
            continue
        if _is_one_element(kernel, own, around):
            kernel = as_scalar(kernel, temporary.name)
    return kernel


def _is_one_element(kernel: Kernel, uses: Sequence[Reference], around: frozenset[str]) -> bool:
    """Tell whether each iteration of these loops has an element that no other one has."""
    counted = [frozenset[str]().union(*map(walk.free_variables, use.index)) for use in uses]
    if not all(
        names & use.inames <= around <= use.insn.within_inames
        for names, use in zip(counted, uses, strict=True)
    ):
        return False
    there = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    return all(_is_same_index(uses[0].index, use.index, there) for use in uses[1:])


def _is_same_index(
    first: Sequence[Expression], second: Sequence[Expression], points: isl.Set
) -> bool:
    """Tell whether subscripts, as affine functions, are equal at all points."""
    for one, other in zip(first, second, strict=True):
        same = None if one == other else condition_set(ex.Comparison(one, "==", other))
        if one != other and (same is None or not points.is_subset(same)):
            return False
    return True
