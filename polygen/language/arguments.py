"""Arguments and temporaries: what the instructions use, declared or guessed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from polygen.errors import (
    NameTaken,
    ReservedName,
    UndeclaredVariable,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import (
    AddressSpace,
    Argument,
    GlobalArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.domain import Domain
from polygen.ir.expression import Expression
from polygen.ir.layout import layout_expressions
from polygen.ir.names import check_name
from polygen.ir.sizes import DerivedSize
from polygen.ir.substitution import SubstitutionRule
from polygen.language.kernel_data import Declared
from polygen.language.parser import located
from polygen.language.statement import Statement
from polygen.source import caller_location

_NUMBERS: ContextVar[bool] = ContextVar("_NUMBERS", default=False)


@contextmanager
def undeclared_numbers() -> Generator[None]:
    """Let people write numbers that nothing declares: Loo.py's users do.

    ``a = ...`` writes an argument of the shape ``()``.  A number that is read, or a size, is a
    scalar argument, also where all others are listed: a later step may say what the target calls
    it, or which value it has.
    """
    token = _NUMBERS.set(True)
    try:
        yield
    finally:
        _NUMBERS.reset(token)


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of names that are not inames, collected from the instructions.

    Attributes:
        arrays: those with subscripts.
        scalars: those without.
        parameters: those that domains, assumptions and declared shapes mention.
        written: each with the first statement that writes it.
        declaring: for each ``<>``, the statement.
        statements: all of them.
    """

    arrays: frozenset[str]
    scalars: frozenset[str]
    parameters: frozenset[str]
    written: dict[str, Statement]
    declaring: dict[str, Statement]
    statements: tuple[Statement, ...]

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return self.arrays | self.scalars | self.parameters


def find_uses(
    statements: Sequence[Statement],
    domains: Sequence[Domain],
    declared: Declared,
    sizes: Sequence[DerivedSize] = (),
) -> Uses:
    """Return how the names of a kernel are used.

    Parameters:
        statements: what the instructions say.
        domains: those of the kernel, and what it assumes.
        declared: the arguments and temporaries that are declared.
        sizes: those that follow from others, which are used in their place.

    Raises:
        NameTaken: if two statements declare one name, or if a variable is called like an iname
            or like a function.
    """
    inames = frozenset(iname for domain in domains for iname in domain.inames)
    arrays: set[str] = set()
    scalars: set[str] = set()
    functions: set[str] = set()
    for statement in statements:
        for expression in statement.expressions:
            for access in walk.accesses(expression):
                kind = arrays if isinstance(access, ex.Subscript) else scalars
                kind.add(ex.name_of(access))
            functions |= _called(expression)
    if both := sorted(functions & (arrays | scalars | inames)):
        callers = [s.text for s in statements if any(both[0] in _called(x) for x in s.expressions)]
        raise NameTaken(
            f"'{both[0]}' is a function in one place and a variable in another",
            where=caller_location(),
            excerpt=callers[0],
            remedy=f"give the variable another name, such as '{both[0]}_'",
        )
    written, declaring = _written(statements, inames)
    parameters = {name for domain in domains for name in domain.parameters}
    derived = {size.name for size in sizes}
    parameters = parameters.union(*(s.names for s in sizes)) - derived
    return Uses(
        frozenset(arrays),
        frozenset(scalars - derived) - inames,
        frozenset(parameters | names_in_extents(declared)) - inames,
        written,
        declaring,
        tuple(statements),
    )


def check_rule_names(rules: Iterable[SubstitutionRule], uses: Uses) -> None:
    """Raise NameTaken, at the statement concerned, if a rule is used as a variable."""
    for rule in rules:
        if rule.name not in uses.names:
            continue
        for statement in uses.statements:
            if found := re.search(rf"\b{rule.name}\b(?!\s*\()", statement.text):
                raise located(
                    NameTaken,
                    f"'{rule.name}' is a substitution rule, and is used as a variable here",
                    statement,
                    found.start(),
                    f"write {rule.name}({', '.join(rule.arguments)}) for what the rule stands for"
                    if rule.arguments
                    else "give one of them another name",
                )


def _place(text: str, name: str) -> int:
    """Return where an instruction assigns to a variable: not in a subscript."""
    for match in re.finditer(rf"\b{name}\b", text):
        before = text[: match.start()]
        if before.count("[") == before.count("]"):
            return match.start()
    return 0


def _written(
    statements: Iterable[Statement], inames: frozenset[str]
) -> tuple[dict[str, Statement], dict[str, Statement]]:
    """Return, for each variable, the first statement that writes it, and that declares it."""
    written: dict[str, Statement] = {}
    declaring: dict[str, Statement] = {}
    for statement in statements:
        for name in statement.written_names:
            if name in inames:
                raise located(
                    NameTaken,
                    f"'{name}' is an iname: loops set it, instructions cannot",
                    statement,
                    _place(statement.text, name),
                    "give the variable another name",
                )
            written.setdefault(name, statement)
        for name, _ in statement.declared:
            if name in declaring:
                raise located(
                    NameTaken,
                    f"'{name}' is declared twice",
                    statement,
                    statement.text.find("<"),
                    "leave out <> in the second instruction",
                )
            declaring[name] = statement
    return written, declaring


def names_in_extents(declared: Declared) -> set[str]:
    """Return the names in the shapes, strides and offsets that are declared."""
    found: set[str] = set()
    for variable in declared.variables.values():
        if isinstance(variable, GlobalArg | TemporaryVariable):
            for extent in (*(variable.shape or ()), *layout_expressions(variable)):
                found |= walk.free_variables(extent)
    return found


def _called(expression: Expression) -> set[str]:
    nodes = walk.subexpressions(expression)
    return {ex.name_of(node.function) for node in nodes if isinstance(node, ex.Call)}


def make_variables(
    uses: Uses, declared: Declared
) -> tuple[tuple[Argument, ...], tuple[TemporaryVariable, ...]]:
    """Return the arguments, those that are listed first, and the temporaries of a kernel.

    The shapes of arrays that are not declared are None, of such temporaries the empty tuple.

    Raises:
        UndeclaredVariable: if a scalar is written that nothing declares (unless that is one of
            the `undeclared_numbers`), or if the declarations are complete, but lack something.
        NameTaken: if something is declared in two ways.
    """
    temporaries = _declared_temporaries(uses, declared)
    arguments: list[Argument] = []
    for name, variable in declared.variables.items():
        if variable is None:
            if name not in temporaries:
                arguments.append(_guessed(name, uses))
        elif not isinstance(variable, TemporaryVariable):
            arguments.append(variable)
    known = {*declared.variables, *temporaries}
    missing = sorted(uses.names - known)
    lacking = [] if not declared.complete else [m for m in missing if not _may_be_told(m, uses)]
    if lacking:
        raise UndeclaredVariable(
            f"kernel_data lacks {', '.join(repr(m) for m in lacking)}",
            where=caller_location(),
            remedy="add what is missing, or '...' to have it guessed",
        )
    for name in missing:
        _check_used_name(name, uses)
        arguments.append(_guessed(name, uses))
    return (
        in_order(arguments, declared),
        tuple([temporaries[name] for name in sorted(temporaries)]),
    )


def _may_be_told(name: str, uses: Uses) -> bool:
    """Tell whether a later step may say what a name is that the declarations lack."""
    is_number = name in uses.scalars | uses.parameters and name not in uses.arrays
    return _NUMBERS.get() and is_number and name not in uses.written


def _check_used_name(name: str, uses: Uses) -> None:
    """Raise ReservedName, at the statement concerned, if a name that is used cannot be."""
    try:
        check_name(name)
    except ReservedName as error:
        word = re.compile(rf"\b{re.escape(name)}\b")
        for statement in uses.statements:
            if found := word.search(statement.text):
                raise located(
                    ReservedName, error.what, statement, found.start(), error.remedy
                ) from None
        raise


def in_order(arguments: Iterable[Argument], declared: Declared) -> tuple[Argument, ...]:
    """Return `arguments`, those that are listed first and as listed, the others by name."""
    place = {name: position for position, name in enumerate(declared.variables)}
    return tuple(sorted(arguments, key=lambda a: (place.get(a.name, len(place)), a.name)))


def _declared_temporaries(uses: Uses, declared: Declared) -> dict[str, TemporaryVariable]:
    found = {n: v for n, v in declared.variables.items() if isinstance(v, TemporaryVariable)}
    for name, statement in uses.declaring.items():
        check_name(name)
        if declared.variables.get(name) is not None:
            raise located(
                NameTaken,
                f"'{name}' is declared here and in kernel_data",
                statement,
                statement.text.find("<"),
                "leave out one of the declarations",
            )
        space = AddressSpace.AUTO if statement.is_auto else AddressSpace.PRIVATE
        found[name] = TemporaryVariable(name, dict(statement.declared)[name], (), space)
    return found


def _guessed(name: str, uses: Uses) -> Argument:
    if name in uses.arrays:
        return GlobalArg(name)
    statement = uses.written.get(name)
    if statement is not None and _NUMBERS.get():
        return GlobalArg(name, shape=None if statement.call else ())
    if statement is not None:
        raise located(
            UndeclaredVariable,
            f"'{name}' is written, but nothing declares it",
            statement,
            _place(statement.text, name),
            f"for a temporary, write '<> {name} = ...' in the first instruction that writes it; "
            "an array needs subscripts",
        )
    if name not in uses.names:
        raise UndeclaredVariable(
            f"kernel_data names '{name}', which nothing in the kernel mentions",
            where=caller_location(),
            remedy=did_you_mean(name, uses.names),
        )
    return ValueArg(name)
