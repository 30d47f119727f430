"""Inlines calls: the instructions of the called kernel take their place.

Loops and temporaries get names of their own, which depend on the call's id alone, so that they are
the same before and after a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import islpy as isl

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.typing.call_arguments import given_by, refusal
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.analysis.typing.inference import sizes
from polygen.errors import MalformedInstruction, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable, ValueArg
from polygen.ir.claims import Claim, Independent, Injective
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.empty import NO_NAMES, new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import InameTag


def as_units(kernel: Kernel) -> Kernel:
    """Return a kernel whose calls are single instructions that touch what they stand for touches.

    Parameters:
        kernel: without substitution rules; it knows what it calls.
    """
    full, ids = kernel.expanded, parts_of_calls(kernel)
    return full.copy(
        instructions=tuple(
            [
                i.copy(parts=tuple([full.instructions_by_id[n] for n in ids[i.id]]))
                if isinstance(i, KernelCall)
                else i
                for i in kernel.instructions
            ]
        )
    )


@dataclass
class _Parts:
    """The parts of a kernel whose calls are inlined."""

    domains: list[Domain]
    instructions: list[Instruction]
    temporaries: list[TemporaryVariable]
    tags: dict[str, InameTag]
    priorities: list[tuple[str, ...]]
    claims: list[Claim]
    separations: list[Expression]
    preambles: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    ids: dict[str, tuple[str, ...]] = field(default_factory=new_dict)
    exact: bool = False  # whether what is called wants no fused multiply-add


def inlined(kernel: Kernel, names: Collection[str] | None = None) -> Kernel:
    """Return a kernel with instructions in place of calls of the named kernels; of all, for None.

    A call of what is not known reads and writes what it is given, nobody knows how.

    Parameters:
        kernel: without substitution rules.
        names: those of functions.

    Raises:
        MalformedInstruction: if a loop would end at something that is not affine, or verbatim C
            would have to be renamed.
    """
    known = {*kernel.inames, *kernel.variables, *kernel.instructions_by_id}
    parts = _Parts(
        list(kernel.domains),
        [],
        list(kernel.temporaries),
        dict(kernel.tags),
        list(kernel.priorities),
        list(kernel.claims),
        list(kernel.separations),
    )
    for insn in kernel.instructions:
        if not isinstance(insn, KernelCall) or not (names is None or insn.function in names):
            parts.instructions.append(insn)
        elif insn.callee is None:
            parts.instructions.append(_unknown(kernel, insn))
        else:
            Inlining(kernel, insn, known).add_to(parts)
    new = kernel.copy(
        domains=tuple(parts.domains),
        instructions=tuple([_after(insn, parts.ids) for insn in parts.instructions]),
        temporaries=tuple(parts.temporaries),
        tags=parts.tags,
        priorities=tuple(parts.priorities),
        claims=tuple(dict.fromkeys(parts.claims)),
        separations=tuple(_possible(kernel, parts)),
        preambles=tuple(sorted({*kernel.preambles, *parts.preambles})),
        options=replace(kernel.options, contract="off") if parts.exact else kernel.options,
    )
    if names is None:
        kernel.notes.parts_of_calls = parts.ids
    return new


def _possible(kernel: Kernel, parts: _Parts) -> Iterator[Expression]:
    """Yield the separations that mention no data: sizes of what is called may be such."""
    if parts.separations:
        known = {*kernel.parameters, *(i for domain in parts.domains for i in domain.inames)}
        yield from (c for c in parts.separations if walk.free_variables(c) <= known)


def parts_of_calls(kernel: Kernel) -> Mapping[str, tuple[str, ...]]:
    """Return the ids of the instructions of `Kernel.expanded` that each call stands for, by ids."""
    kernel = kernel.without_rules
    if not kernel.calls:
        return {}
    if kernel.notes.parts_of_calls is None:
        inlined(kernel)
    found = kernel.notes.parts_of_calls
    assert found is not None
    return found


def _unknown(kernel: Kernel, call: KernelCall) -> CInstruction:
    """Return what stands for a call while nobody knows what it calls: it may touch all it names."""
    return CInstruction(
        (),
        "",
        call.read_names & kernel.variables.keys(),
        call.assignees,
        call.id,
        call.within_inames,
        call.depends_on,
        call.predicates,
        location=call.location,
    )


def _after(insn: Instruction, ids: dict[str, tuple[str, ...]]) -> Instruction:
    """Return an instruction that depends on all of a call where it depended on the call."""
    before, waits, related = insn.depends_on, insn.no_sync_with, insn.happens_after
    if before.isdisjoint(ids) and not waits and not related:
        return insn
    return insn.copy(
        depends_on=frozenset([new for old in before for new in ids.get(old, (old,))]),
        no_sync_with=frozenset([(n, scope) for old, scope in waits for n in ids.get(old, (old,))]),
        happens_after=frozenset(
            [replace(r, first=n) for r in related for n in ids.get(r.first, (r.first,))]
        ),
    )


class Inlining:
    """The instructions that one call stands for.

    Parameters:
        kernel: the kernel that calls.
        call: what it calls is known.
        taken: names that are used already; the new ones are added.
    """

    def __init__(self, kernel: Kernel, call: KernelCall, taken: set[str]) -> None:
        assert call.callee is not None
        self._caller, self._call = kernel, call
        self._kernel = call.callee.expanded
        if self._kernel.derived_sizes:
            raise _not_callable(kernel, call, self._kernel)
        self._given = given_by(call)
        self._taken = taken
        own = (*self._kernel.inames, *(t.name for t in self._kernel.temporaries))
        self.names = {name: self._new(name) for name in own}
        self._ids = {i.id: self._new(i.id) for i in self._kernel.instructions}

    def _new(self, name: str) -> str:
        like = new = f"{self._call.id}_{name}"
        count = 0
        while new in self._taken:
            new, count = f"{like}_{count}", count + 1
        self._taken.add(new)
        return new

    def add_to(self, parts: _Parts) -> None:
        """Add all that the call stands for."""
        kernel, new = self._kernel, self.names
        parts.exact |= kernel.options.contract != "fast"
        parts.domains += [self._domain(domain) for domain in kernel.domains]
        parts.instructions += [self._copied(insn) for insn in kernel.instructions]
        parts.temporaries += [
            replace(t, name=new[t.name], shape=tuple([self._extent(t.name, e) for e in t.shape]))
            for t in kernel.temporaries
        ]
        parts.tags |= {new[iname]: tag for iname, tag in kernel.tags.items()}
        parts.priorities += self._priorities()
        parts.claims += [self._claim(c) for c in kernel.claims if not isinstance(c, Injective)]
        parts.separations += map(self.converted, kernel.separations)
        parts.preambles += kernel.preambles
        parts.ids[self._call.id] = tuple(self._ids.values())

    def _extent(self, name: str, extent: Expression) -> Expression:
        """Return an extent of a temporary in terms of the parameters of the kernel that calls."""
        found = self.converted(extent)
        form = linear_form(found)
        found = found if form is None else form.expression()
        for other in sorted(walk.free_variables(found)):
            if not isinstance(self._caller.variables.get(other), ValueArg):
                raise refusal(self._caller, self._call)(
                    MalformedInstruction,
                    f"the temporary '{name}' of kernel '{self._kernel.name}' would have the extent "
                    f"{show_expression(found)}, which is known only once the kernel runs",
                )
        return found

    def _claim(self, claim: Claim) -> Claim:
        if isinstance(claim, Independent):
            return Independent(self._ids[claim.first], self._ids[claim.second])
        return claim

    def _domain(self, domain: Domain) -> Domain:
        flat, scalars = domain.flat, self._given.scalars
        given: list[tuple[str, Expression]] = []
        for name in (*domain.inames, *domain.parameters):
            new = self.names.get(name) or f"__{self._call.id}_{name}"
            flat = rename_dimension(flat, name, new)
            if name in scalars:
                given.append((new, scalars[name]))
        equations = [self._equation(name, value) for name, value in given]
        flat = project_out(reduce(isl.Set.intersect, equations, flat), [name for name, _ in given])
        return Domain(unflatten(flat, [self.names[i] for i in domain.inames]))

    def _equation(self, name: str, value: Expression) -> isl.Set:
        found = condition_set(ex.Comparison(ex.Variable(name), "==", value))
        if found is None:
            raise refusal(self._caller, self._call)(
                MalformedInstruction,
                f"a loop of kernel '{self._kernel.name}' would end at '{show_expression(value)}', "
                "which is no affine function of inames and sizes",
            )
        return found

    def _priorities(self) -> list[tuple[str, ...]]:
        """Return the priorities of the kernel's loops, and of those around over them."""
        loops = NO_NAMES.union(*(i.within_inames for i in self._kernel.instructions))
        own = [tuple([self.names[i] for i in p]) for p in self._kernel.priorities]
        return own + [
            (around, self.names[iname])
            for around in sorted(self._call.within_inames)
            for iname in self._kernel.inames
            if iname in loops
        ]

    def _copied(self, insn: Instruction) -> Instruction:
        what = "has verbatim C" if isinstance(insn, CInstruction) else ""
        what = "orders some instances of instructions" if insn.happens_after else what
        if what:
            raise refusal(self._caller, self._call)(
                MalformedInstruction,
                f"kernel '{self._kernel.name}' {what}, in names that would be others here: such a "
                "kernel cannot be called",
            )
        within = frozenset([self.names[i] for i in insn.within_inames])
        return insn.map_expressions(self.converted).copy(
            id=self._ids[insn.id],
            within_inames=within | self._call.within_inames,
            depends_on=frozenset([self._ids[i] for i in insn.depends_on]) | self._call.depends_on,
            predicates=(*self._call.predicates, *map(self.converted, insn.predicates)),
            no_sync_with=frozenset([(self._ids[i], scope) for i, scope in insn.no_sync_with]),
            groups=insn.groups | self._call.groups,
            happens_after=self._call.happens_after,
            location=self._call.location,
        )

    def _number(self, name: str, value: Expression) -> Expression:
        """Return a number as the kernel has it: of the type that it declares."""
        argument = self._kernel.variables[name]
        dtype = "" if argument.dtype is None else argument.dtype.name
        if dtype not in FUNCTIONS or name in sizes(self._kernel):
            return value
        return ex.converted(dtype, value)

    def converted(self, node: Expression) -> Expression:
        """Return an expression of the kernel that is called in terms of the one that calls."""
        given = self._given
        if isinstance(node, ex.Variable):
            if node.name in given.scalars:
                return self._number(node.name, given.scalars[node.name])
            if node.name in given.arrays:  # without axes
                return given.arrays[node.name].subscript
            return ex.Variable(self.names[node.name]) if node.name in self.names else node
        if isinstance(node, ex.Subscript) and ex.name_of(node) in given.arrays:
            part = given.arrays[ex.name_of(node)]
            index = [self.converted(i) for i in ex.index_tuple(node)]
            return walk.substitute(part.subscript, dict(zip(part.swept_inames, index, strict=True)))
        if isinstance(node, ex.Reduction):
            node = replace(node, inames=tuple([self.names[i] for i in node.inames]))
        return walk.rebuild(node, tuple([self.converted(p) for p in walk.parts(node)]))


def _not_callable(kernel: Kernel, call: KernelCall, callee: Kernel) -> UserError:
    """Return the error that says that a kernel has sizes which callers do not pass."""
    size = callee.derived_sizes[0]
    if size.is_open:
        why = "as a condition ends a loop in it"
        remedy = "write what it does in the place of the call"
    else:
        why = "a product that follows from others"
        remedy = "let it have a loop for each factor, one inside of the other"
    error = refusal(kernel, call)(
        MalformedInstruction,
        f"kernel '{callee.name}' has the size {size}, {why}: such a kernel cannot be called",
    )
    error.remedy = remedy
    return error
