"""Six mistakes that lowering might make, planted into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from polygen.errors import (
    DivergentBarrier,
    WrongInstances,
    WrongLoopProgram,
    WrongOrder,
    WrongStatement,
    WrongStorage,
)
from polygen.ir import expression as ex
from polygen.ir import layout
from polygen.ir.expression import Expression
from polygen.lower import address, emit, needed_guards, statements
from polygen.lower.program import Assign, Barrier, Block, If, Node

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Planted:
    """A mistake.

    Attributes:
        case: a case of `tests.deep.cases` in which it matters.
        plant: puts it into lowering.
        error: what polygen says.
        report: what oclgrind says of the generated code.
    """

    case: str
    plant: Callable[[Patch], None]
    error: type[WrongLoopProgram]
    report: str


def _no_barriers(patch: Patch) -> None:
    patch.setattr("polygen.lower.lower.place_barriers", lambda kernel, tree: tuple(tree))


def _no_guards(patch: Patch) -> None:
    patch.setattr(needed_guards, "guards", lambda *_: ())


def _wrong_subscripts(patch: Patch) -> None:
    """Forget the group: all groups write the same elements."""

    def wrong(node: Expression, arrays: Any, lane: str | None = None) -> Expression:
        found = address.linearize(node, arrays, lane)
        if isinstance(found, ex.Subscript) and ex.name_of(found) == "out":
            return ex.Subscript(found.aggregate, ex.Variable("i_inner"))
        return found

    patch.setattr(statements, "linearize", wrong)


def _small_arrays(patch: Patch) -> None:
    def fewer(array: Any) -> int:
        return layout.storage_count(array) - 1

    patch.setattr("polygen.lower.lower.storage_count", fewer)


def _block_of(rule: Callable[[Node], Node]) -> Callable[[Patch], None]:
    """Return what changes each node at the top of a launch."""

    def plant(patch: Patch) -> None:
        right = emit.Emitter.block

        def wrong(self: emit.Emitter, *args: Any) -> Block:
            return tuple(rule(node) for node in right(self, *args))

        patch.setattr(emit.Emitter, "block", wrong)

    return plant


def _some_wait(node: Node) -> Node:
    some = ex.Comparison(ex.Variable("i"), "<", 4)
    return If(some, (node,)) if isinstance(node, Barrier) else node


def _some_load(node: Node) -> Node:
    some = ex.Comparison(ex.Variable("i"), ">", 0)
    is_load = isinstance(node, Assign) and node.insn_id == "load"
    return If(some, (replace(node),)) if is_load else node


PLANTED = {
    "missing_barrier": Planted(
        "reversed_tile_n3",
        _no_barriers,
        WrongOrder,
        "Read-write data race at local memory",
    ),
    "global_race": Planted(
        "guarded_n17",
        _wrong_subscripts,
        WrongStatement,
        "Write-write data race at global memory",
    ),
    "global_out_of_bounds": Planted(
        "guarded_n17",
        _no_guards,
        WrongInstances,
        "Invalid write of size 8 at global memory",
    ),
    "local_out_of_bounds": Planted(
        "reversed_tile_n3",
        _small_arrays,
        WrongStorage,
        "Invalid write of size 8 at local memory",
    ),
    "divergent_barrier": Planted(
        "reversed_tile_n3",
        _block_of(_some_wait),
        DivergentBarrier,
        "Work-group divergence detected (barrier)",
    ),
    "uninitialized_local": Planted(
        "reversed_tile_n3",
        _block_of(_some_load),
        WrongInstances,
        "Uninitialized value written to global memory",
    ),
}
