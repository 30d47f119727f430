"""Names of reductions: built-in operations, and those that users define."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from polygen.ir.operation import Operation, Special
from polygen.ir.reduction import BUILT_IN

REDUCE = ("reduce", "simul_reduce")  # reduce(sum, k, x) is sum(k, x)
_registered: dict[str, Special] = {}
_of_text: ContextVar[Mapping[str, Special]] = ContextVar("_of_text")


def add_operation(operation: Special) -> bool:
    """Register an operation by its name; return whether no other one has this name."""
    return _registered.setdefault(operation.name, operation) == operation


def operation_names() -> tuple[str, ...]:
    """Return the names of all operations."""
    return (*BUILT_IN, *_registered, *_of_text.get(_registered))


def find_operation(name: str) -> Operation | None:
    """Return the operation of this name, or None if there is none."""
    return (
        name if name in BUILT_IN else _of_text.get(_registered).get(name) or _registered.get(name)
    )


@contextmanager
def defined_in_text(operations: Mapping[str, Special]) -> Generator[None]:
    """Let texts mean these operations by their names, while they are read."""
    token = _of_text.set(operations)
    try:
        yield
    finally:
        _of_text.reset(token)
