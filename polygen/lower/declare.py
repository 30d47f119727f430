"""Places declarations of temporaries: in the innermost block that holds all of their uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.lower.program import (
    Assign,
    Block,
    Call,
    Declare,
    If,
    Loop,
    Node,
    Shuffle,
    TensorProduct,
    Verbatim,
)


def expressions(node: Node) -> Iterator[Expression]:
    """Yield the expressions of a node itself, those of its body left out."""
    if isinstance(node, Assign):
        for pair in node.pairs:
            yield from pair
    elif isinstance(node, Verbatim):
        yield from (value for _, value in node.names)
        yield from map(ex.Variable, (*node.reads, *node.writes))
    elif isinstance(node, Call):
        yield from node.arguments
    elif isinstance(node, Loop):
        yield node.lower
        yield node.upper
        yield from () if node.runs is None else (node.runs,)
    elif isinstance(node, If):
        yield node.condition
    elif isinstance(node, Shuffle):
        yield node.element
    elif isinstance(node, TensorProduct):
        yield from node.elements
    elif isinstance(node, Declare) and node.initial is not None:
        yield node.initial


def mentioned(nodes: Iterable[Node]) -> frozenset[str]:
    """Return every name that the nodes mention, bodies included."""
    found: set[str] = set()
    for node in nodes:
        for expression in expressions(node):
            found |= walk.free_variables(expression)
        if isinstance(node, Loop | If):
            found |= mentioned(node.body)
    return frozenset(found)


_Carries: TypeAlias = Callable[[str, frozenset[str]], bool]


def place_declarations(
    block: Block,
    wanted: Mapping[str, Declare],
    items: frozenset[str] = frozenset(),
    carries: _Carries | None = None,
) -> Block:
    """Return the block with the variables that it mentions declared.

    A scalar moves into a loop or a condition if its first use there is an assignment that does
    not depend on its old value.  A declaration takes the place of such an assignment; that of a
    vector comes right before it.  A private array moves into a loop that is known to carry nothing
    in it.

    Parameters:
        block: what executes in one group, or in one work item.
        wanted: how each variable would be declared.
        items: the loops over the work items of a group: what these share stays outside.
        carries: tells whether an array passes a value from one iteration of loops to another.
    """
    if not wanted:
        return block
    return _Placer(block, wanted, items, carries).place(block, wanted)


class _Placer:
    """Looks up once which nodes mention which variables: blocks may be long."""

    def __init__(
        self,
        block: Block,
        wanted: Mapping[str, Declare],
        items: frozenset[str],
        carries: _Carries | None,
    ) -> None:
        self._wanted = wanted
        self._items = items
        self._carries = carries
        self._mentioned: dict[int, frozenset[str]] = {}
        self._users: dict[int, dict[str, list[Node]]] = {}
        self._assigned: dict[str, int] = {}
        self._index(block)

    def _index(self, block: Block) -> frozenset[str]:
        """Note what each node of a block mentions, and return what all of them do."""
        users: dict[str, list[Node]] = {}
        for node in block:
            names: set[str] = set()
            for expression in expressions(node):
                names |= walk.free_variables(expression)
            if isinstance(node, Loop | If):
                names |= self._index(node.body)
            elif isinstance(node, Assign):
                for name in (ex.name_of(target) for target, _ in node.pairs):
                    self._assigned[name] = self._assigned.get(name, 0) + 1
            elif isinstance(node, Verbatim | Call):
                for name in node.writes:  # perhaps more than once
                    self._assigned[name] = self._assigned.get(name, 0) + 2
            for name in names & self._wanted.keys():
                users.setdefault(name, []).append(node)
        self._users[id(block)] = users
        return frozenset(users)

    def place(
        self, block: Block, wanted: Mapping[str, Declare], loops: frozenset[str] = frozenset()
    ) -> Block:
        """Return the block with those of the variables `wanted` declared that it mentions."""
        before: dict[int, list[Declare]] = {}
        merged: dict[int, Declare] = {}
        inside: dict[int, dict[str, Declare]] = {}
        for name, users in sorted(self._users[id(block)].items()):
            declaration, first = wanted.get(name), users[0]
            if declaration is None:
                continue
            if len(users) == 1 and self._moves_into(first, declaration, loops):
                inside.setdefault(id(first), {})[name] = declaration
            elif _starts(first, declaration):
                merged[id(first)] = declaration
            else:
                before.setdefault(id(first), []).append(declaration)
        result: list[Node] = []
        for node in block:
            result += before.get(id(node), ())
            if isinstance(node, Assign) and id(node) in merged:
                result.append(self._start(node, merged[id(node)]))
            elif id(node) in merged:  # of a vector
                result += [self._only(merged[id(node)]), node]
            elif isinstance(node, Loop | If) and id(node) in inside:
                within = loops | {node.iname} if isinstance(node, Loop) else loops
                result.append(replace(node, body=self.place(node.body, inside[id(node)], within)))
            else:
                result.append(node)
        return tuple(result)

    def _start(self, node: Assign, declaration: Declare) -> Declare:
        return replace(
            self._only(declaration),
            initial=node.value,
            insn_id=node.insn_id,
            values=node.values,
        )

    def _only(self, declaration: Declare) -> Declare:
        """Return the declaration of what is constant if it is assigned to once."""
        return replace(declaration, constant=self._assigned[declaration.name] == 1)

    def _moves_into(self, node: Node, declaration: Declare, loops: frozenset[str]) -> bool:
        """Tell whether the declaration can stand inside the loop or condition, in these loops."""
        name = declaration.name
        if (
            not isinstance(node, Loop | If)
            or getattr(node, "at_once", False)
            or any(name in walk.free_variables(e) for e in expressions(node))
        ):
            return False
        is_shared = declaration.address_space is AddressSpace.LOCAL
        if is_shared and isinstance(node, Loop) and node.iname in self._items:
            return False
        within = loops | {node.iname} if isinstance(node, Loop) else loops
        users = self._users[id(node.body)][name]
        if _starts(users[0], declaration):
            return True
        if declaration.extent is not None and declaration.address_space is AddressSpace.PRIVATE:
            fresh = self._carries is not None and within and not self._carries(name, within)
            return bool(fresh)
        return len(users) == 1 and self._moves_into(users[0], declaration, within)


def _starts(node: Node, declaration: Declare) -> bool:
    """Tell whether `node` gives a variable, all of it, a value without regard to its old one."""
    if isinstance(node, Loop) and node.at_once:
        (assign,) = node.body
        return (
            declaration.extent == 1
            and isinstance(assign, Assign)
            and not assign.others
            and ex.name_of(assign.target) == declaration.name
            and declaration.name not in walk.free_variables(assign.value)
        )
    return (
        declaration.extent is None
        and isinstance(node, Assign)
        and not (node.others or node.atomicity or node.asynchronous)
        and isinstance(node.target, ex.Variable)
        and node.target.name == declaration.name
        and declaration.name not in walk.free_variables(node.value)
    )
