"""A loop of time around stencils: what a step writes where, and needs of the step before.

    for t:
        for i: b[i] = (a[i-1] + a[i+1])/2       a sweep over 1 <= place < n-1, which reaches one far
        for p: a[p] = (b[p-1] + b[p+1])/2       another one

Places are those of the elements that are written.  An array is *carried* if an iteration reads an
element of it that an earlier one wrote: here `a`, while of `b` each iteration reads what it wrote
itself, and what no iteration writes: the rim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import references
from polygen.analysis.access.domains import domain_of, domain_temporaries
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.order.loop_tree import LoopNode, loop_tree, statements
from polygen.errors import NoOverlappedTiles
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.domain import intersection, project_out, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location


@dataclass(frozen=True)
class Sweep:
    """A statement in a loop of time, and the loops over space around it.

    Attributes:
        insn: the statement, rules expanded.
        array: what it writes.
        written: the subscripts of that: one loop and a constant, or a constant, each.
        loops: the loop that each subscript counts; None if it counts none.
        places: the places that it writes, a flat set of the names of places.
        reads: by array that the loop of time changes, how far from the place that is written the
            elements lie that it reads, along each axis.
    """

    insn: Assignment
    array: str
    written: tuple[LinearForm, ...]
    loops: tuple[str | None, ...]
    places: isl.Set
    reads: Mapping[str, tuple[tuple[int, ...], ...]]


@dataclass(frozen=True)
class TimeSweeps:
    """A loop of time.

    Attributes:
        time: its iname.
        names: a name for the place along each axis.
        sweeps: what is in it, in order.
        carried: the arrays of which an iteration needs what earlier ones wrote.
        others: the other ones that sweeps write and read.
        written: the places of each array that are written, in each iteration alike.
        touched: those that are written or read; a box around them.
        from_before: the arrays of which an iteration reads what it did not write itself.
    """

    time: str
    names: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    carried: tuple[str, ...]
    others: tuple[str, ...]
    written: Mapping[str, isl.Set]
    touched: Mapping[str, isl.Set]
    from_before: frozenset[str]


def sweeps_of(kernel: Kernel, time: str) -> TimeSweeps:
    """Return what is in a loop of time.

    Raises:
        NoOverlappedTiles: if it holds anything but stencils.
    """
    return _Look(kernel, time).found()


def refuse(kernel: Kernel, time: str, why: str, remedy: str, insn: str = "") -> NoOverlappedTiles:
    """Return the error that says why a loop of time has no overlapped tiles."""
    return NoOverlappedTiles(
        f"overlap_time_tiles: the loop over '{time}' of kernel '{kernel.name}' has no overlapped "
        f"tiles: {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn) if insn else "",
        remedy=remedy,
    )


class _Look:
    """A look at a loop of time.

    Parameters:
        kernel: the kernel.
        time: the iname of the loop.
    """

    def __init__(self, kernel: Kernel, time: str) -> None:
        self._kernel, self._time = kernel, time
        self._plain = kernel.expanded
        outermost = [n for n in loop_tree(self._plain, quiet=True) if isinstance(n, LoopNode)]
        self._inside = list(statements([node for node in outermost if node.iname == time]))
        self._changed = {name for insn in self._inside for name in insn.written_names}

    def _no(self, why: str, remedy: str, insn: str = "") -> NoOverlappedTiles:
        return refuse(self._kernel, self._time, why, remedy, insn)

    def found(self) -> TimeSweeps:
        if not self._inside:
            raise self._no("it is no outermost loop", "name one that is on no axis, and in none")
        ranks = {self._rank(name) for name in sorted(self._changed)}
        if len(ranks) != 1:
            raise self._no(
                f"{_listed(sorted(self._changed))} have different numbers of axes",
                "tiles are of arrays that are alike",
            )
        taken: list[str] = []
        for axis in range(ranks.pop()):
            taken.append(self._kernel.new_name(f"place_{axis}", taken))
        sweeps = [self._sweep(insn, taken) for insn in self._inside]
        self._check_loops(sweeps)
        read = {name for sweep in sweeps for name in sweep.reads}
        used = [sweep for sweep in sweeps if sweep.array in read]
        written = {n: _written(used, n) for n in dict.fromkeys(s.array for s in used)}
        early = {name: _read_early(used, name, taken) for name in written}
        carried = tuple([n for n in written if not early[n].intersect(written[n]).is_empty()])
        if not carried:
            raise self._no(
                "no iteration needs what another one wrote", "its iterations may be parallel"
            )
        others = tuple([name for name in written if name not in carried])
        touched = {name: _touched(used, name, taken) for name in written}
        from_before = frozenset([name for name in written if not early[name].is_empty()])
        return TimeSweeps(
            self._time, tuple(taken), tuple(used), carried, others, written, touched, from_before
        )

    def _rank(self, name: str) -> int:
        """Return how many axes an array has that the loop changes."""
        array = self._plain.variables[name]
        is_global = self._plain.address_space(name) is AddressSpace.GLOBAL
        shape = getattr(array, "shape", None)
        if not is_global or not shape:
            raise self._no(
                f"it writes '{name}', which is no array in global memory",
                "contract it, or compute it where it is read (recompute_temporaries)",
            )
        if isinstance(array, GlobalArg) and array.may_alias:
            raise self._no(f"'{name}' may overlap other arrays", "declare it without may_alias")
        return len(shape)

    def _check_loops(self, sweeps: Sequence[Sweep]) -> None:
        """Check that no statement is between two of another one's iterations."""
        loops = [iname for sweep in sweeps for iname in sweep.loops if iname is not None]
        shared = sorted({iname for iname in loops if loops.count(iname) > 1})
        if shared:
            raise self._no(
                f"several statements are in the loop over '{shared[0]}'",
                f"give each one of its own: distribute_loop(knl, '{shared[0]}')",
            )

    # --- statements

    def _sweep(self, insn: Instruction, names: Sequence[str]) -> Sweep:
        if not isinstance(insn, Assignment) or insn.atomicity is not None:
            raise self._no(
                f"'{insn.id}' is no plain assignment", "write one element at a time", insn.id
            )
        if insn.reductions or insn.happens_after:
            raise self._no(
                f"'{insn.id}' reduces, or is ordered instance by instance",
                "a sum of few terms may be written out: unroll_reduction",
                insn.id,
            )
        written = self._places(insn, ex.index_of(insn.assignee))
        loops = tuple([self._counted(insn, form) for form in written])
        counted = [iname for iname in loops if iname is not None]
        if (
            len(set(counted)) < len(counted)
            or frozenset([*counted, self._time]) != insn.within_inames
        ):
            raise self._no(
                f"the subscripts of '{insn.assignee}' do not count the loops around '{insn.id}' "
                "one each",
                "write each element once in an iteration",
                insn.id,
            )
        reads = self._reads(insn, written)
        places = self._domain(insn, written, names)
        for apart in reads.get(insn.written, ()):
            if any(apart) and not moved(places, names, apart).is_disjoint(places):
                raise self._no(
                    f"'{insn.id}' reads neighbours of the element of '{insn.written}' that it "
                    "writes",
                    "write to another array: its iterations need each other",
                    insn.id,
                )
        return Sweep(insn, insn.written, written, loops, places, reads)

    def _places(self, insn: Assignment, index: Sequence[ex.Expression]) -> tuple[LinearForm, ...]:
        names = {*self._plain.inames, *self._plain.parameters}
        forms = [linear_form(subscript, names) for subscript in index]
        found = [form for form in forms if form is not None and self._time not in form.names()]
        if len(found) < len(forms):
            raise self._no(
                f"where '{insn.id}' writes or reads, data or the step of time decides",
                "tiles are of arrays that are overwritten in each step, at affine subscripts",
                insn.id,
            )
        return tuple(found)

    def _counted(self, insn: Assignment, form: LinearForm) -> str | None:
        """Return the loop that a subscript counts; None if it counts none."""
        found = sorted(form.names().intersection(self._plain.inames))
        if not found:
            return None
        if len(found) > 1 or (form - LinearForm.of_name(found[0])).names() & set(found):
            raise self._no(
                f"a subscript of '{insn.assignee}' is not a loop and a constant",
                "elements are neighbours if loops are",
                insn.id,
            )
        return found[0]

    def _reads(
        self, insn: Assignment, written: Sequence[LinearForm]
    ) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Return how far what is read lies from what is written."""
        found: dict[str, dict[tuple[int, ...], None]] = {}
        for use in references(insn):
            if use.is_write:
                continue
            if not self._changed.isdisjoint(NO_NAMES.union(*map(walk.free_variables, use.index))):
                raise self._no(
                    f"what the loop computes decides which element of '{use.name}' '{insn.id}' "
                    "reads",
                    "at the rims of tiles are values that the loop never computes",
                    insn.id,
                )
            if use.name not in self._changed:
                continue
            index = self._places(insn, use.index)
            apart = [read - place for read, place in zip(index, written, strict=True)]
            if not all(form.is_constant for form in apart):
                raise self._no(
                    f"'{insn.id}' reads '{use.name}' at no constant distance from what it writes",
                    "tiles are of stencils",
                    insn.id,
                )
            distance = tuple([form.constant for form in apart])
            found.setdefault(use.name, {})[distance] = None
        return {name: tuple(apart) for name, apart in found.items()}

    def _domain(
        self, insn: Assignment, written: Sequence[LinearForm], names: Sequence[str]
    ) -> isl.Set:
        """Return the places that a statement writes."""
        if domain_temporaries(self._plain, insn.within_inames):
            raise self._no(
                f"a variable bounds the loops around '{insn.id}'", "let sizes bound them", insn.id
            )
        own = insn.within_inames - {self._time}
        whole = domain_of(self._plain, insn.within_inames)
        free = project_out(whole, [self._time])
        alone = project_out(whole, own)
        if not intersection(free, alone).is_subset(whole):
            raise self._no(
                f"which elements '{insn.id}' writes, the step of time decides",
                "tiles are of loops that are the same in each step",
                insn.id,
            )
        found = domain_of(self._plain, own).intersect(self._plain.assumptions.flat)
        for predicate in insn.predicates:
            holds = condition_set(predicate, {*own, *self._plain.parameters})
            if holds is None:
                raise self._no(
                    f"data or the step of time decides whether '{insn.id}' is executed",
                    "choose the value instead: if(condition, new, old)",
                    insn.id,
                )
            found = found.intersect(holds)
        for name, form in zip(names, written, strict=True):
            at = condition_set(ex.Comparison(ex.Variable(name), "==", form.expression()))
            assert at is not None  # it is affine
            found = found.intersect(at)
        found = project_out(found, own).coalesce()
        if found.n_basic_set() > 1 or any(b.dim(isl.dim_type.div) for b in found.get_basic_sets()):
            raise self._no(
                f"the elements that '{insn.id}' writes are not convex",
                "split it: one statement for each box",
                insn.id,
            )
        return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def moved(places: isl.Set, names: Sequence[str], distance: Sequence[int]) -> isl.Set:
    """Return places that lie some distance from others."""
    for name, by in zip(names, distance, strict=True):
        position = places.find_dim_by_name(isl.dim_type.param, name)
        if by and position >= 0:
            old = f"{name}_before"
            places = places.set_dim_name(isl.dim_type.param, position, old)
            value = ex.sum_of(ex.Variable(old), by)
            at = condition_set(ex.Comparison(ex.Variable(name), "==", value))
            assert at is not None  # it is affine
            places = project_out(places.intersect(at), [old])
    return places


def _written(sweeps: Sequence[Sweep], name: str) -> isl.Set:
    found = [sweep.places for sweep in sweeps if sweep.array == name]
    return reduce(lambda a, b: a.union(b), found).coalesce()


def _read(sweep: Sweep, name: str, names: Sequence[str]) -> isl.Set:
    found = [moved(sweep.places, names, apart) for apart in sweep.reads.get(name, ())]
    return reduce(lambda a, b: a.union(b), found, isl.Set.empty(universe().get_space()))


def _touched(sweeps: Sequence[Sweep], name: str, names: Sequence[str]) -> isl.Set:
    read = [_read(sweep, name, names) for sweep in sweeps]
    whole = reduce(lambda a, b: a.union(b), read, _written(sweeps, name))
    return isl.Set.from_basic_set(whole.simple_hull())


def _read_early(sweeps: Sequence[Sweep], name: str, names: Sequence[str]) -> isl.Set:
    """Return the places of an array that an iteration reads before it writes them."""
    so_far = early = isl.Set.empty(universe().get_space())
    for sweep in sweeps:
        early = early.union(_read(sweep, name, names).subtract(so_far))
        if sweep.array == name:
            so_far = so_far.union(sweep.places)
    return early.coalesce()
