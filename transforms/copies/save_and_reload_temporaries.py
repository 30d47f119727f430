"""`polygen.save_and_reload_temporaries`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import with_surrounding
from polygen.analysis.access.hardware_indices import axis_count, largest
from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import unwritten
from polygen.errors import NotSavable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import constant_axes
from polygen.ir.library_call import LibraryCall
from polygen.ir.tags import AutoLocalTag, GroupTag, InameTag, LocalTag, UnrollTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import transformation
from polygen.transforms.arrays.array_rewriting import check_no_verbatim, without_rules_about
from polygen.transforms.copies._launch_ends import (
    LaunchPart,
    lost_temporaries,
    users_in,
    with_boundaries,
)
from polygen.transforms.copies._saved_elements import domain_over, saved_number, written_elements


@transformation
def save_and_reload_temporaries(kernel: Kernel) -> Kernel:
    """Save temporaries that are needed in several launches in global memory, and reload them.

    Private and local memory lives no longer than a launch.  What one leaves there for another is
    written to a global temporary, ``<name>_save``, with an element for each work item (or group,
    for what is local), at the end of the launch that computes it, and read again at the beginning
    of the one that needs it.  Where launches end is said by barriers from then on.

    A kernel in which nothing is lost stays as it is.

    Kind: order and storage.

    Requires:
        1. The temporaries are no bounds of loops, and instructions that read them have all axes on
           which those are that write them.
        2. The first value on each of these axes is affine in the parameters.
        3. Verbatim C does not touch them: its text names them.
        4. No call of a library needs them: nothing is reloaded there.
        5. What may have been written in a launch is written there, or was before.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }",
        ...     ["<> twice = 2*a[i]  {id=twice}", "b[i] = twice  {id=b}", "c[i] = b[i//2] + twice"],
        ...     name="halves",
        ... )
        >>> knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "g.0"})
        >>> knl = pg.save_and_reload_temporaries(knl)
        >>> print(pg.generate_code(knl, "opencl"))
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        halves_0(
            __global float const *restrict a,
            __global float *restrict b,
            __global float *restrict twice_save)
        {
            int const i = get_group_id(0);
        <BLANKLINE>
            float const twice = 2.0f * a[i];
            b[i] = twice;
            twice_save[i] = twice;
        }
        <BLANKLINE>
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        halves_1(
            __global float const *restrict b,
            __global float *restrict c,
            __global float const *restrict twice_save)
        {
            int const i = get_group_id(0);
        <BLANKLINE>
            float const twice_1 = twice_save[i];
            c[i] = b[i / 2] + twice_1;
        }

    Raises:
        NotSavable: if 1, 2 or 4 does not hold.
        VerbatimNotPossible: if 3 does not hold.
        UninitializedRead, NewObligation: if 5 does not hold.

    Source: Loo.py's transformation of this name.
    """
    names = lost_temporaries(kernel)
    if not names:
        return kernel
    check_no_verbatim(kernel, names)
    new, launches = with_boundaries(without_rules_about(kernel, names))
    for name in names:
        new = _Keeper(new, name, launches).kernel()
    return new


@dataclass(frozen=True)
class _Home:
    """A launch in which a temporary is used.

    Attributes:
        part: the launch.
        at: how many such launches come before.
        name: what the temporary is called in it.
        users: the ids of the instructions that touch it.
        writers: those of them that write it.
    """

    part: LaunchPart
    at: int
    name: str
    users: frozenset[str]
    writers: frozenset[str]

    def is_before(self, other: _Home) -> bool:
        """Tell whether an iteration of this launch comes before one of another."""
        return self.at < other.at or not self.part.outer.isdisjoint(other.part.outer)


@dataclass(frozen=True)
class _Copy:
    """An instruction that saves, or reloads, what a launch has of a temporary.

    Attributes:
        home: the launch.
        saves: whether it saves.
        insn: the instruction.
        on_axes: the inames on axes of the hardware that tell copies apart.
        own: those along the axes of the temporary.
    """

    home: _Home
    saves: bool
    insn: Assignment
    on_axes: tuple[str, ...]
    own: tuple[str, ...]


class _Keeper:
    """Saves one temporary, and reloads it."""

    def __init__(self, kernel: Kernel, name: str, launches: Sequence[LaunchPart]) -> None:
        variable = kernel.variable(name)
        assert isinstance(variable, TemporaryVariable)
        self._variable = variable
        self._saved = kernel.new_name(f"{name}_save")
        self._taken = {self._saved}
        local = kernel.address_space(name) is AddressSpace.LOCAL
        self._indexed_by = (GroupTag,) if local else (GroupTag, LocalTag)
        self._element_tag = AutoLocalTag() if local else None
        self._before = kernel.expanded
        self._homes = list(self._found_homes(kernel, launches))
        self._kernel = self._renamed(kernel)
        written = [tag for home in self._homes for i in home.writers for tag in self._axes(i)]
        self._tags = sorted(dict.fromkeys(written), key=str, reverse=True)

    def kernel(self) -> Kernel:
        """Return the kernel in which each launch has a temporary of its own."""
        _check_bounds(self._kernel, self._variable.name)
        writing = [home for home in self._homes if home.writers]
        exposed = {home for home in self._homes if _is_exposed(self._kernel, home, home.users)}
        if not exposed:
            return self._kernel
        taken = set(self._taken)
        all_saved = self._with([c for home in writing for c in self._copies(home, saves=True)])
        self._taken = taken
        partly = {h for h in writing if _is_exposed(all_saved, h, _ids(all_saved) - h.users)}
        saving: set[_Home] = set()
        while more := {h for h in writing if any(map(h.is_before, exposed))} - saving:
            saving |= more
            exposed |= more & partly
        copies = [c for h in self._homes if h in exposed for c in self._copies(h, saves=False)]
        copies += [c for h in self._homes if h in saving for c in self._copies(h, saves=True)]
        return self._with(copies)

    # --- launches

    def _found_homes(self, kernel: Kernel, launches: Sequence[LaunchPart]) -> Iterator[_Home]:
        name = self._variable.name
        homes = [(part, used) for part in launches if (used := users_in(kernel, name, part))]
        for at, (part, used) in enumerate(homes):
            _check_no_library(kernel, name, used)
            own = name if at == 0 else kernel.new_name(f"{name}_{at}", self._taken)
            self._taken.add(own)
            writers = [i.id for i in used if name in i.written_names]
            ids = frozenset([i.id for i in used])
            yield _Home(part, at, own, ids, frozenset(writers))

    def _renamed(self, kernel: Kernel) -> Kernel:
        name = self._variable.name
        own = {i: ex.Variable(home.name) for home in self._homes for i in home.users}

        def renamed(insn: Instruction) -> Instruction:
            if insn.id not in own:
                return insn
            return insn.map_expressions(lambda e: walk.substitute(e, {name: own[insn.id]}))

        more = [replace(self._variable, name=home.name) for home in self._homes[1:]]
        return kernel.copy(
            instructions=tuple([renamed(insn) for insn in kernel.instructions]),
            temporaries=(*kernel.temporaries, *more),
        )

    def _axes(self, insn_id: str) -> dict[InameTag, str]:
        """Return the inames of an instruction that tell copies of the temporary apart."""
        kernel = self._kernel
        inames = sorted(kernel.instruction(insn_id).within_inames)
        tags = [(kernel.tags.get(i), i) for i in inames]
        return {tag: i for tag, i in tags if isinstance(tag, self._indexed_by)}

    # --- copies

    def _copies(self, home: _Home, *, saves: bool) -> Iterator[_Copy]:
        """Yield what saves, or reloads, for each choice of inames on the axes."""
        ids = home.writers if saves else home.users
        for inames in dict.fromkeys([self._on_axes(i) for i in sorted(ids)]):
            yield self._copy(home, inames, saves=saves)

    def _on_axes(self, insn_id: str) -> tuple[str, ...]:
        """Return the iname of an instruction on each axis.

        Raises:
            NotSavable: if it lacks one.
        """
        axes = self._axes(insn_id)
        if missing := [tag for tag in self._tags if tag not in axes]:
            raise _refused(
                self._kernel,
                f"'{insn_id}' uses '{self._variable.name}', and is on no axis {missing[0]}, where "
                "there is a copy for each",
                insn_id,
                remedy=f"store it in a global temporary, with an axis for what is on {missing[0]}",
            )
        return tuple([axes[tag] for tag in self._tags])

    def _copy(self, home: _Home, inames: tuple[str, ...], *, saves: bool) -> _Copy:
        axes = range(len(self._variable.shape))
        own = [self._kernel.new_name(f"{home.name}_dim_{k}", self._taken) for k in axes]
        insn_id = f"{'save' if saves else 'reload'}_{self._variable.name}"
        insn_id = self._kernel.new_name(insn_id, self._taken)
        self._taken |= {insn_id, *own}
        within = home.part.outer.union(inames)
        _check_nest(self._kernel, self._variable.name, within)
        numbers = [saved_number(self._kernel, iname) for iname in inames]
        here = ex.element(ex.Variable(home.name), tuple(map(ex.Variable, own)))
        there = ex.element(ex.Variable(self._saved), self._ordered(numbers, map(ex.Variable, own)))
        ends = home.writers if saves else {home.part.start}
        insn = Assignment(
            id=insn_id,
            assignee=there if saves else here,
            expression=here if saves else there,
            within_inames=within.union(own),
            depends_on=frozenset([e for e in ends if e is not None]),
            predicates=tuple([p for p in self._shared if self._holds_in(p, within)]),
            location=caller_location(),
        )
        return _Copy(home, saves, insn, inames, tuple(own))

    @cached_property
    def _shared(self) -> tuple[Expression, ...]:
        """The conditions under which the temporary is used wherever it is used."""
        kernel = self._kernel
        every = [kernel.instruction(i).predicates for home in self._homes for i in home.users]
        return tuple([p for p in every[0] if all(p in others for others in every)])

    def _holds_in(self, predicate: Expression, within: frozenset[str]) -> bool:
        """Tell whether a condition says the same in a copy as where the temporary is used."""
        kernel = self._kernel
        return all(
            name in within or name in kernel.parameters or is_never_written(kernel, name)
            for name in walk.free_variables(predicate)
        )

    def _ordered(
        self, numbers: Sequence[Expression], own: Iterable[Expression]
    ) -> tuple[Expression, ...]:
        """Return what there is for each axis in the order of the saved array's.

        Work items of one group are neighbours in memory.
        """
        pairs = list(zip(self._tags, numbers, strict=True))
        outside = [number for tag, number in pairs if isinstance(tag, GroupTag)]
        inside = [number for tag, number in pairs if not isinstance(tag, GroupTag)]
        return *outside, *own, *inside

    # --- the kernel with them

    def _with(self, copies: Sequence[_Copy]) -> Kernel:
        """Return the kernel with copies, and with what has to come before and after them."""
        kernel, after = self._kernel, dict[str, set[str]]()
        for copy in copies:
            home, new = copy.home, {copy.insn.id}
            waiting = {home.part.end} if copy.saves else home.users
            if not copy.saves:
                earlier = {c.insn.id for c in copies if c.saves and c.home.at < home.at}
                after.setdefault(copy.insn.id, set()).update(earlier)
            for insn_id in waiting - {None}:
                after.setdefault(str(insn_id), set()).update(new)
        instructions = [
            i.copy(depends_on=i.depends_on.union(after.get(i.id, ())))
            for i in (*kernel.instructions, *(copy.insn for copy in copies))
        ]
        domains = [d for copy in copies for d in self._domain(copy)]
        own = [copy.own for copy in copies if len(copy.own) > 1 and self._element_tag is None]
        return kernel.copy(
            instructions=tuple(instructions),
            domains=(*kernel.domains, *domains),
            temporaries=(*kernel.temporaries, self._declared(copies)),
            tags={**kernel.tags, **self._element_tags(copies)},
            priorities=(*kernel.priorities, *own),
        )

    def _domain(self, copy: _Copy) -> tuple[Domain, ...]:
        elements = written_elements(self._before, self._variable.name, copy.on_axes)
        return domain_over(elements, copy.own)

    def _element_tags(self, copies: Sequence[_Copy]) -> dict[str, InameTag]:
        constant = constant_axes(self._variable)
        found: dict[str, InameTag] = {}
        for iname, axis in [(i, axis) for copy in copies for axis, i in enumerate(copy.own)]:
            if axis in constant:
                found[iname] = UnrollTag()
            elif self._element_tag is not None:
                found[iname] = self._element_tag
        return found

    def _declared(self, copies: Sequence[_Copy]) -> TemporaryVariable:
        """Return the array in which all that is saved has a place."""
        saved = [copy.on_axes for copy in copies if copy.saves]
        counts = [
            largest([axis_count(self._kernel, inames[position]) for inames in saved])
            for position in range(len(self._tags))
        ]
        shape = self._ordered(counts, self._variable.shape)
        return TemporaryVariable(self._saved, self._variable.dtype, shape, AddressSpace.GLOBAL)


# --- what is looked at


def _ids(kernel: Kernel) -> frozenset[str]:
    return frozenset(kernel.instructions_by_id)


def _is_exposed(kernel: Kernel, home: _Home, readers: frozenset[str]) -> bool:
    """Tell whether instructions may read what another launch has written, or left as it was."""
    plain = kernel.expanded
    parts = parts_of_calls(kernel)
    ids = {part for i in readers for part in parts.get(i, (i,))}
    return any(
        not access.is_write and not unwritten(plain, access, home.part.outer).is_empty()
        for insn_id in users(plain, home.name)
        if insn_id in ids
        for access in touched(plain, insn_id)[home.name]
    )


def _check_no_library(kernel: Kernel, name: str, users: Iterable[Instruction]) -> None:
    for insn in users:
        if isinstance(insn, LibraryCall):
            raise _refused(
                kernel,
                f"'{insn.id}', a call of a library, needs '{name}', and nothing is reloaded in "
                "such a call",
                insn.id,
                remedy=f"store '{name}' in a global temporary: declare it with "
                "address_space=AddressSpace.AUTO",
            )


def _check_bounds(kernel: Kernel, name: str) -> None:
    for domain in kernel.domains:
        if name in domain.parameters:
            raise _refused(
                kernel,
                f"'{name}' is a bound in {domain}, for loops in several launches",
                remedy="compute it again in each launch",
            )


def _check_nest(kernel: Kernel, name: str, within: frozenset[str]) -> None:
    if missing := sorted(with_surrounding(kernel, within) - within):
        raise _refused(
            kernel,
            f"'{name}' would be saved outside of the loop of '{missing[0]}', which bounds of "
            f"{', '.join(sorted(within))} need",
            remedy=f"let axes of the hardware not depend on '{missing[0]}'",
        )


def _refused(kernel: Kernel, what: str, *insns: str, remedy: str) -> NotSavable:
    return NotSavable(
        what,
        where=caller_location(),
        excerpt=excerpt(kernel, *insns) if insns else None,
        remedy=remedy,
    )
