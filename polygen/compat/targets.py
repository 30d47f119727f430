"""Loo.py's targets: polygen names them by texts."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from polygen.compat._table import HERE
from polygen.errors import InvalidArgument
from polygen.source import caller_location


class _Targets(type):
    """Lets ``isinstance`` ask for what polygen calls a target, too, as kernels have it."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type(instance) is not str:
            return type.__instancecheck__(cls, instance)
        called: str = getattr(cls, "called", "")
        return instance == called if called else instance in _CALLED


class TargetBase(str, metaclass=_Targets):
    """A target as Loo.py's scripts write it: the text that polygen calls it by.

    Nothing depends on options of code generation: ``names.table`` lists them.

    Raises:
        InvalidArgument: if there is another option.
    """

    __slots__ = ()
    called: ClassVar[str] = ""

    def __new__(cls, *_device: Any, **options: Any) -> TargetBase:
        """Return the target; a device that is passed is left aside."""
        if options.pop("fortran_abi", False):
            _refuse("fortran_abi=True: arguments are not passed as in Fortran")
        rows = [HERE[kind.__name__] for kind in cls.__mro__ if kind.__name__ in HERE]
        known = {"device"}.union(*(row.ignored for row in rows))
        if unknown := sorted(options.keys() - known):
            _refuse(f"{cls.__name__} has no option '{unknown[0]}'")
        return super().__new__(cls, cls.called)

    @property
    def name(self) -> str:
        """What polygen calls it."""
        return str(self)


class CFamilyTarget(TargetBase):
    """Base class of targets."""

    __slots__ = ()


class CTarget(CFamilyTarget):
    """C, for other programs."""

    __slots__ = ()
    called = "c"


class ExecutableCTarget(CTarget):
    """C, which is compiled and called."""

    __slots__ = ()
    called = "c"


class CWithGNULibcTarget(CTarget):
    """C, for the GNU C library."""

    __slots__ = ()
    called = "c"


class ExecutableCWithGNULibcTarget(ExecutableCTarget):
    """C, for the GNU C library, which is compiled and called."""

    __slots__ = ()
    called = "c"


class OpenCLTarget(CFamilyTarget):
    """OpenCL C."""

    __slots__ = ()
    called = "opencl"


class PyOpenCLTarget(OpenCLTarget):
    """OpenCL C, for devices of PyOpenCL's; code is made for no device in particular."""

    __slots__ = ()
    called = "opencl"


class CudaTarget(CFamilyTarget):
    """CUDA C++."""

    __slots__ = ()
    called = "cuda"


_CALLED = frozenset(("c", "opencl", "cuda"))


def _refuse(what: str) -> NoReturn:
    raise InvalidArgument(what, where=caller_location(), remedy="leave it out")


def target_name(target: object) -> str | None:
    """Return what polygen calls a target.

    Raises:
        InvalidArgument: if it is none.
    """
    if target is None:
        return None
    if isinstance(target, str):
        return str(target)
    raise InvalidArgument(
        f"{target!r} is no target",
        where=caller_location(),
        remedy="pass PyOpenCLTarget(), OpenCLTarget(), CudaTarget(), CTarget() or "
        "ExecutableCTarget()",
    )
