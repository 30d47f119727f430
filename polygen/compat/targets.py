"""Loo.py's targets: polygen names them by texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polygen.errors import InvalidArgument
from polygen.source import caller_location


@dataclass(frozen=True)
class Target:
    """A target as Loo.py's scripts write it.

    Attributes:
        name: what polygen calls it.
    """

    name: str


def PyOpenCLTarget(device: Any = None) -> Target:  # noqa: ARG001, N802
    """Return OpenCL C, for devices of PyOpenCL's; code is made for no device in particular."""
    return Target("opencl")


def OpenCLTarget() -> Target:  # noqa: N802
    """Return OpenCL C."""
    return Target("opencl")


def CTarget() -> Target:  # noqa: N802
    """Return C."""
    return Target("c")


ExecutableCTarget = CWithGNULibcTarget = ExecutableCWithGNULibcTarget = CTarget


def target_name(target: object) -> str | None:
    """Return what polygen calls a target.

    Raises:
        InvalidArgument: if it is none.
    """
    if target is None or isinstance(target, str):
        return target
    if isinstance(target, Target):
        return target.name
    raise InvalidArgument(
        f"{target!r} is no target",
        where=caller_location(),
        remedy="pass PyOpenCLTarget(), OpenCLTarget(), CTarget() or ExecutableCTarget()",
    )
