"""Turns the schedule that isl proposes into steps: tiled and parallel loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.dataflow.dependences import dependences_in
from polygen.analysis.dataflow.outermost_nests import nest_of
from polygen.analysis.dataflow.single_nests import single_nest, stands_as_before
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.proving import limited
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.errors import InvalidArgument, UserError
from polygen.ir.collection import without_collection
from polygen.ir.domain import project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.ir.public import public_but
from polygen.ir.show_expression import show_expression
from polygen.language.programs import TranslationUnit
from polygen.pipeline import DEFAULT_TARGET
from polygen.source import caller_location
from polygen.targets.languages.registry import get_target
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.affine_map_inames import affine_map_inames
from polygen.transforms.loops.skew import skew
from polygen.transforms.loops.wavefront import wavefront
from polygen.transforms.splitting.tile import tile

Step: TypeAlias = tuple[str, dict[str, Any]]

_IN, _OUT, _PARAM, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param, isl.dim_type.set
_STEPS: dict[str, Any] = {
    f.__name__: f for f in (affine_map_inames, prioritize_loops, skew, tag_inames, tile, wavefront)
}
_GROUPS, _ITEMS = 3, 2  # axes that are used
_TILE, _TILE_IN_C = 16, 32  # shorter rows of tiles take longer to begin than to execute in C


@public_but("tile_size")
@without_collection
def find_schedule(kernel: Kernel | TranslationUnit, tile_size: int | None = None) -> list[Step]:
    """Return steps that would make the loops of a kernel tiled and parallel; none is taken.

    For each nest of loops that hold all the same instructions, or for those inside of one for which
    there is nothing to propose, isl's scheduler looks for new loops: such that, if possible, the
    outer ones are parallel, and several of them may be tiled, and dependent iterations are close.
    Parallel ones get axes of the hardware; where tiles can only be executed in waves, they are.  It
    knows nothing of memory: prefetching is left to the user.

    For a kernel whose target is C, there are fewer proposals, for compilers make vectors of loops
    as they are: the outermost parallel loop of a nest gets threads, unless it is the innermost of
    several, and tiles in waves are proposed where no loop is parallel.

    Parameters:
        kernel: the kernel, or a program with one entry point; loops with tags are left as they are.
        tile_size: the extent of a tile along each loop; 16 if not given, and 32 for C.

    Returns:
        The name of each step and its arguments, all of which can be applied one after the other.

    Raises:
        InvalidArgument: if it is given something else.
        NoLoopNest, DependencyCycle: if the kernel has no order.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [t,i]: 0<=t<n and 1<=i<n-1 }", "a[i] = a[i-1] + a[i+1]  {inames=t:i}",
    ...     [pg.GlobalArg("a", shape="n"), "..."], loop_priority="t, i",
    ... )
    >>> for step, arguments in pg.find_schedule(knl):
    ...     print(step, arguments)
    ...     knl = getattr(pg, step)(knl, **arguments)
    skew {'outer': 't', 'inner': 'i', 'factor': 1}
    tile {'sizes': {'t': 16, 'i': 16}}
    wavefront {'outer': 't_outer', 'inner': 'i_outer'}

    Source: Bondhugula, Hartono, Ramanujam, Sadayappan, A practical automatic polyhedral
    parallelizer and locality optimizer, PLDI 2008; Verdoolaege, Janssens, Scheduling for PPCG,
    2017.
    """
    kernel = kernel if isinstance(kernel, Kernel) else kernel.default_entrypoint
    on_grid = get_target(kernel.target or DEFAULT_TARGET).hardware_index is not None
    if tile_size is None:
        tile_size = _TILE if on_grid else _TILE_IN_C
    _check_size(tile_size)
    found = _Nests(kernel, tile_size, on_grid=on_grid)
    what = f"no schedule was found for kernel '{kernel.name}'"
    with limited(kernel, what, "transform it by hand"):
        for node in loop_tree(kernel, quiet=True):
            if isinstance(node, LoopNode):
                found.look_at(node)
    return found.steps


def _check_size(tile_size: object) -> None:
    if type(tile_size) is not int or not 0 < tile_size < 2**63:
        raise InvalidArgument(
            f"find_schedule was given tile_size={tile_size!r}, which is no positive integer",
            where=caller_location(),
            remedy="pass the extent of a tile along each loop, such as 16",
        )


def _nests(
    tree: Sequence[TreeNode],
) -> Iterator[tuple[tuple[str, ...], Sequence[TreeNode]]]:
    """Yield the loops that hold the same instructions, outermost first, and what is in them."""
    for node in tree:
        if isinstance(node, LoopNode):
            yield _nest(node)


def _nest(node: LoopNode) -> tuple[tuple[str, ...], Sequence[TreeNode]]:
    (first, *others) = node.children
    if not isinstance(first, LoopNode) or others:
        return (node.iname,), node.children
    inames, inside = _nest(first)
    return (node.iname, *inames), inside


@dataclass(frozen=True)
class _Row:
    """A new loop: what it is in terms of the old ones, and whether it is parallel."""

    form: LinearForm
    is_parallel: bool


class _Nests:
    """The steps for outermost nests, each of which is looked at alone if it can be.

    A step makes a new kernel, which takes as long as the kernel has parts: so steps are tried on
    a kernel of the nest, and on the whole one only if a nest cannot be looked at alone.
    """

    def __init__(self, kernel: Kernel, tile_size: int, *, on_grid: bool) -> None:
        self._start = kernel
        self._size = tile_size
        self._on_grid = on_grid
        self._whole = kernel  # behind the steps that are not in `_behind`
        self._behind: list[Step] = []
        self._names = set(kernel.names)
        self.steps: list[Step] = []

    def look_at(self, node: LoopNode) -> None:
        """Add the steps for a nest of loops."""
        found = self._found_alone(node)
        if found is not None:
            self._behind += found.steps
            self.steps += found.steps
            self._names |= found.kernel.names
            return
        finder = self._finder(self._whole)
        for step, arguments in self._behind:
            finder.take(step, **arguments)
        finder.look_at_all([node], ())
        self.steps[len(self.steps) - len(self._behind) :] = finder.steps
        self._behind = []
        self._whole = finder.kernel
        self._names |= finder.kernel.names

    def _found_alone(self, node: LoopNode) -> _Finder | None:
        """Return what finds the steps in a kernel of the nest alone; None if it may not suffice."""
        part = None if self._start.separations else single_nest(self._start, node.iname)
        if part is None or not all(part.home_domains.keys() >= set(p) for p in part.priorities):
            return None
        finder = self._finder(part)
        finder.look_at_all([node], ())
        new = finder.kernel.names - part.names
        if finder.is_refused or not new.isdisjoint(self._names):
            return None
        return finder if stands_as_before(self._start, finder.kernel) else None

    def _finder(self, kernel: Kernel) -> _Finder:
        return _Finder(kernel, self._start.expanded, self._size, on_grid=self._on_grid)


class _Finder:
    def __init__(self, kernel: Kernel, start: Kernel, tile_size: int, *, on_grid: bool) -> None:
        self.kernel = kernel  # as the steps make it
        self._start = start  # dependences of a nest are those that it had
        self._size = tile_size
        self._on_grid = on_grid
        self.steps: list[Step] = []
        self.is_refused = False  # whether any step was

    def look_at_all(self, tree: Sequence[TreeNode], outside: tuple[str, ...]) -> None:
        """Add the steps for nests of loops: for those inside of one for which there are none."""
        for inames, inside in [*_nests(tree)]:
            before = len(self.steps)
            if not any(iname in self.kernel.tags for iname in inames):
                self._look_at(inames, outside)
            if len(self.steps) == before:
                self.look_at_all(inside, (*outside, *inames))

    def _look_at(self, inames: tuple[str, ...], outside: Sequence[str]) -> None:
        """Add the steps for a nest of loops, given those outside of it."""
        parallel = () if self._on_grid else self._parallel(inames, outside)
        if parallel:
            # An innermost loop becomes vectors: threads that wait after each would cost more.
            if len(inames) == 1 or parallel[0] != inames[-1]:
                self.take("tag_inames", iname_to_tag={parallel[0]: "g.0"})
            return
        bands = self._bands(inames, outside)
        if bands is None:
            return
        names = self._new_loops(inames, [row for band in bands for row in band])
        outermost = bands[0]
        mine = names[: len(outermost)]
        if len(mine) > 1 or any(row.is_parallel for row in outermost):
            self._tiled(mine, outermost)

    def take(self, step: str, **arguments: Any) -> bool:
        """Add a step; leave it out if it is refused."""
        try:
            self.kernel = _STEPS[step](self.kernel, **arguments)
        except UserError:
            self.is_refused = True
            return False
        self.steps.append((step, arguments))
        return True

    def _parallel(self, inames: tuple[str, ...], outside: Sequence[str]) -> list[str]:
        """Return the loops of a nest that carry no dependence, those outside of each in order."""
        domain = self._points(inames)
        found: list[str] = []
        for position, iname in enumerate(inames):
            pairs = self._pairs(inames, (*outside, *inames[:position]), domain)
            together = isl.Map.universe(domain.get_space().map_from_set())
            together = together.equate(_IN, position, _OUT, position)
            if pairs.is_subset(isl.UnionMap.from_map(together)):
                found.append(iname)
        return found

    # --- what isl finds

    def _bands(self, inames: tuple[str, ...], outside: Sequence[str]) -> list[list[_Row]] | None:
        """Return the new loops, those together that may be tiled; None if isl has none."""
        domain = self._points(inames)
        pairs = self._pairs(inames, outside, domain)
        on = isl.ScheduleConstraints.on_domain(isl.UnionSet.from_set(domain))
        schedule = on.set_validity(pairs).set_coincidence(pairs).set_proximity(pairs)
        node = schedule.compute_schedule().get_root().first_child()
        bands: list[list[_Row]] = []
        while node.get_type() == _BAND:
            rows = [self._row(node, at, inames) for at in range(node.band_n_member())]
            known = [row for row in rows if row is not None]
            if len(known) < len(rows):
                return None
            permutable = node.band_get_permutable() or len(rows) == 1
            bands += [known] if permutable else [[row] for row in known]
            node = node.first_child()
        return bands if sum(map(len, bands)) == len(inames) else None

    def _points(self, inames: tuple[str, ...]) -> isl.Set:
        """Return the iterations of the loops together."""
        around = with_surrounding(self.kernel, inames)
        flat = domain_of(self.kernel, around).intersect(self.kernel.assumptions.flat)
        flat = project_out(flat, around.difference(inames))
        return unflatten(flat, inames).set_tuple_name(_TUPLE)

    def _pairs(
        self, inames: tuple[str, ...], outside: Sequence[str], domain: isl.Set
    ) -> isl.UnionMap:
        """Return the pairs of iterations of which the first must come first.

        They are those of one iteration of the loops outside.
        """
        space = domain.get_space().map_from_set()
        found = isl.Map.empty(space)
        nest = nest_of(self._start, inames[0])
        for dependence in () if nest is None else dependences_in(self._start, nest, memory=True):
            if set(inames) <= set(dependence.loops):
                found = found.union(_between(_in_one(dependence.relation, outside), inames))
        same = isl.Map.identity(space)
        return isl.UnionMap.from_map(found.subtract(same))

    def _row(self, node: isl.ScheduleNode, at: int, inames: Sequence[str]) -> _Row | None:
        """Return a member of a band, if it is an affine function with integer coefficients."""
        function = node.band_get_partial_schedule().get_union_pw_aff(at)
        pieces: list[isl.PwAff] = []
        function.foreach_pw_aff(pieces.append)
        affs = [aff for piece in pieces for _, aff in piece.get_pieces()]
        if len(affs) != 1 or affs[0].dim(isl.dim_type.div):
            return None
        (aff,) = affs
        if not aff.get_denominator_val().is_one():
            return None
        terms = {
            name: aff.get_coefficient_val(_IN, position).to_python()
            for position, name in enumerate(inames)
        }
        form = LinearForm(0, {name: factor for name, factor in terms.items() if factor})
        return _Row(form, bool(node.band_member_get_coincident(at)))

    # --- steps

    def _new_loops(self, inames: tuple[str, ...], rows: Sequence[_Row]) -> tuple[str, ...]:
        """Let the loops be the rows, nested in that order; return their names."""
        forms = [row.form for row in rows]
        olds = {LinearForm.of_name(iname): iname for iname in inames}
        names = self._skewed(forms)
        if names is None:
            names = self._names(forms, olds)
            equations = [
                f"{name} = {show_expression(form.expression())}"
                for name, form in zip(names, forms, strict=True)
            ]
            given = {"old_inames": list(inames), "new_inames": list(names)}
            if not self.take("affine_map_inames", **given, equations=equations):
                return inames
        if len(names) > 1 and names != inames:
            self.take("prioritize_loops", loop_priority=list(names))
        return names

    def _skewed(self, forms: Sequence[LinearForm]) -> tuple[str, ...] | None:
        """Skew loops by others that stay as they are; None if the rows are no such loops."""
        plain = {str(n) for form in forms for n in form.terms if form == _only(str(n))}
        names: list[str] = []
        for form in forms:
            known = [str(n) for n in form.terms if str(n) in plain and form != _only(str(n))]
            mine = [str(n) for n, c in form.terms.items() if c == 1 and str(n) not in known]
            if len(mine) != 1 or len(known) + 1 < len(form.terms) or mine[0] in names:
                return None
            names.append(mine[0])
        for name, form in zip(names, forms, strict=True):
            for outer, factor in form.terms.items():
                if outer != name:
                    self.take("skew", outer=str(outer), inner=name, factor=factor)
        return tuple(names)

    def _names(self, forms: Sequence[LinearForm], olds: dict[LinearForm, str]) -> tuple[str, ...]:
        found: list[str] = []
        for form in forms:
            like = olds.get(form) or "_".join(sorted(form.names()))
            found.append(self.kernel.new_name(like, found))
        return tuple(found)

    def _free(self, kind: str, inames: Sequence[str], most: int) -> list[str]:
        """Return axes that no instruction in some loops is on."""
        tags = self.kernel.tags
        insns = self.kernel.expanded.instructions
        around = [i.within_inames for i in insns if not i.within_inames.isdisjoint(inames)]
        taken = {str(tags[i]) for group in around for i in group if i in tags}
        axes = [f"{kind}.{axis}" for axis in range(3)]
        return [axis for axis in axes if axis not in taken][:most]

    def _tiled(self, names: Sequence[str], band: Sequence[_Row]) -> None:
        """Cut loops into tiles, on axes of the hardware as far as they are parallel."""
        parallel = [n for n, row in zip(names, band, strict=True) if row.is_parallel][::-1]
        sizes = dict.fromkeys(names, self._size)
        outer = dict(zip(parallel, self._free("g", names, _GROUPS), strict=False))
        inner = dict(zip(parallel, self._free("l", names, _ITEMS), strict=False))
        if parallel and self.take("tile", sizes=sizes, outer_tags=outer, inner_tags=inner):
            return
        before = set(self.kernel.inames)
        if len(names) > 1 and self.take("tile", sizes=sizes):
            new = [i for i in self.kernel.inames if i not in before]
            tiles = [i for name in names[:2] for i in new if i.startswith(f"{name}_outer")]
            self.take("wavefront", outer=tiles[0], inner=tiles[1])


_TUPLE = "L"
_BAND: Any = isl.schedule_node_type.band


def _only(name: str) -> LinearForm:
    return LinearForm.of_name(name)


def _in_one(relation: isl.Map, loops: Sequence[str]) -> isl.Map:
    """Return those pairs of instances that are in one iteration of some loops."""
    for loop in loops:
        first = relation.find_dim_by_name(_IN, loop)
        second = relation.find_dim_by_name(_OUT, f"{loop}'")
        if min(first, second) >= 0:
            relation = relation.equate(_IN, first, _OUT, second)
    return relation


def _between(relation: isl.Map, inames: Sequence[str]) -> isl.Map:
    """Return pairs of instances as pairs of iterations of some loops."""
    for kind in (_IN, _OUT):
        names = [relation.get_dim_name(kind, at) for at in range(relation.dim(kind))]
        for at in reversed(range(len(names))):
            if str(names[at]).rstrip("'") not in inames:
                relation = relation.project_out(kind, at, 1)
        relation = relation.set_tuple_name(kind, _TUPLE)
    return relation
