"""`polygen.recompute_temporaries`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from itertools import count

from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import NotARule, NotRecomputable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import to_names, transformation
from polygen.transforms.arrays.array_rewriting import Temporaries, without_rules_about


@transformation
def recompute_temporaries(kernel: Kernel, temp_var_names: Temporaries) -> Kernel:
    """Compute temporaries anew where they are read, in scalars of the iterations that read them.

    Each element that an iteration reads becomes a scalar, however often it is read; so do the
    elements of the named temporaries that this one is computed of.  The temporaries are gone, with
    their instructions.  `assignment_to_subst` writes the value into the expression itself.

    Kind: order and storage.

    Requires:
        1. One assignment writes each temporary, under no condition, without a reduction, and does
           not read it, nor what is computed of it.
        2. The subscripts that it writes are inames, each once; its other inames are around what
           reads the temporary, too.
        3. Values and subscripts of assignments read the temporaries, neither conditions nor bounds
           nor what a reduction adds up.
        4. What it is computed of is the same where the temporary is read, and is there.

    Parameters:
        temp_var_names: the temporaries: ``"s, t"``, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<=n and 0<=j<n }",
        ...     ["t[i] = 2*a[i]", "out[j] = t[j+1]*t[j+1] - t[j]"],
        ...     [pg.TemporaryVariable("t", "float32", "n+1", pg.AddressSpace.GLOBAL), "..."],
        ...     name="ends",
        ... )
        >>> knl = pg.recompute_temporaries(pg.add_dtypes(knl, {"a": "float32"}), "t")
        >>> print(pg.generate_code(pg.remove_unused_inames(knl), "c"))
        void ends(float const *restrict a, int const n, float *restrict out)
        {
            for (int j = 0; j < n; ++j) {
                float const t_0 = 2.0f * a[j + 1];
                float const t_1 = 2.0f * a[j];
                out[j] = t_0 * t_0 - t_1;
            }
        }

    Raises:
        UnknownArgument, InvalidArgument: if the kernel has no such temporary.
        NotARule: if 1 does not hold, or if the subscripts that are written are no inames.
        NotRecomputable: if inames are not around what reads the temporary, or if 3 does not hold.
        IllegalStep, CannotProve, OutOfBounds: if 4 does not hold.
    """
    names = to_names(temp_var_names)
    kernel = without_rules_about(kernel, names)
    definitions = {name: _definition(kernel, name) for name in names}
    for name in names:
        _check_bounds(kernel, name)
        _check_own(kernel, name, definitions)
    gone = {definition.id: definition for definition in definitions.values()}
    work = _Work(kernel, definitions)
    insns: list[Instruction] = []
    for insn in kernel.instructions:
        if insn.id not in gone:
            insns += work.with_scalars(insn)
    for definition in _last_first(gone):
        insns = [insn.without(definition) for insn in insns]
    return kernel.copy(
        instructions=tuple(insns),
        temporaries=(*[t for t in kernel.temporaries if t.name not in names], *work.scalars),
    )


# --- what is computed anew


def _definition(kernel: Kernel, name: str) -> Assignment:
    writers = kernel.writers.get(name, ())
    if len(writers) != 1:
        raise _no_rule(kernel, name, writers, "more than one instruction writes it, or none does")
    (definition,) = writers
    if not isinstance(definition, Assignment):
        raise _no_rule(kernel, name, writers, "it is written together with others")
    if definition.predicates or definition.atomicity or definition.happens_after:
        raise _no_rule(kernel, name, writers, "it is written under a condition, or atomically")
    if definition.reductions:
        raise _no_rule(kernel, name, writers, "it is a reduction")
    index = [i.name for i in ex.index_of(definition.assignee) if isinstance(i, ex.Variable)]
    own = definition.within_inames.intersection(index)
    if len(own) < len(ex.index_of(definition.assignee)):
        raise _no_rule(
            kernel,
            name,
            writers,
            "the subscripts that it is written with are not inames, each once",
        )
    return definition


def _check_own(kernel: Kernel, name: str, definitions: Mapping[str, Assignment]) -> None:
    """Check that a temporary is not computed of itself."""
    pending, seen = [name], set[str]()
    while pending:
        read = walk.free_variables(definitions[pending.pop()].expression)
        new = read.intersection(definitions) - seen
        seen |= new
        pending += sorted(new)
    if name in seen:
        raise _no_rule(kernel, name, [definitions[name]], "it is computed of itself")


def _check_bounds(kernel: Kernel, name: str) -> None:
    for domain in kernel.domains:
        if name in domain.parameters:
            raise NotRecomputable(
                f"recompute_temporaries: '{name}' is a bound in {domain}",
                where=caller_location(),
                remedy="leave it out",
            )


def _no_rule(kernel: Kernel, name: str, insns: Iterable[Instruction], why: str) -> NotARule:
    return NotARule(
        f"recompute_temporaries: no expression stands for '{name}': {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, *(insn.id for insn in insns)),
        remedy="name temporaries that one assignment computes element by element",
    )


def _last_first(gone: Mapping[str, Assignment]) -> list[Assignment]:
    """Return instructions, each before those that it depends on."""
    order = TopologicalSorter({i: insn.depends_on & gone.keys() for i, insn in gone.items()})
    return [gone[i] for i in reversed([*order.static_order()])]


# --- where it is read


@dataclass
class _Work:
    """What is computed anew, and the scalars so far.

    Attributes:
        kernel: the kernel.
        definitions: what computes each temporary.
        scalars: the new temporaries.
    """

    kernel: Kernel
    definitions: Mapping[str, Assignment]
    scalars: list[TemporaryVariable] = field(default_factory=list[TemporaryVariable])

    def with_scalars(self, insn: Instruction) -> list[Instruction]:
        """Return an instruction, after those that compute what it reads."""
        if insn.read_names.isdisjoint(self.definitions):
            return [insn]
        if not isinstance(insn, Assignment):
            raise self.refusal(insn, "it is no assignment of one value")
        for predicate in insn.predicates:
            if not walk.free_variables(predicate).isdisjoint(self.definitions):
                raise self.refusal(insn, "its condition reads that")
        return _Reader(self, insn).run()

    def scalar(self, name: str) -> str:
        """Return the name of a new scalar, which no variable and no instruction has."""
        old = self.kernel.array(name)
        assert isinstance(old, TemporaryVariable)
        taken = {scalar.name for scalar in self.scalars}
        taken |= self.kernel.names | self.kernel.instructions_by_id.keys()
        new = next(f"{name}_{n}" for n in count() if f"{name}_{n}" not in taken)
        space = AddressSpace.PRIVATE
        self.scalars.append(
            replace(old, name=new, shape=(), dim_tags=None, dim_names=None, address_space=space)
        )
        return new

    def refusal(self, insn: Instruction, why: str) -> NotRecomputable:
        """Return the error for an instruction."""
        read = sorted(insn.read_names.intersection(self.definitions))
        return NotRecomputable(
            f"recompute_temporaries: '{insn.id}' cannot have scalars in the place of "
            f"{', '.join(read)}: {why}",
            where=caller_location(),
            excerpt=excerpt(self.kernel, insn.id),
            remedy="assignment_to_subst writes values into expressions",
        )


class _Reader:
    """An instruction that reads temporaries, and the scalars that it gets."""

    def __init__(self, work: _Work, insn: Assignment) -> None:
        self._work = work
        self._insn = insn
        self._known: dict[tuple[object, ...], str] = {}
        self._new: list[Instruction] = []

    def run(self) -> list[Instruction]:
        """Return the instruction, after those that compute its scalars."""
        insn = self._insn.map_reads(lambda node: self._rewritten(node, {}, NO_NAMES))
        before = self._read(insn.read_names)
        return [*self._new, insn.copy(depends_on=insn.depends_on.union(before))]

    def _read(self, names: frozenset[str]) -> list[str]:
        """Return the instructions that compute the scalars among some variables."""
        return [new.id for new in self._new if not names.isdisjoint(new.written_names)]

    def _rewritten(
        self, node: Expression, at: Mapping[str, Expression], bound: frozenset[str]
    ) -> Expression:
        """Return an expression with scalars.

        Parameters:
            node: the expression.
            at: what inames stand for in it.
            bound: the inames of the reductions that it is in.
        """
        if isinstance(node, ex.Reduction):
            bound = bound.union(node.inames)
        elif isinstance(node, ex.Subscript | ex.Variable):
            index = [self._rewritten(i, at, bound) for i in ex.index_of(node)]
            if ex.name_of(node) in self._work.definitions:
                return ex.Variable(self._element(ex.name_of(node), index, at, bound))
            if isinstance(node, ex.Variable):
                return at.get(node.name, node)
            moved = tuple(map(_normal, index)) if at else tuple(index)
            return ex.Subscript(node.aggregate, moved[0] if len(moved) == 1 else moved)
        parts = [self._rewritten(part, at, bound) for part in walk.parts(node)]
        return walk.rebuild(node, tuple(parts))

    def _element(
        self,
        name: str,
        index: Sequence[Expression],
        at: Mapping[str, Expression],
        bound: frozenset[str],
    ) -> str:
        """Return the scalar that holds an element."""
        values = self._instance(name, index, at)
        used = NO_NAMES.union(*map(walk.free_variables, values.values()))
        if used & bound:
            why = f"a reduction over '{min(used & bound)}' reads it"
            raise self._work.refusal(self._insn, why)
        key = name, tuple(sorted(values.items()))
        if key not in self._known:
            definition = self._work.definitions[name]
            value = self._rewritten(definition.expression, values, NO_NAMES)
            scalar = self._known[key] = self._work.scalar(name)
            before = self._read(walk.free_variables(value))
            self._new.append(
                definition.copy(
                    id=scalar,
                    assignee=ex.Variable(scalar),
                    expression=value,
                    within_inames=self._insn.within_inames,
                    depends_on=definition.depends_on.union(before),
                    predicates=self._insn.predicates,
                )
            )
        return self._known[key]

    def _instance(
        self, name: str, index: Sequence[Expression], at: Mapping[str, Expression]
    ) -> dict[str, Expression]:
        """Return the values of inames for which a temporary's instruction writes an element."""
        definition = self._work.definitions[name]
        written = [i.name for i in ex.index_of(definition.assignee) if isinstance(i, ex.Variable)]
        values = dict(zip(written, map(_normal, index), strict=True))
        for iname in sorted(definition.within_inames.difference(written)):
            if iname in at:
                values[iname] = at[iname]
            elif iname not in self._insn.within_inames:
                why = f"it is not in the loop of '{iname}', as what computes '{name}' is"
                raise self._work.refusal(self._insn, why)
        return values


def _normal(node: Expression) -> Expression:
    """Return a subscript in one form, so that equal ones are alike."""
    form = linear_form(node)
    return node if form is None else form.expression()
