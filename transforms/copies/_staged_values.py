"""Shared parts of `precompute` and `add_prefetch`: a rule's values, staged ahead of their uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.expansion.rule_uses import replace_uses, uses_in
from polygen.analysis.expansion.values_to_precompute import Gathering, Subscripts, footprint
from polygen.analysis.integers.affine_forms import with_normal_subscripts
from polygen.analysis.integers.isl_affine import set_condition
from polygen.errors import NothingMatches, NotSwept, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import expand, used_rules
from polygen.ir.tags import AutoLocalTag, GroupTag, LocalTag, is_parallel
from polygen.source import caller_location
from polygen.transforms.copies._divided_uses import in_terms_of_the_divided
from polygen.transforms.copies._storage_axes import StorageAxes
from polygen.transforms.copies._storage_places import (
    Storage,
    Turns,
    check_old_loops,
    depended_on,
    old_temporary,
    reused,
    turns,
)
from polygen.transforms.rules.rewritten_rules import with_rules_rewritten

_MOST_TRIED = 8  # sets of as many loops


@dataclass(frozen=True)
class Selection:
    """The selected uses of a rule.

    Attributes:
        rule: its name.
        tag: of the uses; None for all.
        ids: of the instructions that are looked at.
        swept: the inames over which values are gathered.
        given: what is needed, if that is said.
        extents: of the array that the rule reads, for what is given as all of an axis.
    """

    rule: str
    tag: str | None
    ids: frozenset[str]
    swept: frozenset[str]
    given: Sequence[Subscripts] = ()
    extents: Sequence[Expression] = ()

    def has(self, use: ex.Invocation) -> bool:
        """Tell whether an invocation is one of them, as far as it itself can tell."""
        return use.rule == self.rule and self.tag in (None, use.tag)


def staged(kernel: Kernel, which: Selection, how: Storage) -> Kernel:
    """Return the kernel with values of a rule computed ahead of their uses.

    A rule that nothing invokes any more is gone.
    """
    around = {
        name: rule
        for name, rule in kernel.rules.items()
        if name != which.rule and which.rule in used_rules(rule.invocations, kernel.rules)
    }
    inner = kernel.copy(
        instructions=tuple(
            insn.map_expressions(lambda e: expand(e, around)) if insn.id in which.ids else insn
            for insn in kernel.instructions
        )
    )
    old = which.rule
    divided = None if which.given else _in_terms_of_the_divided(inner, which)
    if divided is not None:
        kernel = inner = divided[0]
        around, which = {}, divided[1]
    stage = _Stage(inner, which, how)
    first: Kernel | None = None
    for more in stage.further_loops():
        new = stage.kernel(kernel, frozenset(around), more)
        new = new.without_unused({old, which.rule, *(r.name for r in new.substitutions)})
        if why_none_is_permitted(new) is None:
            return new
        first = first or new
    assert first is not None
    raise _no_order(first, how)


def _in_terms_of_the_divided(kernel: Kernel, which: Selection) -> tuple[Kernel, Selection] | None:
    """Return the kernel in which the uses give a rule what they divide by sizes, if they do."""
    uses = [u for i in kernel.instructions if i.id in which.ids for u in uses_in(i, which.has)]
    found = in_terms_of_the_divided(kernel, kernel.rules[which.rule], uses)
    if found is None:
        return None
    rule, others = found

    def rewrite(node: Expression) -> Expression:
        return replace_uses(node, which.has, lambda use: others[use])

    new = kernel.copy(
        instructions=tuple(
            insn.map_reads(rewrite) if insn.id in which.ids else insn
            for insn in kernel.instructions
        ),
        substitutions=(*kernel.substitutions, rule),
    )
    return new, replace(which, rule=rule.name)


def _no_order(kernel: Kernel, how: Storage) -> UserError:
    """Return the error that says why values cannot be computed where they would be."""
    why = why_none_is_permitted(kernel)
    assert why is not None
    inames = ", ".join(sorted(kernel.instruction(how.insn_id).within_inames))
    return type(why)(
        f"what '{how.temporary}' stores cannot be computed within {{{inames}}} ahead of its "
        f"uses: {why.what}",
        where=caller_location(),
        excerpt=why.excerpt,
        remedy="sweep over the loops of the uses that stand in the way, or name them among the "
        "outer inames, or give the uses loops of their own: duplicate_inames; a reduction that "
        "has to go on in loops outside of these, realize_reduction makes instructions of",
    )


class _Stage:
    """The values, where they are stored, and what computes them."""

    def __init__(self, kernel: Kernel, which: Selection, how: Storage) -> None:
        self._kernel = kernel
        self._which = which
        self._how = how
        self._rule = kernel.rules[which.rule]
        found = [
            use
            for insn in kernel.instructions
            if insn.id in which.ids
            for use in uses_in(insn, which.has)
        ]
        if not found:
            tagged = f"${which.tag}" if which.tag else ""
            raise NothingMatches(
                f"nothing that is looked at in kernel '{kernel.name}' uses '{which.rule}{tagged}'",
                where=caller_location(),
                remedy="print(kernel) shows what does",
            )
        self._of = Gathering(kernel, self._rule, found, which.swept)
        self._readers = {use.insn.id for use in found}
        _check_sweeps(self._of)
        self._old = old_temporary(kernel, how)
        shared = AddressSpace.GLOBAL in (how.space, self._old and self._old.address_space) or any(
            isinstance(kernel.tags.get(iname), GroupTag) for iname in which.swept
        )
        self._found = footprint(self._of, which.given, which.extents, sized=shared)
        self._axes = StorageAxes(kernel, self._of, self._found, how)

    def further_loops(self) -> Iterator[frozenset[str]]:
        """Yield sets of loops of the uses that the computation may be within, too: first none.

        For what decides none of the values, but is around something else that the uses need:

            for i: fetch_a = a[i]           (what `add_prefetch` made before)
            for j: fetch_b = b[j]           no: `c[i, j]`, which needs both, is in i and j
            for i: for j: fetch_b = b[j]    yes
        """
        yield NO_NAMES
        if self._how.outer is not None or self._old is not None:
            return
        used = self._outer.union(self._which.swept, self._axes.olds)
        tags = self._kernel.tags
        rest = [
            i
            for i in self._kernel.inames
            if i in self._of.common and i not in used and not is_parallel(tags.get(i))
        ]
        for count in range(1, len(rest) + 1):
            for some in islice(combinations(rest, count), _MOST_TRIED):
                more = with_surrounding(self._kernel, some)
                if more <= self._outer.union(rest):
                    yield more

    def kernel(self, written: Kernel, around: frozenset[str], more: frozenset[str]) -> Kernel:
        """Return the new kernel.

        Parameters:
            written: the kernel with all its rules.
            around: those that invoke the one whose values are computed ahead.
            more: further loops that the computation is within.
        """
        outer = self._outer | more
        computed = self._computation(outer)
        after = NO_NAMES if self._old is None else self._turns.after
        served = self._served(written, around)
        instructions: list[Instruction] = []
        for insn in served.instructions:
            if insn.id in self._readers:
                if computed not in instructions:
                    instructions.append(computed)
                instructions.append(insn.copy(depends_on=insn.depends_on | {computed.id}))
            elif insn.id in after:
                instructions.append(insn.copy(depends_on=insn.depends_on | self._readers))
            else:
                instructions.append(insn)
        news = self._axes.news
        tags = {} if self._how.tag is None else dict.fromkeys(news, self._how.tag)
        own = self._how.tags or {}
        special = {i: own[n] for n, i in self._axes.inames.items() if n in own and i in news}
        tags |= special
        loops = len(news) > 1 and (bool(special) or not is_parallel(self._how.tag))
        others = [t for t in self._kernel.temporaries if t.name != self._how.temporary]
        return served.copy(
            domains=(*self._kernel.domains, *self._domains(outer)),
            instructions=tuple(instructions),
            temporaries=(*others, self._temporary),
            tags={**self._kernel.tags, **tags},
            priorities=(*self._kernel.priorities, *((tuple(news),) if loops else ())),
        )

    # --- storage

    @cached_property
    def _space(self) -> AddressSpace:
        if self._how.space not in (None, AddressSpace.AUTO):
            return self._how.space
        if self._old is not None and self._old.address_space is not AddressSpace.AUTO:
            return self._old.address_space
        tags = [self._kernel.tags.get(i) for i in (*self._which.swept, *self._axes.olds)]
        if self._axes.news:
            tags.append(self._how.tag)
        if any(isinstance(tag, GroupTag) for tag in tags):
            return AddressSpace.GLOBAL
        if any(isinstance(tag, LocalTag | AutoLocalTag) for tag in tags):
            return AddressSpace.LOCAL
        return AddressSpace.PRIVATE

    @property
    def _temporary(self) -> TemporaryVariable:
        shape = self._axes.shape
        if self._old is not None:
            return reused(self._kernel, self._old, shape)
        return TemporaryVariable(self._how.temporary, self._how.dtype, shape, self._space)

    @cached_property
    def _turns(self) -> Turns:
        return turns(self._kernel, self._how.temporary, frozenset(self._readers))

    # --- where it is computed

    @cached_property
    def _outer(self) -> frozenset[str]:
        """The inames that the computation is within, its own aside."""
        needed = with_surrounding(self._kernel, self._found.needed)
        self._check_needed(needed)
        if self._how.outer is not None:
            if missing := sorted(needed - self._how.outer):
                raise self._not_swept(missing[0], "is not among the outer inames that are given")
            outer = self._how.outer
        else:
            chosen = {i for i in self._of.common if i in needed or self._belongs_inside(i)}
            outer = with_surrounding(self._kernel, chosen.difference(self._axes.olds)) | needed
        check_old_loops(self._kernel, self._axes.olds, outer)
        return outer

    def _check_needed(self, needed: frozenset[str]) -> None:
        """Check that no two computations store different values in one place at one time."""
        for iname in sorted(needed):
            if iname in self._which.swept:
                raise self._not_swept(iname, "is around the others, so it cannot be swept")
            tag = self._kernel.tags.get(iname)
            if self._space is AddressSpace.LOCAL and isinstance(tag, LocalTag | AutoLocalTag):
                raise self._not_swept(iname, f"is tagged {tag}: the group shares what is stored")
            if self._space is AddressSpace.GLOBAL and is_parallel(tag):
                raise self._not_swept(iname, f"is tagged {tag}: all share what is stored")

    def _not_swept(self, iname: str, why: str) -> NotSwept:
        return NotSwept(
            f"which values of '{self._rule.name}' are needed depends on '{iname}', which {why}",
            where=caller_location(),
            remedy=f"sweep over '{iname}' too, or not at all; or store the values elsewhere: "
            "temporary_address_space",
        )

    def _belongs_inside(self, iname: str) -> bool:
        """Tell whether values are computed anew for each value of an iname that decides none."""
        tag = self._kernel.tags.get(iname)
        if isinstance(tag, GroupTag):
            return self._space is not AddressSpace.GLOBAL
        if isinstance(tag, LocalTag | AutoLocalTag):
            return self._space is AddressSpace.PRIVATE
        # In a loop that changes what is read, every iteration has values of its own.
        return any(iname in w.within_inames for name in self._read for w in self._writers(name))

    @cached_property
    def _read(self) -> frozenset[str]:
        """The variables that the values are computed from."""
        body = expand(self._rule.expression, self._kernel.rules)
        return walk.free_variables(body).intersection(self._kernel.variables)

    def _writers(self, name: str) -> tuple[Assigning, ...]:
        return self._kernel.writers.get(name, ())

    def _domains(self, outer: frozenset[str]) -> Iterator[Domain]:
        if self._axes.news:
            places = self._axes.places(outer)
            yield Domain(places.drop_unused_params())

    # --- what computes it, and what uses it

    def _computation(self, outer: frozenset[str]) -> Assignment:
        values = {name: self._axes.value(name) for name in self._of.names}
        temporaries = domain_temporaries(self._kernel, outer)
        before = depended_on(self._kernel, self._readers)
        return Assignment(
            id=self._how.insn_id,
            assignee=self._place([ex.Variable(self._axes.inames[n]) for n in self._axes.stored]),
            expression=with_normal_subscripts(walk.substitute(self._rule.expression, values)),
            within_inames=outer.union(self._axes.inames.values()),
            predicates=() if self._axes.news else self._conditions(outer),
            depends_on=frozenset(
                w.id
                for name in self._read | temporaries
                for w in self._writers(name)
                if w.id in before
            ).union(() if self._old is None else self._turns.before),
            location=caller_location(),
        )

    def _conditions(self, outer: frozenset[str]) -> tuple[Expression, ...]:
        """Return when a value is needed: where there are new loops, their domain says so."""
        if self._axes.olds:
            needed = self._axes.places(outer).params()
        else:
            needed = self._found.elements.params().gist(domain_of(self._kernel, outer))
        condition = set_condition(needed)
        return () if condition is True else (condition,)

    def _place(self, subscripts: Sequence[Expression]) -> ex.Variable | ex.Subscript:
        variable = ex.Variable(self._how.temporary)
        if not subscripts:
            return variable
        return ex.Subscript(variable, subscripts[0] if len(subscripts) == 1 else tuple(subscripts))

    def _served(self, written: Kernel, around: frozenset[str]) -> Kernel:
        """Return the kernel with what is stored in place of the uses."""

        def read(use: ex.Invocation) -> Expression:
            values = self._rule.values(use)
            return self._place([self._axes.place(n, values[n]) for n in self._axes.stored])

        def rewrite(node: Expression) -> Expression:
            return replace_uses(node, self._which.has, read)

        names = self._axes.base_names
        introduced = names | {self._how.temporary}
        taken = introduced.union(self._axes.inames.values())
        return with_rules_rewritten(
            written, frozenset(self._readers), around, rewrite, introduced, taken
        )


def _check_sweeps(of: Gathering) -> None:
    for iname in sorted(of.swept):
        if not any(iname in use.inames for use in of.uses):
            raise of.refusal(
                NotSwept,
                f"no use of '{of.rule.name}' is within '{iname}', so it cannot be swept",
                "leave it out of the sweep inames",
            )


def made_asynchronous(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with a copying instruction that is asynchronous."""
    return kernel.copy(
        instructions=tuple(
            [
                replace(i, asynchronous=True)
                if isinstance(i, Assignment) and i.id == insn_id
                else i
                for i in kernel.instructions
            ]
        )
    )
