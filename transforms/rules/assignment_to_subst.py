"""`polygen.assignment_to_subst`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from polygen.analysis.typing.kept_types import converted_to
from polygen.errors import NotARule
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import SubstitutionRule, expand, rules_mentioning
from polygen.ir.verify import excerpt
from polygen.language.rules import make_rule
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Kind, Within, transformation


def _is_written(kernel: Kernel, value: object) -> bool:
    if not isinstance(value, str):
        return False
    kernel.variable(value)
    return value in kernel.writers


WrittenName = Annotated[str, Kind("the name of a variable that the kernel writes", _is_written)]


@transformation
def assignment_to_subst(
    kernel: Kernel, lhs_name: WrittenName, within: Within | None = None
) -> Kernel:
    """Compute a variable anew wherever it is read: its assignment becomes a substitution rule.

    The rule is called ``<name>_subst``.  The inames that are written as subscripts become its
    arguments; where a number is written, reads of other elements stay as they are.  A
    temporary that nothing reads any more is gone, with its assignment.  Where it rounds what is
    stored in it (``float16``, say, of a sum in ``float32``), so does the rule.

    Kind: order and storage.

    Requires:
        1. One instruction writes the variable, under no condition, and does not read it.
        2. The subscripts that it writes are inames, each once, or numbers.
        3. What it reads is the same where the variable is read.

    Parameters:
        lhs_name: the variable.
        within: the instructions that compute it anew: an id, a pattern, or several of these; all
            if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["<> t = 2*a[i]  {id=t}", "out[i] = t*t"], name="square"
        ... )
        >>> knl = pg.assignment_to_subst(knl, "t")
        >>> text = str(knl)
        >>> print(text[text.index("SUBSTITUTION") :])
        SUBSTITUTION RULES:
        t_subst() := 2*a[i]
        ---------------------------------------------------------------------------
        INSTRUCTIONS:
        [i] out[i] = t_subst()*t_subst()  {id=insn}
        ---------------------------------------------------------------------------

    Raises:
        UnknownArgument: if the kernel has no such variable.
        NotARule: if 1 or 2 does not hold, or if nothing reads the variable.
        IllegalStep, CannotProve: if 3 does not hold.

    Source: Loo.py's transformation of this name.
    """
    definition = _definition(kernel, lhs_name)
    arguments = _arguments(kernel, definition)
    written = ex.index_of(definition.assignee)
    name = kernel.new_name(f"{lhs_name}_subst")
    rule = make_rule(name, arguments, _value(kernel, definition), kernel)
    reading = rules_mentioning(kernel.rules, lhs_name)
    ids = {i.id for i in matching(kernel, within)}

    def rewrite(insn: Instruction) -> Instruction:
        if insn.id not in ids:
            return insn
        return insn.map_reads(lambda e: _computed(expand(e, reading), lhs_name, written, rule))

    instructions = tuple(rewrite(insn) for insn in kernel.instructions)
    new = kernel.copy(instructions=instructions)
    if new is kernel:
        bounds = [str(d) for d in kernel.domains if lhs_name in d.parameters]
        if bounds:
            why = f"it bounds the loops in {bounds[0]}, and there are no rules in bounds"
            raise _refusal(kernel, lhs_name, definition, why)
        raise _refusal(kernel, lhs_name, definition, "nothing that reads it is looked at")
    new = new.copy(substitutions=(*kernel.substitutions, rule)).without_unused(reading)
    left = any(lhs_name in insn.read_names for insn in new.expanded.instructions)
    left = left or any(lhs_name in domain.parameters for domain in kernel.domains)
    if left or not isinstance(kernel.variables[lhs_name], TemporaryVariable):
        return new
    return _without(new, definition)


def _definition(kernel: Kernel, name: str) -> Assignment:
    definition, *others = kernel.writers[name]
    if others:
        raise _refusal(kernel, name, definition, f"'{others[0].id}' writes it, too")
    if not isinstance(definition, Assignment):
        raise _refusal(kernel, name, definition, "it is written together with others")
    if definition.predicates:
        raise _refusal(kernel, name, definition, "it is written under a condition")
    if name in kernel.expanded.instruction(definition.id).read_names:
        raise _refusal(kernel, name, definition, "its new value depends on its old one")
    return definition


def _value(kernel: Kernel, definition: Assignment) -> Expression:
    """Return what is read of a variable: what is stored in it, of its type."""
    dtype_name = converted_to(kernel.expanded, definition.written, definition.id)
    if dtype_name is None:
        return definition.expression
    return ex.converted(dtype_name, definition.expression)


def _refusal(kernel: Kernel, name: str, insn: Instruction, why: str) -> NotARule:
    return NotARule(
        f"assignment_to_subst: no rule can be made of '{name}': {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn.id),
        remedy="a rule stands for one expression, the same wherever the variable is read",
    )


def _arguments(kernel: Kernel, definition: Assignment) -> tuple[str, ...]:
    target = definition.assignee
    names: list[str] = []
    for subscript in ex.index_of(target):
        if _is_number(subscript):
            continue
        if not isinstance(subscript, ex.Variable) or subscript.name not in kernel.inames:
            raise _refusal(
                kernel,
                ex.name_of(target),
                definition,
                "a subscript that it is written with is neither an iname nor a number",
            )
        names.append(subscript.name)
    if len(set(names)) < len(names):
        raise _refusal(
            kernel,
            ex.name_of(target),
            definition,
            "two subscripts that it is written with are one iname",
        )
    return tuple(names)


def _is_number(node: Expression) -> bool:
    return isinstance(node, int)


def _computed(
    node: Expression, name: str, written: Sequence[Expression], rule: SubstitutionRule
) -> Expression:
    """Return `node` with reads of a variable replaced by invocations of a rule.

    Parameters:
        node: the expression.
        name: that of the variable.
        written: the subscripts that it is written with.
        rule: what is written.
    """
    is_read = isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) == name
    if is_read and len(ex.index_of(node)) == len(written):  # and not the array of a subscript
        index = [_computed(i, name, written, rule) for i in ex.index_of(node)]
        pairs = list(zip(index, written, strict=True))
        if all(read == put for read, put in pairs if _is_number(put)):
            arguments = tuple([read for read, put in pairs if not _is_number(put)])
            inames = tuple(ex.Variable(iname) for iname in rule.inames)
            return ex.Invocation(rule.name, None, arguments, rule.inames, inames)
    parts = tuple([_computed(part, name, written, rule) for part in walk.parts(node)])
    return walk.rebuild(node, parts)


def _without(kernel: Kernel, gone: Assignment) -> Kernel:
    """Return the kernel without an instruction and what it writes."""
    kept = [insn for insn in kernel.instructions if insn.id != gone.id]
    return kernel.copy(
        instructions=tuple([insn.without(gone) for insn in kept]),
        temporaries=tuple(t for t in kernel.temporaries if t.name != gone.written),
    )
