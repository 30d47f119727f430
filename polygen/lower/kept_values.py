"""Ways to keep a value from one launch to the next.

v = 2*x[i]   (i on g.0)     ->    v[i] = 2*x[i]             stored, for each work item
                                  v = 2*x[i]; v_0 = 2*x[i]  computed again
m = max(j, x[j])            ->    m = max(j, x[j]); m_save = m
w[0] = sum(j, x[j])         ->    result = sum(j, x[j]); w[0] = result

Each returns a kernel, or None where there is none.  What it is good for, and whether values are
the same, `polygen.lower.across_launches` asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from polygen.analysis.access.hardware_indices import axis_count, largest, number_on_axis
from polygen.analysis.access.outermost_reductions import Outermost
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import (
    Assignment,
    CInstruction,
    Instruction,
    KernelCall,
    assigning,
)
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag
from polygen.lower.lanes import with_lane_axes

_GLOBAL = AddressSpace.GLOBAL
_COPIES: Mapping[AddressSpace, tuple[type, ...]] = {
    AddressSpace.LOCAL: (GroupTag,),
    AddressSpace.PRIVATE: (GroupTag, LocalTag),
}


# --- stored


def with_one_for_all(kernel: Kernel, names: Collection[str]) -> Kernel:
    """Return the kernel with temporaries in global memory, as they are declared."""
    temporaries = [t.in_space(_GLOBAL) if t.name in names else t for t in kernel.temporaries]
    return kernel.copy(temporaries=tuple(temporaries))


def with_one_for_each(kernel: Kernel, name: str) -> Kernel | None:
    """Return the kernel with a temporary in global memory, and an element for each copy of it.

    None if one who reads it is on no axis on which a writer is, or if its place is not ours to say.
    """
    variable = _temporary(kernel, name)
    kind = _COPIES[kernel.address_space(name)]
    on_axes = {i: _on_axes(kernel, i, kind) for i in users(kernel, name)}
    written = [tag for writer in kernel.writers.get(name, ()) for tag in on_axes[writer.id]]
    tags = sorted(dict.fromkeys(written), key=str)
    if any(tag not in own for tag in tags for own in on_axes.values()):
        return None
    if _is_said_elsewhere(kernel, name) or variable.dim_tags is not None:
        return None
    inames = {tag: list(dict.fromkeys([own[tag] for own in on_axes.values()])) for tag in tags}
    numbers = {i: number_on_axis(kernel, i) for several in inames.values() for i in several}
    extents = {tag: largest([axis_count(kernel, i) for i in inames[tag]]) for tag in tags}
    if None in numbers.values():
        return None
    places = {
        insn_id: {tag: number for tag in tags if (number := numbers[own[tag]]) is not None}
        for insn_id, own in on_axes.items()
    }
    shape = _with_axes(variable.shape, extents)
    new = replace(variable, shape=shape, dim_names=None, address_space=_GLOBAL)
    return kernel.copy(
        temporaries=tuple([new if t is variable else t for t in kernel.temporaries]),
        instructions=tuple(
            [
                _with_elements(insn, name, places[insn.id]) if insn.id in places else insn
                for insn in kernel.instructions
            ]
        ),
    )


def _temporary(kernel: Kernel, name: str) -> TemporaryVariable:
    variable = kernel.variables[name]
    assert isinstance(variable, TemporaryVariable)
    return variable


def _on_axes(kernel: Kernel, insn_id: str, kind: tuple[type, ...]) -> dict[HardwareTag, str]:
    """Return the inames of an instruction on axes along which there are copies."""
    inames = sorted(kernel.instruction(insn_id).within_inames)
    tags = {i: kernel.tags.get(i) for i in inames}
    return {
        tag: i
        for i, tag in tags.items()
        if isinstance(tag, GroupTag | LocalTag) and isinstance(tag, kind)
    }


def _is_said_elsewhere(kernel: Kernel, name: str) -> bool:
    """Tell whether more than subscripts says where a temporary is: bounds, verbatim C, calls."""
    if any(name in domain.parameters for domain in kernel.domains):
        return True
    insns = map(kernel.instruction, users(kernel, name))
    return any(isinstance(insn, CInstruction | KernelCall) for insn in insns)


def _with_axes(
    own: tuple[Expression, ...], more: Mapping[HardwareTag, Expression]
) -> tuple[Expression, ...]:
    """Return subscripts, or extents, with those of axes: neighbours in memory are in one group."""
    outside = [value for tag, value in more.items() if isinstance(tag, GroupTag)]
    inside = [value for tag, value in more.items() if not isinstance(tag, GroupTag)]
    return *outside, *own, *inside


def _with_elements(
    insn: Instruction, name: str, place: Mapping[HardwareTag, Expression]
) -> Instruction:
    def rule(node: Expression) -> Expression:
        # Outermost first: the array of a subscript is a variable, too.
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) == name:
            own = tuple(map(rule, ex.index_of(node)))
            return ex.element(ex.Variable(name), _with_axes(own, place))
        return walk.rebuild(node, tuple([rule(part) for part in walk.parts(node)]))

    return insn.map_expressions(rule)


def with_saved_value(kernel: Kernel, name: str) -> tuple[Kernel, Mapping[str, str]] | None:
    """Return the kernel with a scalar in private memory, and a copy of it in global memory.

    Who is on the axes of its writer, and no others, reads the scalar; who else, the copy.  None if
    it has several writers, or one of these two kinds does not read it.

    Parameters:
        kernel: the kernel.
        name: the scalar: one for all work items, in global memory.
    """
    writers, variable = kernel.writers.get(name, ()), _temporary(kernel, name)
    if len(writers) != 1 or variable.shape or _is_said_elsewhere(kernel, name):
        return None
    (writer,) = writers
    kind = _COPIES[AddressSpace.PRIVATE]
    own = _on_axes(kernel, writer.id, kind).keys()
    readers = [i for i in users(kernel, name) if i != writer.id]
    others = {i for i in readers if _on_axes(kernel, i, kind).keys() != own}
    if len(others) in {0, len(readers)}:
        return None
    copy = kernel.new_name(f"{name}_save")
    insn_id = kernel.new_name(f"{writer.id}_save", {copy})
    save = Assignment(
        insn_id,
        ex.Variable(copy),
        ex.Variable(name),
        within_inames=writer.within_inames,
        depends_on=frozenset([writer.id]),
        predicates=writer.predicates,
        location=writer.location,
    )
    new = {name: ex.Variable(copy)}
    instructions: list[Instruction] = []
    for insn in kernel.instructions:
        changed: Instruction = insn
        if insn.id in others:
            changed = insn.map_expressions(lambda e: walk.substitute(e, new))
            changed = changed.copy(depends_on=changed.depends_on | {insn_id})
        instructions += [changed, save] if insn.id == writer.id else [changed]
    private = variable.in_space(AddressSpace.PRIVATE)
    temporaries = [private if t is variable else t for t in kernel.temporaries]
    temporaries.append(replace(variable, name=copy))
    made = kernel.copy(instructions=tuple(instructions), temporaries=tuple(temporaries))
    return made, {insn_id: writer.id}


# --- computed again


def is_asked(kernel: Kernel, name: str) -> bool:
    """Tell whether a condition asks for a variable."""
    insns = map(kernel.instruction, users(kernel, name))
    return any(name in walk.free_variables(c) for insn in insns for c in _conditions(insn))


def _conditions(insn: Instruction) -> Iterator[Expression]:
    yield from insn.predicates
    for node in insn.reads:
        if ex.If in walk.classes(node):
            inside = walk.subexpressions(node)
            yield from (part.condition for part in inside if isinstance(part, ex.If))


def is_constant(kernel: Kernel, name: str) -> bool:
    """Tell whether a scalar is computed of what is never written, just before it is read."""
    writer, *others = kernel.writers[name]
    arrays = (GlobalArg, TemporaryVariable)
    read = [n for n in writer.read_names if isinstance(kernel.variables.get(n), arrays)]
    if others or not all(is_never_written(kernel, n) for n in read):
        return False
    readers = [kernel.instruction(i) for i in users(kernel, name) if i != writer.id]
    return all(
        writer.id in reader.depends_on and writer.within_inames <= reader.within_inames
        for reader in readers
    )


def with_values_again(
    kernel: Kernel, name: str, readers: Sequence[tuple[frozenset[str], frozenset[str]]]
) -> tuple[Kernel, Mapping[str, str]] | None:
    """Return the kernel with a scalar computed again in further launches, and what is for what.

    None if it is no scalar that one plain assignment computes for all of these readers.

    Parameters:
        kernel: the kernel.
        name: the scalar.
        readers: for each of the launches, the instructions that read it there, and the inames of
            the loops on the host around them.
    """
    writers, variable = kernel.writers.get(name, ()), _temporary(kernel, name)
    if len(writers) != 1 or variable.shape or _is_said_elsewhere(kernel, name):
        return None
    writer = writers[0]
    if not _is_plain(writer) or any(
        not writer.within_inames <= kernel.instruction(i).within_inames
        for several, _ in readers
        for i in several
    ):
        return None
    made: dict[str, str] = {}
    for several, around in readers:
        here = writer.copy(within_inames=writer.within_inames | around)
        kernel, again = _with_value_again(kernel, here, variable, several)
        made[again] = writer.id
    return kernel, made


def _is_plain(insn: Instruction) -> bool:
    if not isinstance(insn, Assignment) or insn.atomicity is not None:
        return False
    own = ex.name_of(insn.assignee) in insn.read_names
    return not (own or insn.predicates or insn.reduction_inames)


def _with_value_again(
    kernel: Kernel, writer: Instruction, variable: TemporaryVariable, readers: Collection[str]
) -> tuple[Kernel, str]:
    """Return the kernel with a scalar computed again for some of its readers, and by whom."""
    own = kernel.new_name(variable.name)
    insn_id = kernel.new_name(writer.id, {own})
    new = {variable.name: ex.Variable(own)}
    before = next((i.depends_on for i in kernel.instructions if i.id in readers), writer.depends_on)
    again = writer.map_expressions(lambda e: walk.substitute(e, new)).copy(
        id=insn_id, depends_on=(writer.depends_on | before).difference(readers, (writer.id,))
    )
    instructions: list[Instruction] = []
    for insn in kernel.instructions:
        if insn.id not in readers:
            instructions.append(insn)
            continue
        if again not in instructions:
            instructions.append(again)
        changed = insn.map_expressions(lambda e: walk.substitute(e, new))
        instructions.append(changed.copy(depends_on=changed.depends_on | {insn_id}))
    return kernel.copy(
        instructions=tuple(instructions),
        temporaries=(*kernel.temporaries, replace(variable, name=own)),
    ), insn_id


# --- results of reductions


def with_results(kernel: Kernel, ids: Collection[str]) -> tuple[Kernel, Mapping[str, str]]:
    """Return the kernel with temporaries for results of reductions, and what is made for what.

    Parameters:
        kernel: with types.
        ids: of the instructions whose outermost reductions these are.
    """
    maker = _Results(kernel)
    instructions = [new for i in kernel.instructions for new in maker.made(i, chosen=i.id in ids)]
    new = kernel.copy(
        instructions=tuple(instructions), temporaries=(*kernel.temporaries, *maker.temporaries)
    )
    return with_lane_axes(new), maker.origins


class _Results:
    """Makes instructions that compute reductions alone.

    Attributes:
        temporaries: what these write.
        origins: the instruction that each was made for.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._names = kernel, set[str]()
        self._kinds = dict(kinds(kernel))
        self.temporaries: list[TemporaryVariable] = []
        self.origins: dict[str, str] = {}

    def made(self, insn: Instruction, *, chosen: bool) -> tuple[Instruction, ...]:
        """Return what an instruction becomes; itself if it is not among those that are chosen."""
        if not chosen:
            return (insn,)
        found = Outermost(self._results)
        use = insn.map_expressions(found.replace)
        always = tuple([p for p in insn.predicates if not walk.reductions(p)])
        computed: list[Instruction] = []
        for (reduction, conditions), results in found.accumulators.items():
            several = [ex.Component(reduction, at) for at in range(len(results))]
            insn_id = self._name(f"{insn.id}_result")
            self.origins[insn_id] = insn.id
            computed.append(
                assigning(
                    insn_id,
                    results,
                    several if len(results) > 1 else (reduction,),
                    within_inames=insn.within_inames,
                    depends_on=insn.depends_on,
                    predicates=(*always, *conditions),
                    location=insn.location,
                )
            )
        # Where those do not hold, there are no results to ask for.
        predicates = sorted(use.predicates, key=lambda p: p not in always)
        before = insn.depends_on.union(i.id for i in computed)
        return *computed, use.copy(depends_on=before, predicates=tuple(predicates))

    def _results(self, reduction: ex.Reduction) -> tuple[ex.Variable, ...]:
        found: list[ex.Variable] = []
        for dtype in reduction_types(reduction, self._kinds):
            name = self._name("result_" + "_".join(reduction.inames))
            self.temporaries.append(TemporaryVariable(name, dtype))
            self._kinds[name] = dtype
            found.append(ex.Variable(name))
        return tuple(found)

    def _name(self, like: str) -> str:
        name = self._kernel.new_name(like, self._names)
        self._names.add(name)
        return name
