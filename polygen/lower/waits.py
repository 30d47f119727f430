"""Finds the work items that have to wait for each other between two statements.

Two statements conflict if they touch one element of shared memory, one of them writing, in
different work items.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.domains import all_reads, domain_of, with_surrounding
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import at_other_index, plain_first, same_copy
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.loop_tree import TreeNode, assignments
from polygen.analysis.order.shuffled_arrays import shuffles_of
from polygen.analysis.pairs.constant_distances import distances, subscripts
from polygen.analysis.pairs.indirect_accesses import may_be_equal
from polygen.analysis.pairs.instance_pairs import equal, greater, in_conflict, less, renamed
from polygen.errors import InternalError, WaitNeeded
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.claims import Independent
from polygen.ir.domain import flat_names, intersection, project_out, unflatten, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning, Barrier
from polygen.ir.kernel import Kernel
from polygen.ir.reached import reached
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag, is_on_axis
from polygen.ir.verify import excerpt
from polygen.lower.bounds import loop_bounds
from polygen.lower.owners import Owners

_ON_GRID = (GroupTag, LocalTag)
OVERLAP = "*"  # stands for all array arguments, where some may overlap others


class Scope(enum.IntEnum):
    """The scope of a barrier: which work items wait for each other."""

    NOBODY = 0
    GROUP = 1
    EVERYONE = 2


def exchanged(kernel: Kernel, nodes: Sequence[TreeNode]) -> frozenset[AddressSpace]:
    """Return in which memory work items of a group may exchange values within a launch.

    Parameters:
        kernel: the kernel.
        nodes: what the launch executes.
    """
    local = frozenset((AddressSpace.LOCAL,))
    conflicts, insns = Conflicts(kernel), list(assignments(nodes))
    written = {name for insn in insns for name in insn.written_names}
    for name in sorted(written | {OVERLAP}):
        users = [insn for insn in insns if name in conflicts.shared(insn.id)]
        if users and (name == OVERLAP or kernel.address_space(name) is AddressSpace.GLOBAL):
            for first, second in product(users, users):
                if conflicts.waits(name, first, second):
                    return local | {AddressSpace.GLOBAL}
    return local


def _meet(pairs: isl.Set, differ: isl.Set) -> bool:
    """Tell whether two sets have something in common: piece by piece, as the first may do."""
    pieces = (piece.to_set() for piece in differ.get_basic_sets())
    return any(not intersection(pairs, piece).is_empty() for piece in pieces)


def _sides(kernel: Kernel) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield what comes before each barrier for everyone, and what after it: in other launches."""
    insns = kernel.instructions
    barriers = [i.id for i in insns if isinstance(i, Barrier) and i.scope is AddressSpace.GLOBAL]
    if not barriers:
        return
    needed = {insn.id: insn.depends_on for insn in insns}
    needing: dict[str, set[str]] = {name: set() for name in needed}
    for name, earlier in needed.items():
        for one in earlier:
            needing[one].add(name)
    for name in barriers:
        yield reached(name, needed), reached(name, needing)


class Conflicts:
    """The conflicts between instances of instructions that need a wait, and its scope."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._axes = sorted({t for t in kernel.tags.values() if isinstance(t, _ON_GRID)}, key=str)
        private = AddressSpace.PRIVATE
        shared = {n for n in kernel.writers if kernel.address_space(n) is not private}
        shared -= shuffles_of(kernel).names  # nobody waits for registers
        self._arguments = {a.name: a for a in kernel.arguments if isinstance(a, GlobalArg)}
        aliasing = any(a.may_alias for a in self._arguments.values())
        self._found: dict[tuple[str, str, str, tuple[str, ...], str | None], Scope] = {}
        self.owners = Owners(kernel, self._axes)
        self._grid_wide = any(isinstance(tag, GroupTag) for tag in self._axes)
        # Who asked not to wait is to be told of each conflict.
        self._asked = any(insn.no_sync_with for insn in kernel.instructions)
        self._sides = list(_sides(kernel))
        self._axes_of_launches: dict[frozenset[str], list[HardwareTag]] = {NO_NAMES: self._axes}
        tags = kernel.tags.items()
        axes = {i: (type(t), t.axis) for i, t in tags if isinstance(t, _ON_GRID)}
        self._inames = {  # the iname of an instruction on an axis
            (insn.id, *axes[i]): i
            for insn in kernel.assignments
            for i in insn.within_inames
            if i in axes
        }
        self._shared: dict[str, frozenset[str]] = {}
        for insn in kernel.assignments:
            touched = all_reads(kernel, insn).union(insn.written_names)
            # Arrays that may overlap others are touched under one name, too.
            meets = aliasing and not touched.isdisjoint(self._arguments)
            overlap = frozenset((OVERLAP,) if meets else ())
            self._shared[insn.id] = frozenset(shared & touched | overlap)

    def shared(self, insn_id: str) -> frozenset[str]:
        """Return what an instruction touches of what work items share."""
        return self._shared[insn_id]

    def waits(self, name: str, first: Assigning, second: Assigning) -> bool:
        """Tell whether other work items touch an element that one has touched, one writing it."""
        return self.between(name, first, second, (), None) is not Scope.NOBODY

    def meet(
        self,
        name: str,
        first: Assigning,
        second: Assigning,
        loops: tuple[str, ...],
        carried: str | None,
    ) -> bool:
        """Tell whether instances touch one element, one writing it, in whichever work items.

        Which instances, `between` says.
        """
        return any(
            in_conflict(self._kernel, a, b)
            and self._may_meet(a.name, b.name)
            and not self._in_one_group(a, b, self._pairs(a, b, loops, carried)).is_empty()
            for a in self._accesses(first, name)
            for b in self._accesses(second, name)
        )

    def _in_one_group(self, a: Access, b: Access, pairs: isl.Set) -> isl.Set:
        """Return those pairs of instances in one group, where each group has what they touch."""
        if not self.is_local(a.name):
            return pairs
        tags = self._kernel.tags
        shared = [i for i in a.inames if i in b.inames and isinstance(tags.get(i), GroupTag)]
        return reduce(isl.Set.intersect, map(equal, shared), pairs)

    def is_local(self, name: str) -> bool:
        """Tell whether a variable is in the local memory of a group."""
        return self._kernel.address_space(name) is AddressSpace.LOCAL

    def is_decided(self, name: str, waiting: Scope) -> bool:
        """Tell whether nobody has to wait for a variable beyond those who wait anyway."""
        return waiting >= self._most(name) and not (self._asked and waiting < Scope.EVERYONE)

    def _most(self, name: str) -> Scope:
        """Return who has to wait at most for a variable."""
        own = name != OVERLAP and self.is_local(name)  # each group has one
        return Scope.GROUP if own or not self._grid_wide else Scope.EVERYONE

    def between(
        self,
        name: str,
        first: Assigning,
        second: Assigning,
        loops: tuple[str, ...],
        carried: str | None,
    ) -> Scope:
        """Return who has to wait between an instance of `first` and a later one of `second`.

        Both are in the same iteration of `loops`; `second` is in a later one of `carried`.
        """
        key = (name, first.id, second.id, loops, carried)
        owners = self.owners.of(first.id, name) & self.owners.of(second.id, name)
        if owners and self.owners.are_enough(owners):
            return Scope.NOBODY
        if key not in self._found:
            found = self._found_conflicts(name, first, second, loops, carried)
            self._found[key] = max(found, default=Scope.NOBODY)
        return self._found[key]

    def _found_conflicts(
        self,
        name: str,
        first: Assigning,
        second: Assigning,
        loops: tuple[str, ...],
        carried: str | None,
    ) -> Iterator[Scope]:
        for a in self._accesses(first, name):
            for b in self._accesses(second, name):
                if in_conflict(self._kernel, a, b) and self._may_meet(a.name, b.name):
                    scope = self._overlap((first, a), (second, b), loops, carried)
                    if scope is not Scope.NOBODY:
                        self._check_asked(a, b)
                    yield scope
                    if scope is self._most(name):
                        return  # there is no more to wait for

    def _check_asked(self, a: Access, b: Access) -> None:
        """Refuse it if somebody said that no work item has to wait between these."""
        space = self._kernel.address_space(a.name).value
        for one, other in ((a, b), (b, a)):
            for insn_id, scope in self._kernel.instruction(one.insn_id).no_sync_with:
                if insn_id == other.insn_id and scope in ("any", space):
                    raise WaitNeeded(
                        f"'{one.insn_id}' says that it need not wait for '{insn_id}', but in "
                        f"different work items both touch one element of '{a.name}'"
                        + ("" if a.exact and b.exact else ", unless data says otherwise"),
                        where=self._kernel.instruction(one.insn_id).location,
                        excerpt=excerpt(self._kernel, one.insn_id, insn_id),
                        remedy="leave out nosync=; if data keeps them apart, say so: "
                        "assume_independent",
                    )

    def _accesses(self, insn: Assigning, name: str) -> Iterator[Access]:
        names = self._arguments.keys() if name == OVERLAP else (name,)
        found = touched(self._kernel, insn.id)
        return (a for n in names for a in found.get(n, ()))

    def _may_meet(self, name: str, other: str) -> bool:
        """Tell whether an element of one variable may be an element of another."""
        return name == other or any(self._arguments[n].may_alias for n in (name, other))

    def _overlap(
        self,
        first: tuple[Assigning, Access],
        second: tuple[Assigning, Access],
        loops: tuple[str, ...],
        carried: str | None,
    ) -> Scope:
        (insn, a), (other_insn, b) = first, second
        axes = self._axes_between((insn, other_insn), a, b)
        if not axes or all(self._have_one_owner(tag, insn, other_insn) for tag in axes):
            return Scope.NOBODY
        if not (a.exact and b.exact) and any(
            isinstance(claim, Independent) and claim.is_about(insn.id, other_insn.id)
            for claim in self._kernel.claims
        ):
            return Scope.NOBODY
        pairs = self._pairs(a, b, loops, carried)
        if self.is_local(a.name) and a.is_write and b.is_write and insn is not other_insn:
            # Parts of one copy, perhaps: which elements each writes, the group decides.
            copy = same_copy(self._kernel, (insn.id, other_insn.id), a.name, UNMOVED)
            pairs = pairs.intersect(copy.possible)
        for tag in axes:
            differ = self._in_other_items(tag, (insn, other_insn), loops)
            meet = not pairs.is_empty() if differ is None else _meet(pairs, differ)
            if meet:
                # group axes come first: "g.0" < "l.0"
                return Scope.EVERYONE if isinstance(tag, GroupTag) else Scope.GROUP
        return Scope.NOBODY

    def _axes_between(
        self, insns: tuple[Assigning, Assigning], a: Access, b: Access
    ) -> list[HardwareTag]:
        """Return the axes on which instances that touch one element may have other indices."""
        apart: Mapping[str, int] | None = {}
        if a.name == b.name:
            apart = distances(self._kernel, a, b)
        if apart is None:
            return []
        found: list[HardwareTag] = []
        for tag in self._axes_with(insns):
            if isinstance(tag, GroupTag) and self.is_local(a.name):
                continue  # each group has its own
            first, second = (self._on_axis(insn, tag) for insn in insns)
            if first is not None and first == second and apart.get(first) == 0:
                continue
            if a.name == b.name and self._is_plainly_same(first, second, a, b):
                continue
            found.append(tag)
        return found

    def _is_plainly_same(self, here: str | None, there: str | None, a: Access, b: Access) -> bool:
        """Tell whether subscripts show that who touches one element has one index on an axis.

        The inames of the two are different ones, each in a subscript of its own.
        """
        if here is None or there is None or here == there:
            return False
        firsts = [plain_first(self._kernel, iname) for iname in (here, there)]
        if firsts[0] is None or firsts[1] is None:
            return False
        return any(
            left is not None
            and right is not None
            and left.terms == {here: 1}
            and right.terms == {there: 1}
            and right.constant - left.constant == firsts[0] - firsts[1]
            for left, right in zip(
                subscripts(self._kernel, a), subscripts(self._kernel, b), strict=False
            )
        )

    def _axes_with(self, insns: Sequence[Assigning]) -> list[HardwareTag]:
        """Return the axes of launches that have these instructions; all, if none has them."""
        ids = {insn.id for insn in insns}
        apart = [after for before, after in self._sides if not ids.isdisjoint(before)]
        apart += [before for before, after in self._sides if not ids.isdisjoint(after)]
        elsewhere = NO_NAMES.union(*apart)
        elsewhere = elsewhere if ids.isdisjoint(elsewhere) else NO_NAMES  # no launch has both
        if elsewhere not in self._axes_of_launches:
            others = (i for i in self._kernel.assignments if i.id not in elsewhere)
            inames = NO_NAMES.union(*(insn.within_inames for insn in others))
            tags = {self._kernel.tags.get(iname) for iname in inames}
            self._axes_of_launches[elsewhere] = [tag for tag in self._axes if tag in tags]
        return self._axes_of_launches[elsewhere]

    def _have_one_owner(self, tag: HardwareTag, *insns: Assigning) -> bool:
        """Tell whether the first work item along an axis alone executes two instructions."""
        return all(
            self._on_axis(insn, tag) is None and self._has_owner(insn, tag) for insn in insns
        )

    def _on_axis(self, insn: Assigning, tag: HardwareTag) -> str | None:
        return self._inames.get((insn.id, type(tag), tag.axis))

    def _pairs(self, a: Access, b: Access, loops: tuple[str, ...], carried: str | None) -> isl.Set:
        """Return the pairs of instances that may touch one element, as `_conflict` says."""
        inames = self._kernel.home_domains
        free = [n for n in flat_names(b.relation) if n in inames and n not in loops]
        second_relation = renamed(b.relation, free)
        if a.name == b.name:
            pairs = intersection(a.relation, second_relation).params()
        else:
            pairs = intersection(a.relation.params(), second_relation.params())
        if carried is not None:
            pairs = intersection(pairs, less(carried))
        if self._kernel.derived_sizes and not (a.exact and b.exact):
            pairs = intersection(pairs, self._meeting(a, b, loops))
        return pairs

    def _meeting(self, a: Access, b: Access, loops: tuple[str, ...]) -> isl.Set:
        """Return pairs outside of which subscripts differ that have quotients, or products.

        Both are in the same iteration of `loops`.
        """
        if a.reference is None or b.reference is None or a.name != b.name:
            return universe()
        pairs = may_be_equal(self._kernel, a.reference, b.reference)
        pairs = pairs.intersect(known_parameters(self._kernel))
        pairs = reduce(isl.Set.intersect, map(equal, loops), pairs)
        return project_out(pairs, [iname + OTHER for iname in loops])

    def _in_other_items(
        self, tag: HardwareTag, insns: tuple[Assigning, Assigning], loops: tuple[str, ...]
    ) -> isl.Set | None:
        """Return when the two instances have other indices on an axis; None: whenever."""
        first, second = (self._on_axis(insn, tag) for insn in insns)
        if first is second is None and all(self._has_owner(insn, tag) for insn in insns):
            return universe().complement()
        if first is None and second is not None and self._has_owner(insns[0], tag):
            return renamed(self._elsewhere(second), (second,))
        if second is None and first is not None and self._has_owner(insns[1], tag):
            return self._elsewhere(first)
        if first is None or second is None or first in loops:
            return None  # an instance may be executed by any item
        if first != second:
            return at_other_index(self._kernel, first, second)
        return less(first).union(greater(first))

    def _elsewhere(self, iname: str) -> isl.Set:
        """Return the values of an iname on an axis for which it is not the first item's."""
        around = with_surrounding(self._kernel, (iname,))
        if not all(is_on_axis(self._kernel.tags.get(i)) for i in around):
            return universe()  # where the axis begins, loops around the launch may decide
        values = domain_of(self._kernel, around)
        alone = project_out(values, [name for name in flat_names(values) if name != iname])
        least = unflatten(alone, (iname,)).dim_min_val(0)
        # An axis may begin before the first value there is.
        taken = project_out(values, sorted(around - {iname}))
        known = self._kernel.assumptions.flat
        begins = loop_bounds(iname, taken, known, constant_first=True).lower
        if not least.is_int() or begins != least.to_python():
            return universe()
        beyond = condition_set(ex.Comparison(ex.Variable(iname), ">", least.to_python()))
        if beyond is None:
            raise InternalError(f"'{iname}' is affine, and isl has no set for it")
        return beyond

    def _has_owner(self, insn: Assigning, tag: HardwareTag) -> bool:
        """Tell whether one work item alone executes what lacks an iname on this axis."""
        spaces = [self._kernel.address_space(name) for name in insn.written_names]
        return all(
            space is AddressSpace.GLOBAL
            or (space is AddressSpace.LOCAL and isinstance(tag, LocalTag))
            for space in spaces
        )
