"""Statements as lines of C."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from polygen.errors import InternalError, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.options import Options
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Call,
    Declare,
    HostLoop,
    If,
    Loop,
    Node,
    Shuffle,
    Verbatim,
    Wait,
)
from polygen.targets.aliases import joined, merged, without_copies
from polygen.targets.atomics import atomic_lines
from polygen.targets.copies import copy_lines
from polygen.targets.expression import ExpressionPrinter
from polygen.targets.guards import outwards, shown
from polygen.targets.otherwise import WithOther, with_others
from polygen.targets.simd import Accumulated, accumulated_at_once, is_short
from polygen.targets.simultaneous import one_by_one
from polygen.targets.target import Target
from polygen.targets.term import SUM
from polygen.targets.threads import Threads, nest

INDENT = "    "

_Write: TypeAlias = Callable[["StatementPrinter", Any, int], None]


class StatementPrinter:
    """Prints statements, one line after the other.

    Parameters:
        target: whose C it is.
        expressions: prints the expressions in them.
        shared: the variables of the work group that are declared before.
        options: the kernel's.

    Attributes:
        lines: what was printed.
    """

    def __init__(
        self,
        target: Target,
        expressions: ExpressionPrinter,
        shared: Iterable[Declare] = (),
        options: Options | None = None,
    ) -> None:
        self.target = target
        self.expressions = expressions
        self.options = options or Options()
        self.lines: list[str] = []
        self.spaces = {node.name: node.address_space for node in shared}
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
        space = self.spaces.get(ex.name_of(node.target), AddressSpace.GLOBAL)
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
                    _RULES[type(node)](self, node, depth)
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

    def together(self, node: Loop) -> tuple[list[Loop], bool]:
        """Return the loops that run in parallel as one, and whether the innermost is vectors."""
        loops = list(nest(node, node.parallel))
        vector = _accumulated(self, loops[-1]) is not None
        # A compiler makes no vectors of loops that are one.
        if vector and len(loops) > 1 and not is_short(loops[-2]):
            loops.pop()
        return loops, vector

    def loop_head(self, loop: Loop | HostLoop) -> str:
        """Return how a loop begins."""
        lower = self.expressions.index(loop.lower)
        compared, last = _comparison(loop.upper)
        from_zero = isinstance(loop.lower, int) and loop.lower >= 0 and compared == "<"
        upper = self.expressions.index(last, counted_up_to=from_zero)
        counter = self.expressions.counter_type
        name = loop.iname
        step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        condition = f"{name} {compared} {upper.within(SUM)}"
        return f"for ({counter} {name} = {lower.text}; {condition}; {step})"

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
            text = self.expressions.assignment_at_once(*pairs[0], lanes)
            self.line(depth, f"{begun}{text};")
            return
        for text in self.expressions.assignments_at_once(pairs, lanes):
            self.line(depth, f"{text};")

    def has_lines(self, loop: Loop) -> bool:
        """Tell whether what a loop writes at once takes more than one statement."""
        ((target, _), *others), lanes = _in_lanes(loop)
        return bool(others) or self.expressions.is_scattered(target, lanes)

    def _element_type(self, node: Declare) -> str:
        if node.vector is None:
            return self.expressions.variable_type(node.dtype)
        return self.expressions.element_type(node.dtype, node.vector)


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


def _comparison(upper: ex.Expression) -> tuple[str, ex.Expression]:
    """Return how a counter is compared with its upper bound: ``j <= i`` for ``j < i + 1``."""
    if isinstance(upper, ex.Sum) and len(upper.children) == 2 and upper.children[1] == 1:
        return "<=", upper.children[0]
    return "<", upper


def _declare(p: StatementPrinter, node: Declare, depth: int) -> None:
    if p.expressions.is_alias(node):
        return
    p.spaces[node.name] = node.address_space
    p.line(depth, p.declaration(node, initialized=True))


def _shuffle(p: StatementPrinter, node: Shuffle, depth: int) -> None:
    value = p.expressions.shuffled(node.element, node.dtype, node.distance)
    p.line(depth, f"{p.expressions.variable_type(node.dtype)} const {node.name} = {value};")


def _assign(p: StatementPrinter, node: Assign, depth: int) -> None:
    if p.is_atomic(node):
        space = p.spaces.get(ex.name_of(node.target), AddressSpace.GLOBAL)
        for line in atomic_lines(node, p.target, p.expressions, space):
            p.line(depth, line)
        return
    if p.is_asynchronous(node):
        p.copy(node, depth)
        return
    kept, pairs = one_by_one(node.pairs, p.expressions)
    inside = depth + bool(kept)
    if kept:
        p.line(depth, "{")
    for line in kept:
        p.line(inside, line)
    for target, value in pairs:
        p.line(inside, f"{p.expressions.assignment(target, value)};")
    if kept:
        p.line(depth, "}")


def _verbatim(p: StatementPrinter, node: Verbatim, depth: int) -> None:
    p.expressions.uses.names.update((*node.reads, *node.writes))
    p.line(depth, "{")
    counter, aliases = p.expressions.counter_type, p.expressions.aliases
    read = NO_NAMES.union(*(walk.free_variables(value) for _, value in node.names))
    mentioned = {aliases.get(name, name) for name in read}
    # A name that stands for itself is known.
    own = [n for n, value in node.names if value == ex.Variable(n) and n not in aliases]
    named = [(name, value) for name, value in node.names if name not in own]
    later: list[tuple[str, str]] = []
    for name, value in named:
        given = name
        if name in mentioned:  # as something else
            given = p.expressions.new_name(f"{name}_given", p.expressions.index_dtype)
            later.append((name, given))
        p.line(depth + 1, f"{counter} const {given} = {p.expressions.index(value).text};")
    p.expressions.uses.names.update(own)
    if later:
        p.line(depth + 1, "{")
        for name, given in later:
            p.line(depth + 2, f"{counter} const {name} = {given};")
    depth += bool(later)
    for line in textwrap.dedent(node.code).strip("\n").split("\n"):
        p.line(depth + 1, line)
    p.line(depth, "}")
    if later:
        p.line(depth - 1, "}")


def _call(p: StatementPrinter, node: Call, depth: int) -> None:
    given = [
        p.expressions.pointer(value)
        if parameter.dtype is None or isinstance(parameter, GlobalArg)
        else p.expressions.value(value, parameter.dtype)
        for parameter, value in zip(node.parameters, node.arguments, strict=True)
    ]
    p.line(depth, f"{node.function}({', '.join(given)});")


def _loop(p: StatementPrinter, node: Loop, depth: int) -> None:
    before = p.threads, p.says_vectors, p.in_vectors
    pragma = ""
    if p.nested:  # loops that run in parallel together nest perfectly
        p.nested -= 1
    elif node.parallel and (pragma := _parallel(p, node)):
        p.threads = True
    else:
        nested = bool(node.body) and isinstance(node.body[-1], Loop | If)
        outer = outwards(node, p.expressions) if nested else node
        if isinstance(outer, If):
            p.condition(outer, (), depth)
            return
        node = outer
        pragma = _at_once(p, node)
    if pragma:
        p.line(depth, pragma)
    if node.unroll:
        count = None
        if isinstance(node.lower, int) and isinstance(node.upper, int):
            count = len(range(node.lower, node.upper, node.step))
        p.line(depth, p.target.unroll(count))
    p.body(p.loop_head(node), node.body, depth)
    if p.in_team and node.parallel:
        p.line(depth, p.target.team_waits)
    p.threads, p.says_vectors, p.in_vectors = before


def _parallel(p: StatementPrinter, node: Loop) -> str:
    """Return the line before a loop on threads; nothing if it is not worth any."""
    written = p.target.team_loop if p.in_team else p.target.parallel_loop
    if written is None:
        return ""
    loops, vector = p.together(node)
    threads = Threads(loops, p.expressions)
    condition = "" if p.in_team else threads.condition(p.options.serial_below)
    if condition is None:
        return ""
    p.nested = len(loops) - 1
    alone = vector and node.parallel == 1
    p.says_vectors, p.in_vectors = True, alone
    return written(len(loops), condition, threads.part(), alone)


def _at_once(p: StatementPrinter, node: Loop) -> str:
    """Return the line before a loop that becomes vectors, if compilers have to be told."""
    if p.in_vectors or p.target.vector_loop is None:
        return ""
    found = _accumulated(p, node)
    if found is None or not (p.says_vectors or any(p.expressions.is_real(n) for _, n in found)):
        return ""
    p.in_vectors = True
    aliases = p.expressions.aliases
    return p.target.vector_loop(
        [(p.expressions.accumulation(how, name), aliases.get(name, name)) for how, name in found]
    )


def _accumulated(p: StatementPrinter, node: Loop) -> Accumulated | None:
    aliases = p.expressions.aliases
    private = {name for name, space in p.spaces.items() if space is AddressSpace.PRIVATE}
    scalars = private | {name for name, same in aliases.items() if same in private}
    reassociate = p.options.vectorize_sums and p.options.allow_reassociation
    return accumulated_at_once(node, p.expressions, scalars, reassociate=reassociate)


def _barrier(p: StatementPrinter, node: Barrier, depth: int) -> None:
    if p.target.barrier is None:
        raise InternalError(f"a barrier in a program for target '{p.target.name}'")
    p.line(depth, p.target.barrier(node.address_spaces))


def _wait(p: StatementPrinter, _node: Wait, depth: int) -> None:
    if p.target.copies is not None:
        p.expressions.uses.types.add(p.target.copies.needs)
        p.line(depth, f"{p.target.copies.wait};")


_RULES: Mapping[type[Node], _Write] = {
    Declare: _declare,
    Shuffle: _shuffle,
    Assign: _assign,
    Call: _call,
    Verbatim: _verbatim,
    Loop: _loop,
    Barrier: _barrier,
    Wait: _wait,
}


# --- what is found out about statements


def all_nodes(block: Block) -> Iterator[Node]:
    """Yield all statements, those inside of others too."""
    for node in block:
        yield node
        if isinstance(node, Loop | If):
            yield from all_nodes(node.body)


def hoist_local(block: Block) -> tuple[tuple[Declare, ...], Block]:
    """Take the declarations of variables that a work group shares out of a block.

    OpenCL and CUDA want them at the beginning of a function, and without an initial value: an
    assignment takes the place of that.
    """
    found: list[Declare] = []
    rest: list[Node] = []
    for node in block:
        if isinstance(node, Declare) and node.address_space is AddressSpace.LOCAL:
            found.append(replace(node, initial=None, constant=False))
            if node.initial is not None:
                rest.append(Assign(ex.Variable(node.name), node.initial, ""))
        elif isinstance(node, Loop | If):
            inner, body = hoist_local(node.body)
            found += inner
            rest.append(replace(node, body=body) if inner else node)
        else:
            rest.append(node)
    return tuple(found), tuple(rest)
