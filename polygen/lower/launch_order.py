"""An order of siblings in which launches end between nests, and not within one.

    a: s_own = ...      (local memory)        a: s_own = ...
    b: t[i] = x[i]                            c: s[0] = sum of s_own
    -- everyone waits --               ->     b: t[i] = x[i]
    c: s[0] = sum of s_own                    -- everyone waits --
    d: y[i] = t[7 - i]                        d: y[i] = t[7 - i]

What shares private or local memory is in one launch.  Each such group of siblings goes to the first
launch that all it depends on permits; within a launch, siblings stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from polygen.analysis.access.domains import all_reads
from polygen.analysis.order.instruction_groups import conflicts_with_groups, orders_of_groups
from polygen.analysis.order.loop_tree import TreeNode, assignments, statements
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Barrier
from polygen.ir.kernel import Kernel


def by_launch(
    kernel: Kernel, nodes: Sequence[TreeNode], waits: Callable[[TreeNode, TreeNode], int]
) -> list[list[TreeNode]] | None:
    """Return siblings in such an order, those of each launch; None if there is none.

    Parameters:
        kernel: the kernel.
        nodes: the siblings, in an order that is permitted.
        waits: whether everyone (2), somebody (1) or nobody (0) waits between two of them.
    """
    if any(isinstance(node, Barrier) for node in nodes) or conflicts_with_groups(kernel):
        return None
    home = _homes(kernel, nodes)
    if home == list(range(len(nodes))):
        return _each_by_itself(kernel, nodes, waits)
    edges: dict[tuple[int, int], bool] = {}
    for second, first in _ordered_pairs(kernel, nodes, waits):
        pair, everyone = (home[first], home[second]), waits(nodes[first], nodes[second]) == 2
        if everyone and pair[0] == pair[1]:
            return None
        edges[pair] = edges.get(pair, False) or everyone
    launches = _launches(edges, len(nodes))
    if launches is None:
        return None
    found: list[list[TreeNode]] = [[] for _ in range(1 + max(launches.values()))]
    for at, node in enumerate(nodes):
        found[launches[home[at]]].append(node)
    return found


def _each_by_itself(
    kernel: Kernel, nodes: Sequence[TreeNode], waits: Callable[[TreeNode, TreeNode], int]
) -> list[list[TreeNode]]:
    """Return siblings that share no memory of groups by launches, each in the first that it can be.

    A sibling is in the last launch of those that it comes after, or in the next one.  So it is
    compared with those in late launches first, and with few others.
    """
    before = next(orders_of_groups(kernel))
    found: list[list[TreeNode]] = []
    launch_of: dict[str, int] = {}
    for node in nodes:
        ids = [insn.id for insn in statements((node,))]
        needed = NO_NAMES.union(*(before[insn_id] for insn_id in ids))
        least = max((launch_of[i] for i in needed if i in launch_of), default=0)
        launch = _first_launch(node, found, least, waits)
        if launch == len(found):
            found.append([])
        found[launch].append(node)
        launch_of.update(dict.fromkeys(ids, launch))
    return found


def _first_launch(
    node: TreeNode,
    launches: Sequence[Sequence[TreeNode]],
    least: int,
    waits: Callable[[TreeNode, TreeNode], int],
) -> int:
    """Return the first launch, not before `least`, in which a sibling can be."""
    for launch in reversed(range(least, len(launches))):
        most = 0
        for earlier in launches[launch]:
            most = max(most, waits(earlier, node))
            if most == 2:
                return launch + 1
        if most:
            return launch
    return least


def is_cut(kernel: Kernel, parts: Sequence[Sequence[TreeNode]]) -> bool:
    """Tell whether launches, each some siblings, would share private or local memory."""
    home = _homes(kernel, [node for part in parts for node in part])
    start = 0
    for part in parts:
        if any(at < start for at in home[start : start + len(part)]):
            return True
        start += len(part)
    return False


def _homes(kernel: Kernel, nodes: Sequence[TreeNode]) -> list[int]:
    """Return, for each sibling, the first one that has to be in the same launch."""
    own = {
        t.name
        for t in kernel.temporaries
        if kernel.address_space(t.name) is not AddressSpace.GLOBAL and not t.read_only
    }
    home = list(range(len(nodes)))
    first: dict[str, int] = {}
    for at, node in enumerate(nodes):
        touched = (all_reads(kernel, i).union(i.written_names) for i in assignments((node,)))
        for name in NO_NAMES.union(*touched) & own:
            earlier = home[first.setdefault(name, at)]
            low, high = sorted((home[at], earlier))
            home = [low if h == high else h for h in home]
    return home


def _ordered_pairs(
    kernel: Kernel, nodes: Sequence[TreeNode], waits: Callable[[TreeNode, TreeNode], int]
) -> list[tuple[int, int]]:
    """Return the siblings that come after others, and these."""
    before = next(orders_of_groups(kernel))
    ids = [{insn.id for insn in statements((node,))} for node in nodes]
    needed = [NO_NAMES.union(*(before[insn_id] for insn_id in own)) for own in ids]
    return [
        (second, first)
        for second in range(len(nodes))
        for first in range(second)
        if not needed[second].isdisjoint(ids[first]) or waits(nodes[first], nodes[second])
    ]


def _launches(edges: Mapping[tuple[int, int], bool], count: int) -> Mapping[int, int] | None:
    """Return the first launch in which each group can be; None if they wait for each other.

    Parameters:
        edges: which groups come before which, and whether a launch ends in between.
        count: more than there are launches.
    """
    found = dict.fromkeys(range(count), 0)
    for _ in range(count + 1):
        changed = False
        for (first, second), everyone in edges.items():
            if first != second and found[second] < found[first] + everyone:
                found[second] = found[first] + everyone
                changed = True
        if not changed:
            return found
    return None
