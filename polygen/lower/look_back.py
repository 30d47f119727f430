"""Scans from group to group: a group takes what earlier ones came to, as soon as they say it.

before[g] = sum(p, sum(k, a[256*p + k]))   over 0 <= p < g, with g on g.0:

    state[z] = 0                                   (a launch of its own)
    own[0] = 0
    own[0] = sum(k, a[256*g + k])                  (if a group comes after)
    taken[0] = 0
    taken[0] = what look back finds: the sum of own[0] of all groups before
    before[g] = taken[0]

`state` counts the groups that have begun: the index of a group along the axis is its turn, so that
a group waits for such alone as run already.  Then each part has its place in it, where its group
tells what it came to by itself, and, as soon as it is known, with all before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl
import numpy as np

from polygen.analysis.domains import domain_of, homes
from polygen.analysis.inference import kinds
from polygen.analysis.isl_affine import condition_set, set_condition
from polygen.analysis.known import is_never_written, known_parameters
from polygen.analysis.tile import TileAxis, sized_axis
from polygen.analysis.types import reduction_types
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain, parse_domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of, identity_of
from polygen.ir.tags import GroupTag, LocalTag
from polygen.lower.program import HardwareAxis

OPERATORS = {"sum": "a + b", "product": "a * b", "min": "b < a || b != b ? b : a"}
OPERATORS["max"] = OPERATORS["min"].replace("<", ">")
_CLEARED = 256  # by a group, before


@dataclass(frozen=True)
class LookBack(CInstruction):
    """Look back, in a group.

    Attributes:
        state: the variable in which groups tell what they came to.
    """

    state: str = ""


@dataclass(frozen=True)
class _Found:
    """A reduction over all groups before.

    Attributes:
        insn: the instruction that keeps it.
        reduction: the reduction.
        group: the iname of the groups.
        axis: which there are.
        followed: the groups that have one after them.
    """

    insn: Assignment
    reduction: ex.Reduction
    group: str
    axis: TileAxis
    followed: isl.Set


def with_look_backs(kernel: Kernel) -> Kernel:
    """Return the kernel with what groups tell each other, in place of reductions over groups.

    Parameters:
        kernel: its types are known, and it has no rules.
    """
    groups = {tag for tag in kernel.tags.values() if isinstance(tag, GroupTag)}
    if kernel.options.look_back and groups == {GroupTag(0)}:  # groups have one index
        for insn in kernel.instructions:
            found = _find(kernel, insn)
            if found is not None:
                kernel = _Maker(kernel, found).kernel()
    return kernel


def _find(kernel: Kernel, insn: Instruction) -> _Found | None:
    """Return how an instruction reduces over all groups before, if it does."""
    if not isinstance(insn, Assignment) or not isinstance(insn.expression, ex.Reduction):
        return None
    reduction, groups = insn.expression, insn.within_inames
    if len(groups) != 1 or len(reduction.inames) != 1 or insn.predicates:
        return None
    (group,), (part,) = groups, reduction.inames
    if kernel.tags.get(group) != GroupTag(0) or reduction.operation not in OPERATORS:
        return None
    (dtype,) = reduction_types(reduction, dict(kinds(kernel)))
    exact = dtype.kind in facts_of(reduction.operation).exact
    if dtype.itemsize < 4 or dtype.kind == "c" or not (exact or kernel.options.allow_reassociation):
        return None
    known = kernel.assumptions.flat
    instances = domain_of(kernel, frozenset({group})).intersect(known)
    taken = domain_of(kernel, frozenset({group, part})).intersect(known)
    others = rename_dimension(instances, group, part)
    earlier = _set(ex.Comparison(ex.Variable(part), "<", ex.Variable(group)))
    if not taken.is_equal(instances.intersect(others).intersect(earlier)):
        return None
    axis = sized_axis(
        unflatten(instances, (group,)), sorted(kernel.parameters), known_parameters(kernel)
    )
    names = walk.free_variables(reduction.operand)
    arrays = names.intersection(kernel.variables)
    if axis is None or group in names or not all(is_never_written(kernel, n) for n in arrays):
        return None
    followed = rename_dimension(project_out(taken, [group]), part, group)
    return _Found(insn, reduction, group, axis, followed.gist(instances))


def with_turns(
    insns: Sequence[Instruction], axes: tuple[HardwareAxis, ...]
) -> tuple[HardwareAxis, ...]:
    """Return the axes of a launch, on which groups get their index as they begin, if some wait."""
    states = [insn.state for insn in insns if isinstance(insn, LookBack)]
    if not states:
        return axes
    return tuple([replace(a, turns=states[0]) if a.tag == GroupTag(0) else a for a in axes])


def _set(condition: ex.Comparison) -> isl.Set:
    found = condition_set(condition)
    assert found is not None
    return found


class _Maker:
    """Makes the kernel in which a group looks back."""

    def __init__(self, kernel: Kernel, found: _Found) -> None:
        self._kernel, self._found = kernel, found
        self._taken: set[str] = set()
        self._domains: list[Domain] = []
        self._tags = dict(kernel.tags)

    def kernel(self) -> Kernel:
        """Return the kernel."""
        found, kernel = self._found, self._kernel
        insn, operation = found.insn, found.reduction.operation
        (dtype,) = reduction_types(found.reduction, dict(kinds(kernel)))
        (identity,) = identity_of(operation, (dtype,))
        state, own, taken = (self._name(like) for like in ("state", "own", "taken"))
        words = 1 if dtype.itemsize <= 4 else 3
        count = ex.sum_of(ex.product_of(words, found.axis.size), 1)
        clear = self._clear(state, count)
        mine, result = (ex.Subscript(ex.Variable(name), 0) for name in (own, taken))
        around = insn.within_inames
        start = Assignment(self._name(f"{insn.id}_start"), mine, identity, around)
        part = self._part()
        tell = Assignment(
            self._name(f"{insn.id}_own"),
            mine,
            part,
            around,
            insn.depends_on | {start.id},
            self._conditions(),
        )
        none = Assignment(self._name(f"{insn.id}_none"), result, identity, around)
        look = LookBack(
            (("pg_part", found.axis.place_of(found.group)),),
            f"pg_look_back<pg_look_back_{operation}>({state}, pg_part, {own}, {taken});",
            frozenset((state, own)),
            (ex.Variable(taken), ex.Variable(state)),
            self._name(f"{insn.id}_look_back"),
            around | {self._lanes()},
            frozenset((tell.id, none.id, clear.id)),
            state=state,
        )
        use = insn.copy(expression=result, depends_on=insn.depends_on | {look.id})
        at = kernel.instructions.index(insn)
        later = kernel.instructions[at + 1 :]
        until = next((n for n, i in enumerate(later) if insn.id in i.depends_on), 0)
        # What can be done until it is known what comes before is done before.
        made = (clear, start, tell, none, *later[:until], look, use, *later[until:])
        local = (TemporaryVariable(name, dtype, (1,), AddressSpace.LOCAL) for name in (own, taken))
        cells = TemporaryVariable(state, np.dtype(np.uint64), (count,), AddressSpace.GLOBAL)
        return kernel.copy(
            instructions=(*kernel.instructions[:at], *made),
            temporaries=(*kernel.temporaries, cells, *local),
            domains=(*kernel.domains, *self._domains),
            tags=self._tags,
            preambles=(*kernel.preambles, *preambles(str(operation), kernel.preambles)),
        )

    def _name(self, like: str) -> str:
        name = self._kernel.new_name(like, self._taken | set(self._kernel.instructions_by_id))
        self._taken.add(name)
        return name

    def _conditions(self) -> tuple[Expression, ...]:
        followed = self._found.followed
        return () if followed.plain_is_universe() else (set_condition(followed),)

    def _lanes(self) -> str:
        """Return an iname for the work items of a group that look back together."""
        name = self._name("lane")
        self._domains.append(parse_domain(f"{{ [{name}]: 0<={name}<32 }}"))
        self._tags[name] = LocalTag(0)
        return name

    def _clear(self, state: str, count: Expression) -> Assignment:
        """Return what makes the state one in which nobody has told anything."""
        outer, inner = self._name("clear"), self._name("clear_item")
        place = ex.sum_of(ex.product_of(_CLEARED, ex.Variable(outer)), ex.Variable(inner))
        bounds = (
            ex.Comparison(0, "<=", ex.Variable(outer)),
            ex.Comparison(0, "<=", ex.Variable(inner)),
            ex.Comparison(ex.Variable(inner), "<", _CLEARED),
            ex.Comparison(place, "<", count),
        )
        values = reduce(isl.Set.intersect, map(_set, bounds))
        self._domains.append(Domain(unflatten(values, (outer, inner))))
        self._tags |= {outer: GroupTag(0), inner: LocalTag(0)}
        element = ex.Subscript(ex.Variable(state), place)
        insn_id = self._name(f"{self._found.insn.id}_clear")
        return Assignment(insn_id, element, 0, frozenset((outer, inner)))

    def _part(self) -> Expression:
        """Return what a group comes to: what is reduced, for its own part."""
        found, kernel = self._found, self._kernel
        (part,), operand = found.reduction.inames, found.reduction.operand
        inner = walk.reduction_inames(operand)
        names = {iname: self._name(iname) for iname in sorted(inner)}
        for home in homes(kernel, inner):
            values = home.flat
            if part in home.parameters or part in home.inames:
                values = rename_dimension(values, part, found.group)
            kept = [i for i in home.inames if i in inner]
            values = project_out(values, [i for i in home.inames if i not in inner])
            for iname in kept:
                values = rename_dimension(values, iname, names[iname])
            self._domains.append(Domain(unflatten(values, [names[i] for i in kept])))
        self._tags |= {new: self._tags[old] for old, new in names.items() if old in self._tags}
        own = {part: ex.Variable(found.group)}
        return walk.substitute(
            operand, {**own, **{old: ex.Variable(new) for old, new in names.items()}}
        )


def preambles(operation: str, there: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return what a source begins with whose groups look back, but for what is there.

    Parameters:
        operation: with what they combine what groups came to.
        there: targets, keys and texts.
    """
    operator = f"""struct pg_look_back_{operation} {{
    template <typename T> static __device__ T of(T a, T b) {{ return {OPERATORS[operation]}; }}
}};
"""
    wanted = [("cuda", "pg_look_back", _TEXT), ("cuda", f"pg_look_back_{operation}", operator)]
    return [text for text in wanted if text not in there]


_TEXT = """// What groups tell those that come after: 1, what they came to; 2, with all before.
template <bool small> struct pg_parts {
    static constexpr int words = 1;
    template <typename T>
    static __device__ void tell(unsigned long long *at, unsigned kind, T value)
    {
        union { T number; unsigned bits; } both;
        both.number = value;
        *(unsigned long long volatile *) at = (unsigned long long) kind << 32 | both.bits;
    }
    template <typename T>
    static __device__ unsigned ask(unsigned long long const *at, T &value)
    {
        unsigned long long const word = *(unsigned long long const volatile *) at;
        union { T number; unsigned bits; } both;
        both.bits = (unsigned) word;
        value = both.number;
        return (unsigned) (word >> 32);
    }
};
template <> struct pg_parts<false> {
    static constexpr int words = 3;
    template <typename T>
    static __device__ void tell(unsigned long long *at, unsigned kind, T value)
    {
        *(T volatile *) (at + kind) = value;
        __threadfence();
        *(unsigned long long volatile *) at = kind;
    }
    template <typename T>
    static __device__ unsigned ask(unsigned long long const *at, T &value)
    {
        unsigned const kind = (unsigned) *(unsigned long long const volatile *) at;
        __threadfence();
        value = *(T const volatile *) (at + (kind ? kind : 1));
        return kind;
    }
};
template <typename Op, typename S, typename T>
__device__ void pg_look_back(S *state, int part, T const *own, T *before)
{
    typedef pg_parts<sizeof(T) <= 4> Parts;
    unsigned long long *const parts = (unsigned long long *) state + 1;
    int const lane = threadIdx.x;
    T const mine = *own;
    if (lane == 0)
        Parts::tell(parts + (long long) Parts::words * part, part == 0 ? 2 : 1, mine);
    if (part == 0)
        return;
    constexpr int ahead = 8; // windows of 32 parts that are asked at once
    T found = mine;
    bool begun = false;
    unsigned whole = 0;
    for (int last = part - 1; whole == 0;) {
        T values[ahead];
        unsigned kinds[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            int const from = last - 32 * k - lane;
            values[k] = mine;
            kinds[k] = 1;
            if (from >= 0)
                kinds[k] = Parts::ask(parts + (long long) Parts::words * from, values[k]);
        }
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            if (whole)
                break;
            T value = values[k];
            unsigned kind = kinds[k];
            for (;;) {
                unsigned const none = __ballot_sync(0xffffffffu, kind == 0);
                whole = __ballot_sync(0xffffffffu, kind == 2);
                if ((none & ((whole & (0u - whole)) - 1)) == 0)
                    break;
                if (kind == 0)
                    kind = Parts::ask(parts + (long long) Parts::words * (last - lane), value);
            }
            int const stop = whole ? __ffs(whole) - 1 : 31;
            for (int by = 1; by < 32; by *= 2) {
                T const other = __shfl_down_sync(0xffffffffu, value, by);
                if (lane + by <= stop)
                    value = Op::of(other, value);
            }
            value = __shfl_sync(0xffffffffu, value, 0);
            found = begun ? Op::of(value, found) : value;
            begun = true;
            last -= 32;
        }
    }
    if (lane == 0) {
        Parts::tell(parts + (long long) Parts::words * part, 2, Op::of(found, mine));
        *before = found;
    }
}
"""
