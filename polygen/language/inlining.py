"""Kernels that call kernels: the instructions of the one that is called take the call's place.

``[j]: out[i, j] = f([j]: a[i, j], 2*n)`` gives ``f`` the rows of two arrays and a number.  Nothing
is left of the call, so all rules for kernels are those for the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import islpy as isl

from polygen.analysis.isl_affine import condition_set
from polygen.errors import InvalidArgument, MalformedInstruction, UserError, WrongArity
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show import mark_of
from polygen.ir.show_expression import show_expression
from polygen.language.parser import located
from polygen.language.statement import Statement
from polygen.source import caller_location


@dataclass
class Inliner:
    """Puts the instructions of kernels in the place of calls.

    Parameters:
        kernels: what may be called, by name.

    Attributes:
        domains: the domains of what was inlined.
        temporaries: its temporaries.
        priorities: the loops around a call are outside of those of the kernel that is called.
    """

    kernels: Mapping[str, Kernel]
    domains: list[Domain] = field(default_factory=list[Domain])
    temporaries: list[TemporaryVariable] = field(default_factory=list[TemporaryVariable])
    priorities: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def inlined(self, statements: Sequence[Statement], inames: Iterable[str]) -> list[Statement]:
        """Return the statements with calls of kernels replaced.

        Raises:
            WrongArity: if a call has another number of arguments than the kernel.
            MalformedInstruction: if a part of an array is given to nothing, or an argument is of
                another form than the kernel's.
        """
        taken = {*inames, *(s.id or "" for s in statements)}
        for s in statements:
            taken |= {name for node in s.expressions for name in walk.free_variables(node)}
        found: list[Statement] = []
        parts: dict[str, tuple[str, ...]] = {}
        for statement in statements:
            call = _call(statement)
            name = "" if call is None else ex.name_of(call.function)
            if call is None or name not in self.kernels:
                _check_no_part(statement)
                found.append(statement)
                continue
            written = {n for s in statements if s is not statement for n in s.written_names}
            copy = _Copy(self.kernels[name], statement, call, taken, frozenset(inames), written)
            new = copy.statements()
            found += new
            self.domains += copy.domains()
            self.temporaries += copy.temporaries()
            self.priorities += copy.priorities()
            if statement.id is not None:
                parts[statement.id] = tuple([s.id for s in new if s.id is not None])
        return [_depending(s, parts) for s in found]


def _call(statement: Statement) -> ex.Call | None:
    """Return the call that gives a statement all of its values; None if there is none."""
    node = statement.values[0] if statement.values else None
    if isinstance(node, ex.Component):
        node = node.aggregate
    return node if isinstance(node, ex.Call) else None


def _check_no_part(statement: Statement) -> None:
    for node in statement.expressions:
        for part in walk.subexpressions(node):
            if isinstance(part, ex.SubArrayRef):
                raise located(
                    MalformedInstruction,
                    f"'{show_expression(part)}' is a part of an array, which only a kernel that is "
                    "called takes",
                    statement.text,
                    max(0, statement.text.find("[" + part.swept_inames[0])),
                    "pass the kernel: make_kernel(..., functions={'f': make_function(...)})",
                )


def _depending(statement: Statement, parts: Mapping[str, tuple[str, ...]]) -> Statement:
    """Return a statement that depends on all of a call where it depended on the call."""
    found = [part for name in statement.dependencies for part in parts.get(name, (name,))]
    return replace(statement, dependencies=tuple(dict.fromkeys(found)))


_REMEDY = "pass scalars and arrays that are read as arguments, assign those that are written"


class _Copy:
    """The instructions of a kernel, for one call of it."""

    def __init__(
        self,
        kernel: Kernel,
        statement: Statement,
        call: ex.Call,
        taken: set[str],
        inames: frozenset[str],
        written: set[str],
    ) -> None:
        self._kernel = kernel.expanded
        self._statement = statement
        self._taken = taken
        self._arrays: dict[str, ex.SubArrayRef] = {}
        self._scalars: dict[str, Expression] = {}
        self._bind(call)
        self._id = statement.id or self._new(ex.name_of(call.function))
        own = (*self._kernel.inames, *(t.name for t in self._kernel.temporaries))
        self._names = {name: self._new(f"{ex.name_of(call.function)}_{name}") for name in own}
        self._around = self._inames_around(inames, written)

    def _new(self, like: str) -> str:
        name, count = like, 0
        while name in self._taken:
            name, count = f"{like}_{count}", count + 1
        self._taken.add(name)
        return name

    # --- arguments

    def _bind(self, call: ex.Call) -> None:
        kernel = self._kernel
        read = frozenset[str]().union(*(insn.read_names for insn in kernel.instructions))
        inputs = [a for a in kernel.arguments if isinstance(a, ValueArg) or a.name in read]
        outputs = [a for a in kernel.arguments if a.name in kernel.writers]
        for what, wanted, given in (
            ("argument", inputs, call.parameters),
            ("assignee", outputs, self._statement.assignees),
        ):
            if len(wanted) != len(given):
                names = ", ".join(a.name for a in wanted)
                raise self._refused(
                    WrongArity,
                    f"kernel '{kernel.name}' takes {len(wanted)} {what}"
                    f"{'' if len(wanted) == 1 else 's'} ({names}), and is given {len(given)}",
                )
            for argument, node in zip(wanted, given, strict=True):
                self._bind_one(argument, node)

    def _bind_one(self, argument: Argument, node: Expression) -> None:
        if isinstance(argument, ValueArg):
            if isinstance(node, ex.SubArrayRef):
                raise self._refused(
                    MalformedInstruction, f"'{argument.name}' is a number, and is given an array"
                )
            self._scalars[argument.name] = node
            return
        part = self._part(argument, node)
        if self._arrays.setdefault(argument.name, part) != part:
            raise self._refused(
                MalformedInstruction,
                f"'{argument.name}' is read and written, and is given two parts of arrays",
            )

    def _part(self, argument: GlobalArg, node: Expression) -> ex.SubArrayRef:
        rank = len(argument.shape or ())
        if isinstance(node, ex.Variable):  # the whole array
            names = tuple([f"_{axis}" for axis in range(rank)])
            index: Any = tuple(map(ex.Variable, names))
            return ex.SubArrayRef(names, ex.Subscript(node, index[0] if rank == 1 else index))
        if not isinstance(node, ex.SubArrayRef) or not isinstance(node.subscript, ex.Subscript):
            raise self._refused(
                MalformedInstruction,
                f"'{argument.name}' is an array, and is given '{show_expression(node)}'",
            )
        if len(node.swept_inames) != rank:
            raise self._refused(
                MalformedInstruction,
                f"'{argument.name}' has {rank} axes, and is given '{show_expression(node)}', which "
                f"has {len(node.swept_inames)}",
            )
        return node

    def _refused(self, kind: type[UserError], what: str, remedy: str = _REMEDY) -> UserError:
        return located(kind, what, self._statement.text, 0, remedy)

    # --- what surrounds it

    def _inames_around(self, inames: frozenset[str], written: set[str]) -> frozenset[str]:
        """Return the inames that the call is within.

        Where it reads what other instructions write, these would be theirs, too, and are not known.
        """
        statement = self._statement
        if statement.all_inames is not None:
            return statement.all_inames
        names = frozenset[str]().union(*(map(walk.free_variables, self._scalars.values())))
        for part in self._arrays.values():
            names |= walk.free_variables(part.subscript).difference(part.swept_inames)
        names = names.union(*map(walk.free_variables, statement.predicates))
        if (computed := sorted(names & written)) and not statement.is_in_for:
            raise self._refused(
                MalformedInstruction,
                f"the call reads '{computed[0]}', which another instruction writes, so it has to "
                "say which loops it is in",
                "add inames=..., or put the call into a 'for' block",
            )
        return names.intersection(inames) | statement.more_inames

    # --- the copy

    def domains(self) -> list[Domain]:
        """Return the domains, with arguments in place of parameters."""
        return [self._domain(domain) for domain in self._kernel.domains]

    def _domain(self, domain: Domain) -> Domain:
        flat = domain.flat
        given: list[tuple[str, Expression]] = []
        for name in (*domain.inames, *domain.parameters):
            new = self._names.get(name) or self._new(f"{self._id}_{name}")
            flat = rename_dimension(flat, name, new)
            if name in self._scalars:
                given.append((new, self._scalars[name]))
        equations = [self._equation(name, value) for name, value in given]
        flat = project_out(reduce(isl.Set.intersect, equations, flat), [name for name, _ in given])
        return Domain(unflatten(flat, [self._names[i] for i in domain.inames]))

    def _equation(self, name: str, value: Expression) -> isl.Set:
        found = condition_set(ex.Comparison(ex.Variable(name), "==", value))
        if found is None:
            raise self._refused(
                MalformedInstruction,
                f"a loop of kernel '{self._kernel.name}' would end at '{show_expression(value)}', "
                "which is no affine function of inames and sizes",
            )
        return found

    def temporaries(self) -> list[TemporaryVariable]:
        """Return the temporaries under their new names."""
        return [replace(t, name=self._names[t.name]) for t in self._kernel.temporaries]

    def priorities(self) -> list[tuple[str, ...]]:
        """Return the priorities of the kernel's loops, and of those around over them."""
        loops = frozenset[str]().union(*(i.within_inames for i in self._kernel.instructions))
        own = [tuple([self._names[i] for i in p]) for p in self._kernel.priorities]
        return own + [
            (around, self._names[iname])
            for around in sorted(self._around)
            for iname in self._kernel.inames
            if iname in loops
        ]

    def statements(self) -> list[Statement]:
        """Return what the instructions of the kernel are here."""
        return [self._copied(insn) for insn in self._kernel.instructions]

    def _copied(self, insn: Instruction) -> Statement:
        if isinstance(insn, CInstruction):
            raise InvalidArgument(
                f"kernel '{self._kernel.name}' has verbatim C, and cannot be inlined",
                where=caller_location(),
                remedy="write it without verbatim C: names are others where it is inlined",
            )
        values = insn.values if isinstance(insn, Assigning) else ()
        within = frozenset(self._names[i] for i in insn.within_inames)
        return replace(
            self._statement,
            assignees=tuple([self._converted(a) for a in insn.assignees]),
            values=tuple(map(self._converted, values)),
            declared=(),
            id=f"{self._id}_{insn.id}",
            dependencies=(
                *self._statement.dependencies,
                *(f"{self._id}_{dep}" for dep in sorted(insn.depends_on)),
            ),
            inames=within | self._around,
            more_inames=frozenset(),
            predicates=(*self._statement.predicates, *map(self._converted, insn.predicates)),
            atomicity=insn.atomicity if isinstance(insn, Assigning) else None,
            mark=mark_of(insn),
        )

    def _converted(self, node: Any) -> Any:
        """Return an expression of the kernel in terms of the call."""
        if isinstance(node, ex.Variable):
            if node.name in self._scalars:
                return self._scalars[node.name]
            if node.name in self._arrays:  # without axes
                return self._arrays[node.name].subscript
            return ex.Variable(self._names.get(node.name, node.name))
        if isinstance(node, ex.Subscript) and ex.name_of(node) in self._arrays:
            part = self._arrays[ex.name_of(node)]
            index = [self._converted(i) for i in ex.index_tuple(node)]
            return walk.substitute(part.subscript, dict(zip(part.swept_inames, index, strict=True)))
        if isinstance(node, ex.Reduction):
            inames = tuple([self._names[i] for i in node.inames])
            node = replace(node, inames=inames)
        return walk.rebuild(node, tuple([self._converted(p) for p in walk.parts(node)]))
