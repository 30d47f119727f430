"""`polygen.get_mem_access_map`: which memory a kernel accesses how, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polygen.analysis.access.strides import Address
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.inspection.counts.count_keys import CountGranularity, MemAccess, check_granularity
from polygen.inspection.counts.count_map import CountMap
from polygen.inspection.counts.executions import Asked, counted, in_full
from polygen.inspection.counts.occurrences import Seen
from polygen.inspection.counts.trips import Trips, with_trips
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import GroupTag, LocalTag, VectorTag


@public
def get_mem_access_map(
    kernel: Kernel,
    count_redundant_work: bool = False,
    subgroup_size: int | str | None = None,
    within: str | Sequence[str] | None = None,
    count_granularity: str | None = None,
    trips: Trips | None = None,
) -> CountMap[MemAccess]:
    """Return how often a kernel accesses memory that work items share, by array and by pattern.

    That is what its instructions say, for all instances, in elements: what compilers keep in
    registers, and caches, do not matter.  Private variables are not counted.

    Parameters:
        kernel: the types of its inputs are known.
        count_redundant_work: as for `get_op_map`.
        subgroup_size: how many work items a sub-group has, or ``"guess"`` for 32.
        within: which instructions count: see `find_instructions`.
        count_granularity: for whom to count.  If it is not said, accesses of local memory, and
            those for which neighbours along ``l.0`` access the same element, count once for a
            sub-group, all others once for each work item.
        trips: as for `get_op_map`.

    Returns:
        A number for each kind of access, exact for all sizes; see `Count.eval_with_dict`.

    Raises:
        TypeNotFound: if the type of a variable is not known.
        NotCountable: if data decides what is accessed.
        InvalidArgument: if `subgroup_size` is needed, or is no such number.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[j,i] = a[i,j]")
    >>> knl = pg.split_iname(knl, "j", 64, outer_tag="g.0", inner_tag="l.0")
    >>> print(pg.get_mem_access_map(pg.add_dtypes(knl, {"a": "float32"})))
    MemAccess(global, float32, {0: 1}, {0: 64}, load, a, workitem, polygen_kernel): \
[m, n] -> { m * n : m > 0 and n > 0 }
    MemAccess(global, float32, {0: n}, {0: 64*n}, store, b, workitem, polygen_kernel): \
[m, n] -> { m * n : m > 0 and n > 0 }

    Source: Loo.py's function of this name; sums are Faulhaber's.
    """
    check_granularity(count_granularity)
    plain = with_trips(in_full(kernel), trips)
    seen = _Accesses(plain).seen

    def key_of(access: MemAccess) -> MemAccess:
        granularity = count_granularity or _usual(access)
        return replace(access, count_granularity=granularity, kernel_name=kernel.name)

    asked = Asked(count_redundant_work, subgroup_size, within)
    return CountMap(kernel, MemAccess, counted(kernel, plain, seen, key_of, asked))


def _usual(access: MemAccess) -> str:
    """Return for whom an access is counted if that was not said."""
    if access.mtype == "local" or 0 not in (access.lid_strides or {}):
        return CountGranularity.SUBGROUP
    return CountGranularity.WORKITEM


class _Accesses:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._known = integer_parameters(kernel)
        self.seen = Seen("accesses", self._at_node, self._at_target)

    def _at_node(self, node: Expression, inames: frozenset[str]) -> Iterable[MemAccess]:
        if isinstance(node, ex.Subscript | ex.Variable):
            yield from self._access(node, "load", inames)

    def _at_target(self, node: Expression, inames: frozenset[str]) -> Iterable[MemAccess]:
        yield from self._access(node, "store", inames)

    def _access(
        self, node: Expression, direction: str, inames: frozenset[str]
    ) -> Iterator[MemAccess]:
        name = ex.name_of(node)
        array = self._kernel.variables.get(name)
        if name in inames or not isinstance(array, GlobalArg | TemporaryVariable):
            return
        space = self._kernel.address_space(name)
        if space is AddressSpace.PRIVATE:
            return
        address = Address(array, ex.index_of(node), inames | self._known)
        strides = {i: address.stride(i) for i in sorted(inames)}
        tags = {i: self._kernel.tags.get(i) for i in strides}
        lid = {t.axis: strides[i] for i, t in tags.items() if isinstance(t, LocalTag)}
        gid = {t.axis: strides[i] for i, t in tags.items() if isinstance(t, GroupTag)}
        yield MemAccess(
            space.value,
            array.dtype,
            {axis: stride for axis, stride in lid.items() if stride != 0},
            {axis: stride for axis, stride in gid.items() if stride != 0},
            direction,
            name,
            lanes=self._lanes(strides),
        )

    def _lanes(self, strides: dict[str, Expression | None]) -> int | None:
        """Return how many lanes access neighbours in memory at once."""
        for iname, stride in strides.items():
            if stride == 1 and isinstance(self._kernel.tags.get(iname), VectorTag):
                return self._extent(iname)
        return None

    def _extent(self, iname: str) -> int:
        """Return how many values an iname of lanes has: a number, as was checked."""
        values = self._kernel.home_domains[iname].set
        axis = values.find_dim_by_name(isl.dim_type.set, iname)
        last: int = values.dim_max_val(axis).to_python()
        first: int = values.dim_min_val(axis).to_python()
        return last - first + 1
