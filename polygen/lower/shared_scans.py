"""Scans that the work items of a group share, as instructions on local memory.

out[i] = sum(j, a[j])   over 0 <= j <= i, with i = 4*o + w, w on l.0 and a loop over o:

    carry = 0
    here[w] = a[4*o + w]
    taken = here[p]
    taken = here[p - 1] + taken       (if p >= 1)
    there[p] = taken
    taken = there[q - 2] + taken      (if q >= 2)
    here[q] = taken
    sum = carry + here[w]
    out[i] = sum
    carry = carry + here[3]

Every stage combines what is twice as far away, and stores it elsewhere; what is further on comes
second.  Work items that have nothing new contribute the operation's identity.  Without a loop,
nothing is carried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.storage_copies import plain_first
from polygen.analysis.dataflow.contributions import Staged, check_stages
from polygen.analysis.integers.proving import proofs_are_on
from polygen.analysis.order.shuffled_arrays import segment_length
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain, parse_domain, project_out, rename_dimension, unflatten
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, identity_of, parts_of
from polygen.lower.group_scans import GroupScan, reductions_of, scan_of_group
from polygen.lower.lanes import with_lane_axes
from polygen.lower.shuffled_scans import scanned
from polygen.transforms.parallel_reductions.local_reductions import all_contribute
from polygen.transforms.parallel_reductions.shuffled_trees import is_whole_group


def with_shared_scans(
    kernel: Kernel, ids: Iterable[str] | None = None
) -> tuple[Kernel, frozenset[str]]:
    """Return the kernel with stages in local memory for scans along axes of the work items.

    And the names of variables that take results from one iteration to the next.

    Parameters:
        kernel: its types are known, and it has no rules.
        ids: of the instructions whose scans these are; without, of all.

    Raises:
        LocalSizeNotConstant: if a group has no constant number of work items.
    """
    carried: set[str] = set()
    if kernel.options.allow_reassociation:
        for insn in kernel.instructions if ids is None else [*map(kernel.instruction, ids)]:
            for reduction, conditions in reductions_of(insn).items():
                found = scan_of_group(kernel, insn, reduction, conditions)
                if found is not None:
                    stages = _Stages(kernel, kernel.instruction(insn.id), reduction, found)
                    kernel = with_lane_axes(stages.kernel())
                    carried.update(stages.carried)
    return kernel, frozenset(carried)


class _Stages:
    """Makes the instructions of a scan.

    Attributes:
        carried: the variables that take results from one iteration to the next.
    """

    def __init__(
        self, kernel: Kernel, insn: Instruction, reduction: ex.Reduction, shared: GroupScan
    ) -> None:
        self._kernel, self._insn, self._reduction, self._shared = kernel, insn, reduction, shared
        self._local = shared.local
        self._dtypes: tuple[DType, ...] = reduction_types(reduction, dict(kinds(kernel)))
        self._names: set[str] = set()
        self._variables: list[TemporaryVariable] = []
        self._axes: dict[str, Domain] = {}
        self._made: list[Assigning] = []
        self._groups: list[tuple[str, ...]] = []
        self.carried: tuple[str, ...] = ()

    def kernel(self) -> Kernel:
        """Return the kernel with the scan in stages."""
        here = self._scanned()
        if self._shared.loops:
            results, after = self._with_carry(here)
        else:
            results, after = self.elements(here, self._local.own_place), None
        use = self._insn.map_expressions(lambda e: with_results(e, self._reduction, results))
        use = use.copy(depends_on=self._insn.depends_on | {self._made[-1].id})
        made = self._made if after is None else [*self._made, after]
        new = self._new([*self._made, use, *(() if after is None else (after,))])
        if proofs_are_on():
            self._check(new, made, use, results)
        return new

    def _scanned(self) -> tuple[str, ...]:
        """Make the stages; return the arrays in which what was combined is in the end."""
        scan, extent, length = self._shared.scan, self.extent, self._length
        here = self.arrays(shuffled=length > 1)
        by_memory = extent > 1 and length == 1
        there, taken = (self.arrays(), self.scalars("taken")) if by_memory else ((), ())
        when = (*scan.conditions, *self._shared.conditions)
        if when or not all_contribute(self._kernel, self._insn, self._local):
            place = self.axis()
            self.add("init", place, self.elements(here, place), self._identity)
        parts = [walk.substitute(part, self._values) for part in parts_of(self._reduction)]
        self.add(
            "update",
            ex.Variable(self._local.iname),
            self.elements(here, self._local.own_place),
            tuple(parts),
            when=when,
        )
        self._made[-1] = self._made[-1].copy(
            depends_on=self._made[-1].depends_on | self._insn.depends_on
        )
        if length > 1:
            return scanned(self, here, length)
        distance = 1
        while distance < extent:
            place = self.axis()
            if distance == 1:
                self.add("take", place, taken, self.elements(here, place))
            before = self.elements(here, self._before(place, distance))
            enough = ex.Comparison(place, ">=", distance)
            self.add("combine", place, taken, self.both(before, taken), when=(enough,))
            self.add("pass", place, self.elements(there, place), taken)
            here, there = there, here
            distance *= 2
        return here

    def _with_carry(self, here: tuple[str, ...]) -> tuple[Parts, Assigning]:
        """Make what adds the results of earlier iterations; return the sums, and what goes on."""
        carry, results = self.scalars("carry"), self.scalars("sum")
        self.carried = tuple([variable.name for variable in carry])
        outside = self._insn.within_inames - frozenset(self._shared.scan.sweep)
        everyone = self._owners()
        start = self._instruction("start", outside | {everyone.name}, carry, self._identity)
        self._made.insert(0, start)
        mine = self.elements(here, self._local.own_place)
        self.add("sum", ex.Variable(self._local.iname), results, self.both(carry, mine))
        self._made[-1] = self._made[-1].copy(depends_on=self._made[-1].depends_on | {start.id})
        last = self.elements(here, self.extent - 1)
        if self._length > 1:  # then another work item has that
            place, total = self.axis(), self.arrays(1)
            at_the_end = ex.Comparison(place, "==", self.extent - 1)
            end = self.elements(here, place)
            self.add("last", place, self.elements(total, 0), end, (at_the_end,))
            last = self.elements(total, 0)
        everyone = self._owners()
        inames = self._insn.within_inames - {self._local.iname} | {everyone.name}
        after = self._instruction("carry", inames, carry, self.both(carry, last))
        return results, after.copy(depends_on=frozenset((self._made[-1].id, self._insn.id)))

    @staticmethod
    def _before(place: Expression, distance: int) -> Expression:
        return ex.sum_of(place, -distance)

    # --- parts

    @property
    def _identity(self) -> Parts:
        return identity_of(self._reduction.operation, self._dtypes)

    def both(self, first: Parts, second: Parts) -> Parts:
        return facts_of(self._reduction.operation).combined(first, second, self._dtypes)

    @property
    def _values(self) -> dict[str, Expression]:
        return {self._reduction.inames[0]: self._shared.scan.value}

    def add(
        self,
        kind: str,
        iname: ex.Variable,
        to: tuple[ex.Variable | ex.Subscript, ...],
        values: Parts,
        when: Parts = (),
    ) -> None:
        """Add an instruction that comes after those before it."""
        inames = self._insn.within_inames - {self._local.iname} | {iname.name}
        made = self._instruction(kind, inames, to, values)
        before = frozenset([stage.id for stage in self._made])
        self._made.append(made.copy(depends_on=before, predicates=when))

    def _instruction(
        self,
        kind: str,
        inames: frozenset[str],
        to: tuple[ex.Variable | ex.Subscript, ...],
        values: Parts,
    ) -> Assigning:
        return assigning(
            self._name(f"{self._insn.id}_{kind}"),
            to,
            values,
            within_inames=inames,
            depends_on=frozenset(),
            predicates=(),
            location=self._insn.location,
        )

    def elements(self, group: tuple[str, ...], place: Expression) -> tuple[ex.Subscript, ...]:
        return tuple([self._local.element(name, place) for name in group])

    def arrays(self, count: int | None = None, *, shuffled: bool = False) -> tuple[str, ...]:
        shape = self._local.shape_for(self.extent if count is None else count)
        return self._group("acc_" + self._reduction.inames[0], shape, shuffled=shuffled)

    def scalars(self, like: str) -> tuple[ex.Variable, ...]:
        return tuple(map(ex.Variable, self._group(f"{like}_{self._reduction.inames[0]}", ())))

    def _group(
        self, like: str, shape: tuple[int, ...], *, shuffled: bool = False
    ) -> tuple[str, ...]:
        space = AddressSpace.LOCAL if shape else AddressSpace.PRIVATE
        names = tuple([self._name(like) for _ in self._dtypes])
        self._variables += [
            TemporaryVariable(name, dtype, shape, space, shuffled=shuffled)
            for name, dtype in zip(names, self._dtypes, strict=True)
        ]
        self._groups.append(names)
        return names

    def axis(self) -> ex.Variable:
        """Return a new iname on the axis, for all work items of a group."""
        return self._on_axis(lambda name: parse_domain(f"{{ [{name}]: 0<={name}<{self.extent} }}"))

    def _owners(self) -> ex.Variable:
        """Return a new iname on the axis, for the work items that have what is scanned.

        It begins where the scan's own iname does: so both find the same copies of variables.
        """
        kernel, mine = self._kernel, self._local.iname
        plain = self._local.axis.stride == 1
        if plain and plain_first(kernel, mine) == 0:
            return self.axis()
        around = with_surrounding(kernel, [mine])
        values = unflatten(project_out(domain_of(kernel, around), around - {mine}), (mine,))
        from_zero = values.params().is_subset(values.fix_val(isl.dim_type.set, 0, 0).params())
        if plain and from_zero and values.dim_min_val(0).is_zero():
            return self.axis()
        return self._on_axis(lambda name: Domain(rename_dimension(values, mine, name)))

    def _on_axis(self, domain: Callable[[str], Domain]) -> ex.Variable:
        name = self._name("acc_" + self._reduction.inames[0])
        self._axes[name] = domain(name)
        return ex.Variable(name)

    @cached_property
    def _length(self) -> int:
        """The length of the rows that a sub-group scans; 1 if it is not that which scans."""
        kernel, local = self._kernel, self._local
        size = kernel.options.sub_group_size
        if not size or not is_whole_group(kernel, self._insn.id, local):
            return 1
        length = segment_length(kernel, self._insn.id, local.tag.axis, self.extent, size)
        return length if -(-self.extent // length) <= length + 1 else 1

    @property
    def extent(self) -> int:
        return self._local.axis.extent

    def _name(self, like: str) -> str:
        name = self._kernel.new_name(like, self._names)
        self._names.add(name)
        return name

    # --- the whole

    def _new(self, instead: list[Instruction]) -> Kernel:
        kernel = self._kernel
        return kernel.copy(
            domains=(*kernel.domains, *self._axes.values()),
            tags={**kernel.tags, **dict.fromkeys(self._axes, self._local.tag)},
            temporaries=(*kernel.temporaries, *self._variables),
            instructions=tuple(
                [
                    new
                    for insn in kernel.instructions
                    for new in (instead if insn.id == self._insn.id else (insn,))
                ]
            ),
        )

    def _check(self, new: Kernel, made: list[Assigning], use: Instruction, results: Parts) -> None:
        """Check what each instance of the use finds, whether it makes use of that or not."""
        names = self._group("found", ())
        copies = assigning(use.id, tuple(map(ex.Variable, names)), results)
        copies = copies.copy(within_inames=use.within_inames, depends_on=use.depends_on)
        insns = tuple([copies if insn.id == use.id else insn for insn in new.instructions])
        found = tuple([v for v in self._variables if v.name in names])
        checked = new.copy(instructions=insns, temporaries=(*new.temporaries, *found))
        staged = Staged(
            self._reduction,
            tuple(group for group in self._groups if group != names),
            self._dtypes,
            self._shared.conditions,
            tuple(made),
            copies,
            self._values,
            carried=(made[-1].id, self._local.iname) if self._shared.loops else None,
        )
        check_stages(checked, staged)


def with_results(node: Expression, reduction: ex.Reduction, results: Parts) -> Expression:
    """Return an expression with results in place of a reduction."""
    if isinstance(node, ex.Component) and node.aggregate == reduction:
        return results[node.position]
    if node == reduction:
        return results[0]
    parts = [with_results(part, reduction, results) for part in walk.parts(node)]
    return walk.rebuild(node, tuple(parts))
