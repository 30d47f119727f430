"""Statements as lines of C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from polygen.errors import InternalError, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.ir.options import Options
from polygen.lower.program import (
    Assign,
    Block,
    Call,
    Declare,
    If,
    Loop,
    Node,
)
from polygen.targets.languages.target import FLOAT16, Target
from polygen.targets.statements.aliases import joined, merged, without_copies
from polygen.targets.statements.async_copies import copy_lines
from polygen.targets.statements.else_branches import WithOther, with_others
from polygen.targets.statements.expression_printer import ExpressionPrinter
from polygen.targets.statements.guards import shown
from polygen.targets.statements.lane_assignments import (
    assignment_at_once,
    assignments_at_once,
    is_scattered,
)

INDENT = "    "

Write: TypeAlias = Callable[["StatementPrinter", Any, int], None]


class StatementPrinter:
    """Prints statements, one line after the other.

    Parameters:
        rules: what prints a statement, by its class.
        target: whose C it is.
        expressions: prints the expressions in them.
        shared: the variables of the work group that are declared before.
        options: the kernel's.

    Attributes:
        lines: what was printed.
    """

    def __init__(
        self,
        rules: Mapping[type[Node], Write],
        target: Target,
        expressions: ExpressionPrinter,
        shared: Iterable[Declare],
        options: Options,
    ) -> None:
        self._rules = rules
        self.target = target
        self.expressions = expressions
        self.options = options
        self.lines: list[str] = []
        self.spaces = {node.name: node.address_space for node in shared}
        self.copies = {node.name: node.copies for node in shared if node.copies is not None}
        # Where loops of the source run on several threads, the others run on one.
        self.threads = target.parallel_loop is None
        self.nested = 0  # how many loops have to be directly inside of what is printed
        self.says_vectors = False  # whether compilers have to be told which loops become vectors
        self.in_team = False  # whether threads execute what is printed together
        self.in_vectors = False  # whether what is printed is in such a loop

    def is_atomic(self, node: Assign) -> bool:
        """Tell whether an assignment has to be atomic where it stands."""
        atomics = self.target.atomics
        if node.atomicity is None or atomics is None or not self.threads:
            return False
        space = self.spaces.get(ex.name_of(node.updated), AddressSpace.GLOBAL)
        return space in atomics.shared

    def is_asynchronous(self, node: Node | None) -> bool:
        """Tell whether a statement only begins a copy."""
        return isinstance(node, Assign) and node.asynchronous and self.target.copies is not None

    def copy(self, node: Assign, depth: int, lanes: tuple[str, int] | None = None) -> None:
        """Print what begins an asynchronous copy, where there is something to copy."""
        assert self.target.copies is not None
        if isinstance(node.value, ex.If) and lanes is None:
            self._copy_or_number(node, node.value, depth)
            return
        for text in copy_lines(node, self.target.copies, self.expressions, lanes):
            self.line(depth, f"{text};")

    def _copy_or_number(self, node: Assign, value: ex.If, depth: int) -> None:
        there = replace(node, value=value.then)
        otherwise = replace(node, value=value.else_, asynchronous=False)
        if isinstance(value.condition, bool):
            self.block((there if value.condition else otherwise,), depth)
        else:
            self.condition(If(value.condition, (there,)), (otherwise,), depth)

    def line(self, depth: int, text: str) -> None:
        """Print a line."""
        self.lines.append(INDENT * depth + text if text else "")

    def block(self, nodes: Block, depth: int) -> None:
        """Print statements."""
        if self.expressions.aliases:
            nodes = joined(nodes, self.expressions.aliases, self.expressions.is_index)
        if self.expressions.copied:
            nodes = without_copies(nodes, self.expressions.copied, self.expressions.aliases)
        begun = ""
        together = [*self._with_others(nodes)]
        for (node, other), (following, _) in zip(
            together, [*together, (None, ())][1:], strict=True
        ):
            if isinstance(node, Declare) and _gives_value(following, node):
                begun = self.beginning(node)
                continue
            try:
                if isinstance(node, Loop) and node.at_once:
                    self.at_once(node, depth, begun)
                elif isinstance(node, If):
                    self.condition(node, other, depth)
                else:
                    self._rules[type(node)](self, node, depth)
            except UserError as error:
                error.insn_id = error.insn_id or getattr(node, "insn_id", "")
                raise
            begun = ""

    def _with_others(self, nodes: Block) -> Iterable[WithOther]:
        if len(nodes) == 1:
            return [(nodes[0], ())]
        return with_others(nodes, self.expressions.is_index, self.expressions.overlapping)

    def condition(self, node: If, other: Block, depth: int) -> None:
        """Print a condition, and what is executed where it does not hold."""
        if not other:
            node = merged(node, lambda nodes: shown(nodes, self.expressions))
        branches = [*self._branches(node, other)]
        braces = any(self._has_braces(body) for _, body in branches)
        begun = ""
        for condition, body in branches:
            asked = "" if condition is None else f"if ({self.expressions.condition(condition)})"
            if begun and braces:
                self.lines.pop()
            self.body(f"{begun}{asked}".rstrip(), body, depth, braces=braces)
            begun = "} else " if braces else "else "

    def _branches(self, node: If, other: Block) -> Iterator[tuple[Expression | None, Block]]:
        """Yield conditions, each with what is executed where it is the first that holds."""
        yield node.condition, node.body
        while other:
            (first, inner), *more = self._with_others(other)
            if not isinstance(first, If) or more:
                yield None, other
                return
            yield first.condition, first.body
            other = inner

    def body(self, head: str, nodes: Block, depth: int, *, braces: bool = False) -> None:
        """Print a loop or a condition: with braces unless what it holds is one assignment."""
        nodes = tuple([node for node in nodes if not self.expressions.is_alias(node)])
        braces = braces or self._has_braces(nodes)
        self.line(depth, f"{head} {{" if braces else head)
        self.block(nodes, depth + 1)
        if braces:
            self.line(depth, "}")

    def _has_braces(self, nodes: Block) -> bool:
        first = nodes[0] if nodes else None
        plain = isinstance(first, Call) or (
            isinstance(first, Loop) and first.at_once and not self.has_lines(first)
        )
        if isinstance(first, Loop) and first.at_once:
            plain = plain and not self.is_asynchronous(first.body[0])  # several copies, perhaps
        if isinstance(first, Assign):
            chooses = self.is_asynchronous(first) and isinstance(first.value, ex.If)
            plain = not (first.others or self.is_atomic(first) or chooses)
        return len(nodes) != 1 or not plain

    def declaration(self, node: Declare, *, initialized: bool) -> str:
        """Return the declaration of a variable."""
        if node.initial is not None and initialized:
            value = self.expressions.value(node.initial, node.dtype)
            return f"{self.beginning(node)}{node.name} = {value};"
        text = self.target.declaration(node.address_space) + self._element_type(node)
        alone = node.extent is None or (node.vector is not None and node.extent == 1)
        alignment = self.expressions.alignment(node.name) or node.alignment
        if alignment is None and not alone and node.address_space is AddressSpace.LOCAL:
            alignment = self.target.shared_alignment
        aligned = "" if alignment is None else self.target.aligned.format(alignment)
        return f"{text} {node.name}{'' if alone else f'[{node.extent}]'}{aligned};"

    def beginning(self, node: Declare) -> str:
        """Return what stands before the name in the declaration of a variable with a value."""
        constant = " const" if node.constant else ""
        return f"{self.target.declaration(node.address_space)}{self._element_type(node)}{constant} "

    def at_once(self, loop: Loop, depth: int, begun: str) -> None:
        """Print the assignment for all iterations of a loop at once: of a vector.

        Parameters:
            loop: the loop.
            depth: of the line.
            begun: what stands before it: the beginning of the vector's declaration, or nothing.
        """
        pairs, lanes = _in_lanes(loop)
        (assign,) = loop.body
        if isinstance(assign, Assign) and self.is_asynchronous(assign):
            self.copy(assign, depth, lanes)
            return
        if not self.has_lines(loop):
            text = assignment_at_once(self.expressions, *pairs[0], lanes)
            self.line(depth, f"{begun}{text};")
            return
        for text in assignments_at_once(self.expressions, pairs, lanes):
            self.line(depth, f"{text};")

    def has_lines(self, loop: Loop) -> bool:
        """Tell whether what a loop writes at once takes more than one statement."""
        ((target, _), *others), lanes = _in_lanes(loop)
        return bool(others) or is_scattered(self.expressions, target, lanes)

    def _element_type(self, node: Declare) -> str:
        is_half = self.expressions.held_type(node.name) == FLOAT16
        if node.vector is None and not (is_half or node.is_short):
            return self.expressions.variable_type(node.dtype)
        return self.expressions.element_type(self.expressions.held_type(node.name), node.vector)


def _in_lanes(loop: Loop) -> tuple[list[tuple[ex.Subscript, ex.Expression]], tuple[str, int]]:
    """Return the targets and values of a loop that is executed at once, and its lanes."""
    (assign,), count = loop.body, loop.upper
    pairs = assign.pairs if isinstance(assign, Assign) else ()
    kept = [(target, value) for target, value in pairs if isinstance(target, ex.Subscript)]
    if not (kept and len(kept) == len(pairs) and isinstance(count, int)):
        raise InternalError(f"no vectors are assigned in the lanes of '{loop.iname}'")
    return kept, (loop.iname, count)


def _gives_value(node: Node | None, declared: Declare) -> bool:
    """Tell whether an assignment for all lanes is the first value of a vector."""
    if not (isinstance(node, Loop) and node.at_once and declared.initial is None):
        return False
    (assign,) = node.body
    return (
        isinstance(assign, Assign)
        and not assign.others
        and declared.extent == 1
        and declared.vector is not None
        and ex.name_of(assign.target) == declared.name
        and declared.name not in walk.free_variables(assign.value)
    )
