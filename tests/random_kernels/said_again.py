"""Says a kernel again, by calls of a `polygen.Builder`, in Python's operators on its handles."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import UserFunction
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.reduction import dtype_of, name_of
from polygen.language.handles import Handle
from polygen.language.of_nothing import identities
from polygen.language.trees import readable

_TWO: dict[type, tuple[str, str, Any]] = {
    ex.Quotient: ("numerator", "denominator", operator.truediv),
    ex.FloorDiv: ("numerator", "denominator", operator.floordiv),
    ex.Remainder: ("numerator", "denominator", operator.mod),
    ex.Power: ("base", "exponent", operator.pow),
    ex.LeftShift: ("shiftee", "shift", operator.lshift),
    ex.RightShift: ("shiftee", "shift", operator.rshift),
}
_SEVERAL: dict[type, Any] = {
    ex.Sum: operator.add,
    ex.Product: operator.mul,
    ex.BitwiseAnd: operator.and_,
    ex.BitwiseOr: operator.or_,
    ex.BitwiseXor: operator.xor,
}
_COMPARED: dict[str, Any] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass
class SaidAgain:
    """A kernel said by calls.

    Attributes:
        given: the kernel.
        by_operators: how many nodes operators and methods made.
        as_trees: how many were given as trees, for Python would make another tree of them.
    """

    given: Kernel
    by_operators: int = 0
    as_trees: int = 0
    _builder: pg.Builder = field(default_factory=pg.Builder)
    _handles: dict[str, Any] = field(default_factory=dict[str, Any])
    _rules: dict[str, Any] = field(default_factory=dict[str, Any])
    _functions: dict[str, Any] = field(default_factory=dict[str, Any])

    def kernel(self) -> Kernel:
        """Return the kernel that the calls make."""
        given, b = self.given, self._builder
        for variable in (*given.arguments, *given.temporaries):
            self._handles[variable.name] = b.declare(variable)
        for domain in given.domains:
            self._handles |= dict(zip(domain.inames, b.domain(domain.set), strict=True))
        for call in given.calls:
            if not isinstance(call, LibraryCall) and call.function not in self._functions:
                assert call.callee is not None
                self._functions[call.function] = b.function(call.function, call.callee)
        for name, function in _own_functions(given).items():
            self._functions[name] = b.function(name, function)
        for rule in given.substitutions:  # names that are invoked, before what invokes them
            self._rules[rule.name] = pg.Builder().rule(rule.name, (), 0)
        for rule in given.substitutions:
            said = b.rule(rule.name, rule.arguments, self.value(rule.expression))
            assert said == self._rules[rule.name]
        for insn in given.instructions:
            self._say(insn)
        with identities():  # minima of nothing, too
            made = b.kernel(
                given.name,
                assumptions=given.assumptions.set,
                loop_priority=[", ".join(names) for names in given.priorities],
                silenced_warnings=given.options.silenced_warnings,
                target=given.target,
            )
        return pg.tag_inames(made, {name: str(tag) for name, tag in given.tags.items()})

    # --- instructions

    def _say(self, insn: Instruction) -> None:
        options: dict[str, Any] = {
            "id": insn.id,
            "within": tuple(sorted(insn.within_inames)),
            "after": {"*": None} | dict.fromkeys(sorted(insn.depends_on)),
            "when": tuple(map(self.value, insn.predicates)),
            "tags": insn.tags,
        }
        options["after"] |= {r.first: str(r) for r in insn.happens_after}
        with self._builder.options(
            priority=insn.priority or None,
            groups=sorted(insn.groups),
            conflicts=sorted(insn.conflicts_with_groups),
            no_sync=dict(sorted(insn.no_sync_with)),
        ):
            assert self._add(insn, options) == insn.id

    def _add(self, insn: Instruction, options: dict[str, Any]) -> str:
        b = self._builder
        if isinstance(insn, pg.Barrier):
            return b.barrier(insn.scope.name.lower(), **options)
        if isinstance(insn, pg.NoOp):
            return b.nop(**options)
        if isinstance(insn, CInstruction):
            named = {name: self.value(value) for name, value in insn.iname_exprs}
            reads = [self._handles[name] for name in sorted(insn.read_variables)]
            writes = tuple(map(self.value, insn.assignees))
            return b.code(insn.code, named, reads=reads, writes=writes, **options)
        if isinstance(insn, LibraryCall):
            called: Any = b.library(
                insn.function,
                *map(self.value, insn.operands()),
                **{name: self.value(value) for name, value in insn.numbers().items()},
                **dict(insn.options),
            )
            return b.assign(tuple(map(self.value, insn.results)), called, **options)
        if isinstance(insn, KernelCall):
            called = self._functions[insn.function](*map(self.value, insn.arguments))
            return b.assign(tuple(map(self.value, insn.results)), called, **options)
        assert isinstance(insn, pg.Assignment | pg.MultiAssignment)
        targets, values = (tuple(map(self.value, s)) for s in (insn.assignees, insn.values))
        options["atomic"] = insn.atomicity
        if isinstance(insn, pg.MultiAssignment):
            return b.assign(targets, values, **options)
        return b.assign(targets[0], values[0], asynchronous=insn.asynchronous, **options)

    # --- values

    def value(self, node: Expression) -> Any:
        """Return a handle that stands for an expression; or the expression, for numbers."""
        if not isinstance(node, ex.ExpressionNode):
            return node
        found = self._of(node)
        wanted = _named(node)
        if isinstance(found, Handle) and _same(found, wanted):
            self.by_operators += 1
            return found
        self.as_trees += 1
        return wanted

    def _of(self, node: Any) -> Any:
        kind: Any = type(node)
        if kind is ex.Variable:
            return self._handles.get(node.name)
        if kind is ex.Subscript:
            array = self._handles[ex.name_of(node)]
            return array[tuple(map(self.value, ex.index_of(node)))]
        if kind in _TWO:
            left, right, made = _TWO[kind]
            return made(self.value(getattr(node, left)), self.value(getattr(node, right)))
        if kind in _SEVERAL:
            return self._joined(node)
        if kind is ex.BitwiseNot:
            return ~self.value(node.child)
        if kind is ex.Comparison:
            return _COMPARED[node.operator](self.value(node.left), self.value(node.right))
        return self._called(self._builder, node)

    def _joined(self, node: Any) -> Any:
        """Return what an operator makes of several values."""
        first, *rest = node.children
        if isinstance(node, ex.Product) and first == -1 and len(rest) == 1:
            return -self.value(rest[0])
        if isinstance(node, ex.Sum):
            return reduce(self._plus, rest, self.value(first))
        return reduce(_SEVERAL[type(node)], map(self.value, rest), self.value(first))

    def _plus(self, total: Any, term: Any) -> Any:
        """Return ``total + term``, or ``total - x`` for what is subtracted."""
        if isinstance(term, ex.Product) and len(term.children) == 2 and term.children[0] == -1:
            return total - self.value(term.children[1])
        if isinstance(term, int | float) and not isinstance(term, bool) and term < 0:
            return total - -term
        return total + self.value(term)

    def _called(self, b: pg.Builder, node: Any) -> Any:
        """Return what a method of the builder makes."""
        kind: Any = type(node)
        methods: dict[type, Any] = {
            ex.Min: partial(b.call, "min"),
            ex.Max: partial(b.call, "max"),
            ex.LogicalAnd: b.and_,
            ex.LogicalOr: b.or_,
            ex.LogicalNot: b.not_,
            ex.If: b.where,
        }
        if method := methods.get(kind):
            return method(*map(self.value, walk.parts(node)))
        if isinstance(node, ex.Call):
            own = self._functions.get(name := ex.name_of(node.function), partial(b.call, name))
            return own(*map(self.value, node.parameters))
        if isinstance(node, ex.Component):
            return self.value(node.aggregate)[node.position]
        if isinstance(node, ex.SubArrayRef):
            return b.part(node.swept_inames, node.subscript)
        if isinstance(node, ex.Invocation):
            rule = self._rules[node.rule]
            rule = rule if node.tag is None else rule.tagged(node.tag)
            values = dict(zip(node.inames, map(self.value, node.values), strict=True))
            return rule(*map(self.value, node.arguments), **values)
        assert isinstance(node, ex.Reduction), node
        return self._reduced(b, node)

    def _reduced(self, b: pg.Builder, node: ex.Reduction) -> Any:
        operand: Any = node.operand
        operands: tuple[Any, ...] = (operand,)
        if isinstance(operand, ex.Several):
            operands = operand.children
        loops = tuple([self._handles[iname] for iname in node.inames])
        dtype = dtype_of(node.operation)
        return b.reduce(name_of(node.operation), loops, *map(self.value, operands), dtype=dtype)


def _own_functions(kernel: Kernel) -> dict[str, pg.ScalarCallable]:
    """Return the functions of the user's that a kernel calls itself, by name."""
    nodes = [node for insn in kernel.instructions for node in (*insn.assignees, *insn.reads)]
    nodes += [rule.expression for rule in kernel.substitutions]
    found: dict[str, pg.ScalarCallable] = {}
    for node in nodes:
        for part in walk.subexpressions(node):
            if isinstance(part, ex.Call) and isinstance(part.function, UserFunction):
                assert isinstance(part.function.definition, pg.ScalarCallable)
                found[part.function.name] = part.function.definition
    return found


def _named(node: Expression) -> Expression:
    """Return an expression whose calls of the user's functions are by name alone."""

    def rule(part: Expression) -> Expression:
        if isinstance(part, ex.Call) and type(part.function) is not ex.Variable:
            return ex.Call(ex.Variable(ex.name_of(part.function)), part.parameters)
        return part

    return walk.rewrite(node, rule)


def _same(made: Handle, wanted: Expression) -> bool:
    """Tell whether two trees are one, types of numbers included."""
    return repr(readable(made)) == repr(wanted)
