"""Loops as C: how they begin, and what compilers are told of threads and vectors."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.lower.program import ENDLESS, HostLoop, If, Loop
from polygen.targets.expressions.typed_terms import SUM
from polygen.targets.statements.guards import outwards
from polygen.targets.statements.simd import Accumulated, accumulated_at_once, is_short
from polygen.targets.statements.statement_lines import StatementPrinter
from polygen.targets.statements.threads import Threads, nest


def print_loop(p: StatementPrinter, node: Loop, depth: int) -> None:
    """Print a loop: for threads, for vectors, unrolled, or plain."""
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
    p.body(loop_head(p, node), node.body, depth)
    if p.in_team and node.parallel:
        p.line(depth, p.target.team_waits)
    p.threads, p.says_vectors, p.in_vectors = before


def _parallel(p: StatementPrinter, node: Loop) -> str:
    """Return the line before a loop on threads; nothing if it is not worth any."""
    written = p.target.team_loop if p.in_team else p.target.parallel_loop
    if written is None:
        return ""
    loops, vector = together(p, node)
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


def together(p: StatementPrinter, node: Loop) -> tuple[list[Loop], bool]:
    """Return the loops that run in parallel as one, and whether the innermost is vectors."""
    loops = list(nest(node, node.parallel))
    vector = _accumulated(p, loops[-1]) is not None
    # A compiler makes no vectors of loops that are one.
    if vector and len(loops) > 1 and not is_short(loops[-2]):
        loops.pop()
    return loops, vector


def loop_head(p: StatementPrinter, loop: Loop | HostLoop) -> str:
    """Return how a loop begins."""
    lower = p.expressions.index(loop.lower)
    runs = "" if loop.runs is None else p.expressions.condition(loop.runs)
    if loop.upper == ENDLESS:
        return _head(p, loop, lower.text, runs)
    compared, last = _comparison(loop.upper)
    from_zero = isinstance(loop.lower, int) and loop.lower >= 0 and compared == "<"
    upper = p.expressions.index(last, counted_up_to=from_zero)
    name = loop.iname
    condition = f"{name} {compared} {upper.within(SUM)}"
    return _head(p, loop, lower.text, f"{condition} && {runs}" if runs else condition)


def _head(p: StatementPrinter, loop: Loop | HostLoop, lower: str, condition: str) -> str:
    name = loop.iname
    counter = p.expressions.counter_type_of(name)
    step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
    return f"for ({counter} {name} = {lower}; {condition}; {step})"


def _comparison(upper: ex.Expression) -> tuple[str, ex.Expression]:
    """Return how a counter is compared with its upper bound: ``j <= i`` for ``j < i + 1``."""
    if isinstance(upper, ex.Sum) and len(upper.children) == 2 and upper.children[1] == 1:
        return "<=", upper.children[0]
    return "<", upper
