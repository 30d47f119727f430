"""Loo.py's targets: polygen names them by texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from polygen.compat._table import HERE
from polygen.errors import InvalidArgument
from polygen.source import caller_location


@dataclass(frozen=True)
class TargetBase:
    """A target as Loo.py's scripts write it.

    Attributes:
        name: what polygen calls it.
    """

    name: str


def PyOpenCLTarget(device: Any = None, **options: Any) -> TargetBase:  # noqa: ARG001, N802
    """Return OpenCL C, for devices of PyOpenCL's; code is made for no device in particular.

    Nothing depends on ``atomics_flavor``, ``use_int8_for_bool``, ``pyopencl_module_name``,
    ``limit_arg_size_nbytes``, ``pointer_size_nbytes``.

    Raises:
        InvalidArgument: if there is another option.
    """
    return _target("opencl", "PyOpenCLTarget", options)


def OpenCLTarget(**options: Any) -> TargetBase:  # noqa: N802
    """Return OpenCL C; options as those of `PyOpenCLTarget`."""
    return _target("opencl", "OpenCLTarget", options)


def CudaTarget(**options: Any) -> TargetBase:  # noqa: N802
    """Return CUDA C++.  Nothing depends on ``extern_c``.

    Raises:
        InvalidArgument: if there is another option.
    """
    return _target("cuda", "CudaTarget", options)


def CTarget(**options: Any) -> TargetBase:  # noqa: N802
    """Return C.  Nothing depends on ``compiler`` and ``fortran_abi``, which has to be False.

    Raises:
        InvalidArgument: if there is another option.
    """
    if options.pop("fortran_abi", False):
        _refuse("fortran_abi=True: arguments are not passed as in Fortran")
    return _target("c", "CTarget", options)


ExecutableCTarget = CWithGNULibcTarget = ExecutableCWithGNULibcTarget = CTarget


def _target(name: str, kind: str, options: Mapping[str, Any]) -> TargetBase:
    if unknown := sorted(options.keys() - set(HERE[kind].ignored)):
        _refuse(f"{kind} has no option '{unknown[0]}'")
    return TargetBase(name)


def _refuse(what: str) -> NoReturn:
    raise InvalidArgument(what, where=caller_location(), remedy="leave it out")


def target_name(target: object) -> str | None:
    """Return what polygen calls a target.

    Raises:
        InvalidArgument: if it is none.
    """
    if target is None or isinstance(target, str):
        return target
    if isinstance(target, TargetBase):
        return target.name
    raise InvalidArgument(
        f"{target!r} is no target",
        where=caller_location(),
        remedy="pass PyOpenCLTarget(), OpenCLTarget(), CudaTarget(), CTarget() or "
        "ExecutableCTarget()",
    )
