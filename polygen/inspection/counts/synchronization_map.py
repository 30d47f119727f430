"""`polygen.get_synchronization_map`: how often work items wait, and functions are launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import NotCountable
from polygen.inspection.counts.count import Count, added_up, count_of
from polygen.inspection.counts.count_keys import Sync
from polygen.inspection.counts.count_map import CountMap
from polygen.inspection.counts.executions import in_full, launched
from polygen.inspection.counts.trips import EndedLoop, Trips, ended_loops
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, intersection, project_out, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import open_ends
from polygen.lower.program import Barrier, HostLoop, If, Launch, Loop, Node


@public
def get_synchronization_map(kernel: Kernel, trips: Trips | None = None) -> CountMap[Sync]:
    r"""Return how often each work item waits for others of its group, and how much is launched.

    That is what happens in the code that is generated for devices with a grid (OpenCL): as many
    barriers as a work item passes on its way, in all launches together.

    Parameters:
        kernel: the types of its inputs are known.
        trips: as for `get_op_map`.  A loop on the host goes on until it has read the flag.

    Returns:
        A number for ``barrier_local`` and for ``kernel_launch``, exact for all sizes; see
        `Count.eval_with_dict`.

    Raises:
        TypeNotFound: if the type of a variable is not known.
        NotCountable: if data, or the group that a work item is in, decides.
        InvalidArgument: if `trips` is of no loop that a condition ends.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [t,i,j]: 0<=t<n and 0<=i,j<64 }",
    ...     "x[i] = a[t,i]  {id=load}\nb[t,j] = x[63 - j]  {dep=load}",
    ...     [pg.TemporaryVariable("x", None, 64, address_space=pg.AddressSpace.LOCAL), "..."],
    ... )
    >>> knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), "i: l.0, j: l.0")
    >>> print(pg.get_synchronization_map(knl))
    Sync(barrier_local, polygen_kernel): [n] -> { 2 * n : n > 0 }
    Sync(kernel_launch, polygen_kernel): { 1 }

    Source: Loo.py's function of this name.
    """
    found = _Walk(kernel, ended_loops(in_full(kernel), trips) if trips else ())

    def counts() -> Iterator[tuple[Sync, Count]]:
        for kind, points, names in found.nodes(launched(kernel).host, universe(), frozenset()):
            found.check(points, names)
            count = count_of(kernel, points, names, "barriers and launches")
            yield Sync(kind, kernel.name), count

    return CountMap(kernel, Sync, added_up(counts()))


_Found = tuple[str, isl.Set, frozenset[str]]


class _Walk:
    def __init__(self, kernel: Kernel, ended: Sequence[EndedLoop]) -> None:
        self._kernel, self._ended = kernel, ended

    def nodes(
        self, nodes: Sequence[Node | Launch | HostLoop], points: isl.Set, names: frozenset[str]
    ) -> Iterator[_Found]:
        """Yield what synchronizes, with the iterations of the loops around."""
        for node in nodes:
            if isinstance(node, Launch):
                yield "kernel_launch", points, names
                yield from self.nodes(node.body, points, names)
            elif isinstance(node, Barrier):
                yield "barrier_local", points, names
            elif isinstance(node, HostLoop | Loop):
                if any(self.nodes(node.body, points, names)):
                    around = intersection(points, self._iterations(node))
                    yield from self.nodes(node.body, around, names | {node.iname})
            elif isinstance(node, If) and any(self.nodes(node.body, points, names)):
                around = intersection(points, self._where(node.condition))
                yield from self.nodes(node.body, around, names)

    def _iterations(self, loop: HostLoop | Loop) -> isl.Set:
        iname = ex.Variable(loop.iname)
        bounds = [ex.Comparison(loop.lower, "<=", iname), ex.Comparison(iname, "<", loop.upper)]
        if loop.step != 1:
            passed = ex.sum_of(iname, ex.negated(loop.lower))
            bounds.append(ex.Comparison(ex.remainder_of(passed, loop.step), "==", 0))
        around = ex.LogicalAnd(tuple(bounds))
        if loop.runs is None:
            return self._where(around)
        return self._ended_iterations(loop, loop.runs, around)

    def _ended_iterations(
        self, loop: HostLoop | Loop, runs: Expression, around: Expression
    ) -> isl.Set:
        """Return the iterations of a loop that flags end."""
        flags = walk.free_variables(runs)
        found = [one for one in self._ended if not one.flags.isdisjoint(flags)]
        if not found:
            raise self._uncountable(f"a condition ends the loop of '{loop.iname}'", loop.iname)
        ended, every = found[0], self._kernel.options.check_every
        begun = ended.begun
        if every > 1 and (ended.name != loop.iname or not isinstance(begun, int)):
            raise self._uncountable(
                f"the loop of '{loop.iname}' reads its flag before every {every} iterations"
            )
        if ended.name != loop.iname:
            return self._where(walk.substitute(around, {ended.name: begun}))
        if isinstance(begun, int):
            begun = every * -(-begun // every)
        last = ex.sum_of(loop.lower, ex.product_of(loop.step, begun))
        whole = project_out(self._where(around), open_ends(self._kernel.derived_sizes))
        return intersection(whole, self._where(ex.Comparison(ex.Variable(loop.iname), "<", last)))

    def _where(self, condition: Expression) -> isl.Set:
        found = condition_set(condition)
        if found is None:
            raise self._uncountable(f"'{show_expression(condition)}' is no affine condition")
        return found

    def check(self, points: isl.Set, names: frozenset[str]) -> None:
        """Raise NotCountable if what is no size decides."""
        unknown = set(flat_names(points)).difference(names, self._kernel.parameters)
        if unknown:
            shown = ", ".join(f"'{name}'" for name in sorted(unknown))
            raise self._uncountable(f"{shown} decides")

    def _uncountable(self, why: str, lacking: str = "") -> NotCountable:
        said = f"say how many iterations it has: trips={{'{lacking}': 100}}"
        return NotCountable(
            f"how often work items of kernel '{self._kernel.name}' wait cannot be counted: {why}",
            where=self._kernel.location,
            remedy=said if lacking else "look at the loops: print(polygen.lower_kernel(knl))",
        )
