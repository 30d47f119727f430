"""Execution spaces: where work units run; memory spaces: where views are."""

from __future__ import annotations

import contextlib
import importlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from polygen.errors import InvalidArgument, NoLibrary, UnsupportedSpace
from polygen.source import caller_location


class ExecutionSpace(Enum):
    """A place where work units run."""

    OpenMP = "OpenMP"
    Threads = "Threads"
    Serial = "Serial"
    Cuda = "Cuda"
    OpenCL = "OpenCL"
    HIP = "HIP"
    Debug = "Debug"
    Default = "Default"


class MemorySpace(Enum):
    """A memory for the elements of views.  Arrays are used where they are: this is a wish."""

    HostSpace = "HostSpace"
    CudaSpace = "CudaSpace"
    CudaUVMSpace = "CudaUVMSpace"
    HIPSpace = "HIPSpace"
    MemorySpaceDefault = "MemorySpaceDefault"


@dataclass(frozen=True)
class ExecutionSpaceInstance:
    """A space with a stream of work: what policies of different streams run may overlap.

    Attributes:
        space: the space.
        stream: a stream of CuPy's or PyTorch's, or its address; processors have one stream.

    >>> import polygen.workunits as pk
    >>> pk.RangePolicy(pk.ExecutionSpaceInstance(pk.Serial, 1), 0, 10).space.value
    'Serial'
    """

    space: ExecutionSpace
    stream: Any = None

    def is_current(self) -> AbstractContextManager[Any]:
        """Return a context in which the stream is the one that kernels run in."""
        stream = self.stream
        if stream is None or supported(self.space) is not ExecutionSpace.Cuda:
            return contextlib.nullcontext()
        if hasattr(stream, "cuda_stream"):
            found: AbstractContextManager[Any] = importlib.import_module("torch").cuda.stream(
                stream
            )
            return found
        if isinstance(stream, int):
            stream = _external_stream(stream)
        if not hasattr(stream, "__enter__"):
            raise InvalidArgument(
                f"{stream!r} is no stream",
                where=caller_location(),
                remedy="pass cupy.cuda.Stream(), torch.cuda.Stream(), or the address of a stream",
            )
        return stream  # type: ignore[no-any-return]


def _external_stream(address: int) -> Any:
    try:
        return importlib.import_module("cupy").cuda.ExternalStream(address)
    except ImportError:
        raise NoLibrary(
            f"the stream at {address} is asked for, and CuPy, which has such streams, is not "
            "installed",
            where=caller_location(),
            remedy="pip install cupy-cuda12x",
        ) from None


# The target that runs a space; Debug has none: it is Python.
_TARGETS = {
    ExecutionSpace.OpenMP: "c",
    ExecutionSpace.Threads: "c",
    ExecutionSpace.Serial: "c",
    ExecutionSpace.Cuda: "cuda",
    ExecutionSpace.OpenCL: "opencl",
}


@dataclass
class _Chosen:
    space: ExecutionSpace
    number: int  # of the space, which is quicker to look up by


_NUMBERS = {space: number for number, space in enumerate(ExecutionSpace)}
_CHOSEN = _Chosen(ExecutionSpace.OpenMP, _NUMBERS[ExecutionSpace.OpenMP])


def set_default_space(space: ExecutionSpace) -> None:
    """Set where work units run whose policy names no space.

    Parameters:
        space: an execution space.

    Raises:
        UnsupportedSpace: for HIP.

    >>> import polygen.workunits as pk
    >>> pk.set_default_space(pk.Serial)
    >>> pk.get_default_space().value
    'Serial'
    >>> pk.set_default_space(pk.OpenMP)
    """
    if not isinstance(space, ExecutionSpace):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument(
            f"{space!r} is no execution space",
            where=caller_location(),
            remedy="pass OpenMP, Threads, Serial, Cuda, OpenCL or Debug",
        )
    if space is not ExecutionSpace.Default:
        _CHOSEN.space = supported(space)
        _CHOSEN.number = _NUMBERS[space]


def get_default_space() -> ExecutionSpace:
    """Return where work units run whose policy names no space."""
    return _CHOSEN.space


def default_number() -> int:
    """Return the number of the default space."""
    return _CHOSEN.number


def number_of(space: ExecutionSpace) -> int:
    """Return the number of a space, by which dispatches are looked up."""
    return _CHOSEN.number if space is ExecutionSpace.Default else _NUMBERS[space]


def supported(space: ExecutionSpace) -> ExecutionSpace:
    """Return a space that work units can run in: the default one, if that is named.

    Parameters:
        space: an execution space.

    Raises:
        UnsupportedSpace: for HIP.
    """
    if space is ExecutionSpace.Default:
        return _CHOSEN.space
    if space is ExecutionSpace.HIP:
        raise UnsupportedSpace(
            "polygen has no HIP: its targets are C, OpenCL and CUDA",
            where=caller_location(),
            remedy="set_default_space(OpenCL) runs on such devices, where they have OpenCL",
        )
    return space


def check_memory(space: Any) -> None:
    """Refuse the memory of devices that polygen has no target for.

    Parameters:
        space: a memory space or an execution space, or None.

    Raises:
        UnsupportedSpace: for HIP's.
    """
    if space in (MemorySpace.HIPSpace, ExecutionSpace.HIP):
        raise UnsupportedSpace(
            f"a view is asked for in '{space.value}', and polygen has no HIP",
            where=caller_location(),
            remedy="leave the space out: arrays are used where they are",
        )


def target_of(space: ExecutionSpace) -> str:
    """Return the name of the target that runs a space."""
    return _TARGETS[space]


def runs_python(space: ExecutionSpace) -> bool:
    """Tell whether work units run as plain Python in a space."""
    return space is ExecutionSpace.Debug
