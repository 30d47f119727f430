"""Values that the end of a launch would lose: computed again, or kept in global memory.

for t:                                          for t:
    s = sum(j, x[j])                ->              launch:  acc_j = 0
    for i (on g.0):                                          for j: acc_j = acc_j + x[j]
        x[i] = x[i]/s                                        s = acc_j
                                                    launch:  x[i] = x[i]/s

Private and local memory lasts as long as a launch.  Where a launch ends between a write of a
temporary that is declared ``auto`` and its read, `s` above, the temporary is global.  Where copies
of work items differ, it has an axis for each axis of the hardware.  A scalar that conditions ask
for is computed again instead, if what it reads is the same still.

An accumulator is nobody's declaration.  Its start, its updates and its use stay in one launch, if
the result can be kept in their place; else it is made a temporary, and kept as any other.

Each attempt is a kernel, which is taken if it is as well formed as the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, assignments, loop_tree
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.wellformed.check import obligations
from polygen.errors import (
    DependencyCycle,
    NestingDecides,
    NoLoopNest,
    OutOfBounds,
    ProofLimit,
    UninitializedRead,
    UnorderedAccess,
)
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Barrier, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import GroupTag
from polygen.lower.barriers import place_barriers
from polygen.lower.kept_values import (
    is_asked,
    is_constant,
    with_one_for_all,
    with_one_for_each,
    with_results,
    with_saved_value,
    with_values_again,
)
from polygen.lower.lanes import with_lane_axes
from polygen.lower.launches import has_global_barrier, host_loops, host_parts
from polygen.lower.lifetimes import carries
from polygen.lower.reductions import realized_with_origins
from polygen.proof import is_proved
from polygen.transforms.parallel_reductions.realize_reduction import realized

_GLOBAL = AddressSpace.GLOBAL


@dataclass(frozen=True)
class Kept:
    """A kernel in which no value is lost that can be kept.

    Attributes:
        kernel: the kernel.
        origins: of each instruction that was made, the one that it was made of.
    """

    kernel: Kernel
    origins: Mapping[str, str]


def with_values_kept(kernel: Kernel, names: frozenset[str]) -> Kept:
    """Return the kernel with values kept from one launch to the next.

    Parameters:
        kernel: with types, an axis for each iname on one, and an address space for each temporary.
        names: the temporaries that were declared ``auto``.
    """
    if not names and not _may_lose(kernel):
        return Kept(kernel, {})
    keeper = Keeper(kernel, names)
    while keeper.is_better():
        pass
    keeper.save_launches()
    return Kept(keeper.kernel, keeper.origins)


def _may_lose(kernel: Kernel) -> bool:
    """Tell whether a launch may end behind the start of an accumulator, or what a condition asks.

    That is, whether it is worth while to look for launches.
    """
    if not any(isinstance(tag, GroupTag) for tag in kernel.tags.values()):
        return False
    if not any(i.reduction_inames for i in kernel.instructions) and not any(
        is_asked(kernel, t.name) for t in kernel.temporaries if not t.shape
    ):
        return False
    if any(isinstance(insn, Barrier) for insn in kernel.instructions):
        return True
    if any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments):
        return True
    return any(
        kernel.address_space(name) is _GLOBAL
        and (len(users(kernel, name)) > 1 or name in kernel.instruction(writers[0].id).read_names)
        for name, writers in kernel.writers.items()
    )


# --- what is lost


@dataclass(frozen=True)
class _Launch:
    """The statements of a launch.

    Attributes:
        ids: the kernel's instructions, those with reductions by the parts that it executes.
        names: the variables that it touches.
        around: the inames of the loops on the host around it.
    """

    ids: frozenset[str]
    names: frozenset[str]
    around: frozenset[str]


@dataclass(frozen=True)
class _Standing:
    """The launches of a kernel, and what they lose.

    Attributes:
        launches: in the order in which they first begin.
        lost: the temporaries and accumulators that would have to live longer than a launch.
        made_for: the instruction that each accumulator is for.
    """

    launches: tuple[_Launch, ...]
    lost: tuple[str, ...]
    made_for: Mapping[str, str]


@per_kernel
def _standing(kernel: Kernel) -> _Standing:
    plain, made, tree = placed(kernel)
    if not any(map(has_global_barrier, tree)):
        return _Standing((), (), {})
    launches = tuple(_launches(plain, made, tree, NO_NAMES))
    lost: list[str] = []
    for temporary in plain.temporaries:
        name = temporary.name
        homes = [launch.around for launch in launches if name in launch.names]
        if temporary.read_only or plain.address_space(name) is _GLOBAL or not homes:
            continue
        if len(homes) > 1 or (homes[0] and carries(plain, name, homes[0])):
            lost.append(name)
    own = kernel.variables
    made_for = {n: made[plain.writers[n][0].id] for n in plain.writers if n not in own}
    return _Standing(launches, tuple(lost), made_for)


@per_kernel
def placed(kernel: Kernel) -> tuple[Kernel, Mapping[str, str], tuple[TreeNode, ...]]:
    """Return the kernel without reductions, what was made for whom, and its loops and barriers."""
    plain, made = realized_with_origins(kernel)
    tree = place_barriers(plain, loop_tree(plain, quiet=True))
    if waiting := host_loops(tree):
        plain, made = realized_with_origins(kernel, waiting)
        tree = place_barriers(plain, loop_tree(plain, quiet=True))
    return plain, made, tree


def _launches(
    plain: Kernel, made: Mapping[str, str], nodes: Sequence[TreeNode], around: frozenset[str]
) -> Iterator[_Launch]:
    for part in host_parts(nodes):
        if isinstance(part, LoopNode):
            yield from _launches(plain, made, part.children, around | {part.iname})
            continue
        insns = list(assignments(part))
        touched = (all_reads(plain, i).union(i.written_names) for i in insns)
        ids = frozenset([made.get(i.id, i.id) for i in insns])
        yield _Launch(ids, NO_NAMES.union(*touched), around)


# --- what can be done


@dataclass(frozen=True)
class Attempt:
    """A kernel in which less may be lost.

    Attributes:
        kernel: the kernel.
        origins: of each instruction that was made, the one that it was made of.
        settles: whether it may be taken although no less is lost: what it has in global memory is
            settled, and what is lost instead may be kept next.
    """

    kernel: Kernel
    origins: Mapping[str, str]
    settles: bool = False


class Keeper:
    """Keeps one value after the other.

    Attributes:
        kernel: the kernel as far as it has come.
        origins: of each instruction that was made, the one that it was made of.
    """

    def __init__(self, kernel: Kernel, names: frozenset[str]) -> None:
        self.kernel, self.origins = kernel, dict[str, str]()
        self._given = frozenset(kernel.variables)
        self._own = frozenset([n for n in names if kernel.address_space(n) is not _GLOBAL])
        self._auto = names

    def is_better(self) -> bool:
        """Tell whether there is something better, and take it."""
        standing = _standing(self.kernel)
        second: Attempt | None = None
        for attempt in self._attempts(standing) if standing.lost else ():
            if not _is_as_sound(attempt.kernel, self.kernel):
                continue
            if self._weight(attempt.kernel) < self._weight(self.kernel):
                self.take(attempt)
                return True
            if attempt.settles:
                second = second or attempt
        if second is not None:
            self.take(second)
        return second is not None

    def save_launches(self) -> None:
        """Let sums that need each other's results have these in private memory, in one launch."""
        for name in sorted(self._own):
            standing = _standing(self.kernel)
            if standing.lost or self.kernel.address_space(name) is not _GLOBAL:
                continue
            found = with_saved_value(self.kernel, name)
            if found is None or not _is_as_sound(found[0], self.kernel):
                continue
            new = _standing(found[0])
            if not new.lost and len(new.launches) < len(standing.launches):
                self.take(Attempt(*found))

    def take(self, attempt: Attempt) -> None:
        """Go on with a kernel."""
        self.kernel = attempt.kernel
        self.origins |= {n: self.origins.get(o, o) for n, o in attempt.origins.items()}

    def _weight(self, kernel: Kernel) -> tuple[int, int]:
        """Return how many values are lost: of what may not be kept, and of all."""
        lost = _standing(kernel).lost
        return len([name for name in lost if not self._may_be_kept(name)]), len(lost)

    def _may_be_kept(self, name: str) -> bool:
        return name in self._auto or (name not in self._given and name in self.kernel.variables)

    def _attempts(self, standing: _Standing) -> Iterator[Attempt]:
        """Yield kernels in which less may be lost, what costs least first."""
        kernel = self.kernel
        for_whom = {standing.made_for[n] for n in standing.lost if n in standing.made_for}
        results = self._results(for_whom, standing.lost)
        lost = [n for n in standing.lost if self._is_open(n)]
        if results:
            yield Attempt(with_one_for_all(kernel, results), {}, settles=True)
        yield from self._computed_again(standing)
        if lost:
            yield Attempt(with_one_for_all(kernel, lost), {}, settles=True)
        for name in dict.fromkeys((*results, *lost)):
            yield Attempt(with_one_for_all(kernel, (name,)), {}, settles=True)
            for_each = with_one_for_each(kernel, name)
            if for_each is not None:
                yield Attempt(for_each, {}, settles=True)
        yield from self._without_accumulators(for_whom)

    def _results(self, ids: Iterable[str], lost: Iterable[str]) -> tuple[str, ...]:
        """Return the temporaries that may be in global memory, and depend on what may not.

        Parameters:
            ids: of instructions of whose reductions an accumulator is lost.
            lost: what is lost.
        """
        kernel, found = self.kernel, set[str]()
        pending = {name for name in lost if name in kernel.variables and not self._is_open(name)}
        pending.update(*(kernel.instruction(i).written_names for i in ids))
        closed: set[str] = set()
        while pending:
            name = pending.pop()
            if self._is_open(name):
                found.add(name)
            elif name not in closed and kernel.address_space(name) is not _GLOBAL:
                closed.add(name)
                pending.update(*(kernel.instruction(i).written_names for i in users(kernel, name)))
        return tuple([name for name in kernel.variables if name in found])

    def _is_open(self, name: str) -> bool:
        """Tell whether a temporary may be in global memory, and is not."""
        return self._may_be_kept(name) and self.kernel.address_space(name) is not _GLOBAL

    def _computed_again(self, standing: _Standing) -> Iterator[Attempt]:
        """Yield kernels in which a scalar that conditions ask for is computed in each launch."""
        kernel = self.kernel
        if any(isinstance(insn, KernelCall) for insn in kernel.instructions):
            return
        for name in standing.lost:
            if name not in kernel.variables or not is_asked(kernel, name):
                continue
            readers = _readers_elsewhere(kernel, name, standing.launches)
            found = with_values_again(kernel, name, readers) if readers else None
            if found is not None and _is_same(kernel, found[0], name):
                yield Attempt(*found)

    def _without_accumulators(self, ids: Collection[str]) -> Iterator[Attempt]:
        """Yield kernels in which what reductions result in, or add to, is a temporary.

        Parameters:
            ids: of instructions of whose reductions an accumulator is lost.
        """
        kernel, all_of_them = self.kernel, sorted(ids)
        several = [all_of_them] if ids else []
        several += [[i] for i in all_of_them] if len(ids) > 1 else []
        for some in several:
            new, origins = with_results(kernel, some)
            yield from self._stored(new, origins, new.variables.keys() - kernel.variables.keys())
        for some in several:
            new, origins = _realized(kernel, some)
            made = new.variables.keys() - kernel.variables.keys()
            lost = [name for name in _standing(new).lost if name in made]
            yield from self._stored(new, origins, lost)

    @staticmethod
    def _stored(
        kernel: Kernel, origins: Mapping[str, str], names: Iterable[str]
    ) -> Iterator[Attempt]:
        new: Kernel | None = kernel
        for name in sorted(names):
            new = with_one_for_each(new, name) if new is not None else None
        if new is not None:
            yield Attempt(new, origins)


def _is_same(old: Kernel, new: Kernel, name: str) -> bool:
    """Tell whether a scalar has the same value wherever it is computed again.

    It has the same type there, whichever that is: in the proof, that of what is computed.
    """
    if is_constant(old, name):
        return True
    again = {name} | (new.variables.keys() - old.variables.keys())
    return is_proved(*(_of_any_type(kernel, again) for kernel in (old, new)))


def _of_any_type(kernel: Kernel, names: Collection[str]) -> Kernel:
    temporaries = [replace(t, dtype=None) if t.name in names else t for t in kernel.temporaries]
    return kernel.copy(temporaries=tuple(temporaries))


def _realized(kernel: Kernel, ids: Iterable[str]) -> tuple[Kernel, Mapping[str, str]]:
    """Return the kernel with accumulators as temporaries, and what is made for what."""
    origins: dict[str, str] = {}
    for insn_id in ids:
        new = with_lane_axes(realized(kernel, (insn_id,)))
        made = {i.id for i in new.instructions} - {i.id for i in kernel.instructions}
        origins |= dict.fromkeys(made, insn_id)
        kernel = new
    return kernel, origins


def _readers_elsewhere(
    kernel: Kernel, name: str, launches: Sequence[_Launch]
) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return who reads a variable in each launch but its writer's, and the loops around that.

    Nothing, if one of them is part of several launches.
    """
    writers = {w.id for w in kernel.writers[name]}
    readers = frozenset(users(kernel, name)) - writers
    found = [(launch.ids & readers, launch.around) for launch in launches]
    if len(NO_NAMES.union(*(ids for ids, _ in found))) < sum(len(ids) for ids, _ in found):
        return ()
    elsewhere = [writers.isdisjoint(launch.ids) for launch in launches]
    return tuple([one for one, there in zip(found, elsewhere, strict=True) if one[0] and there])


def _is_as_sound(new: Kernel, old: Kernel) -> bool:
    """Tell whether sharing variables leaves no more open than there was."""
    try:
        return set(obligations(new)) <= set(obligations(old))
    except (UnorderedAccess, UninitializedRead, NestingDecides, OutOfBounds, ProofLimit):
        return False
    except (DependencyCycle, NoLoopNest):  # no execution is permitted
        return False
