"""OpenCL through pyopencl, which is imported when it is first needed."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs

from polygen.errors import MisalignedArray, NoDevice, NoLinker, NoTemporaryFiles
from polygen.forks import FORKED
from polygen.ir.array import GlobalArg
from polygen.runtime.backends.compiler_errors import failure
from polygen.runtime.backends.opencl.pocl import remedy_for
from polygen.runtime.backends.opencl.pocl_cache import give_folder, kept
from polygen.runtime.calls.device_errors import is_fault, raise_forked
from polygen.runtime.disk import cache as disk
from polygen.runtime.disk.folders import check_room
from polygen.source import caller_location

# pyopencl's classes cannot be named here: it is not to be loaded with polygen.
Context: TypeAlias = Any
Queue: TypeAlias = Any
OpenCLArray: TypeAlias = Any
_NO_CACHE = "PYOPENCL_NO_CACHE"
_ROOM = 2**20  # bytes that pyopencl's files may need
_REMEDY = "install an OpenCL driver; for this machine's processor: pip install 'polygen[pocl]'"


def pyopencl() -> Any:
    """Return the module pyopencl, with `pyopencl.array` loaded.

    Raises:
        NoDevice: if it is not installed, or if its driver is that of a process that was forked.
    """
    if FORKED:
        raise_forked()
    give_folder()
    loaded = sys.modules.get("pyopencl")  # this is asked at every call: importing takes longer
    if loaded is not None and "pyopencl.array" in sys.modules:
        return loaded
    try:
        with _without_cache():
            cl = importlib.import_module("pyopencl")
            importlib.import_module("pyopencl.array")
    except ImportError as error:
        raise NoDevice(
            f"pyopencl cannot be imported: {error}",
            where=caller_location(),
            remedy="pip install 'polygen[pocl]' installs it, with a driver for the processor",
        ) from None
    return cl


@contextmanager
def _without_cache() -> Generator[None]:
    """Load pyopencl so that it keeps nothing on disk, if that could not be: else, kernels fail."""
    if _NO_CACHE in os.environ or _has_room():
        yield
        return
    os.environ[_NO_CACHE] = "1"
    try:
        yield
    finally:
        del os.environ[_NO_CACHE]


def _has_room() -> bool:
    """Tell whether pyopencl's helper can write to its folder."""
    try:
        folder = Path(platformdirs.user_cache_dir("pytools", "pytools"))
        check_room(folder, _ROOM)
    except (RuntimeError, NoTemporaryFiles):
        return False
    return os.access(folder, os.W_OK)


def is_image(value: object) -> bool:
    """Tell whether a value is an image of pyopencl's, without loading pyopencl."""
    return _is("Image", value)


def is_context(value: object) -> bool:
    """Tell whether a value is a context of pyopencl's, without loading pyopencl."""
    return _is("Context", value)


def is_device(value: object) -> bool:
    """Tell whether a value is a device of pyopencl's, without loading pyopencl."""
    return _is("Device", value)


def is_queue(value: object) -> bool:
    """Tell whether a value is a command queue of pyopencl's, without loading pyopencl."""
    return _is("CommandQueue", value)


def is_gpu(device: Any) -> bool:
    """Tell whether a device of pyopencl's is a GPU."""
    return bool(device.type & pyopencl().device_type.GPU)


def _is(name: str, value: object) -> bool:
    module = sys.modules.get("pyopencl")
    known = getattr(module, name, None)  # another thread may be loading it: there are none yet
    return known is not None and isinstance(value, known)


def default_context() -> Context:
    """Return the context that is used where none is given.

    It is pyopencl's choice, which the environment variable PYOPENCL_CTX directs.

    Raises:
        NoDevice: if there is no device.
    """
    return _default_context(pyopencl())


@cache
def _default_context(cl: Any) -> Context:
    try:
        return cl.create_some_context(interactive=False)
    except (cl.Error, RuntimeError) as error:
        raise NoDevice(
            f"there is no OpenCL device: {error}", where=caller_location(), remedy=_REMEDY
        ) from None


def has_device() -> bool:
    """Tell whether there is an OpenCL device to fall back on."""
    try:
        default_context()
    except NoDevice:
        return False
    return True


_QUEUES = threading.local()


def queue_of(context: Context) -> Queue:
    """Return a queue of this thread's for a context."""
    cl = pyopencl()
    queues: dict[Context, Queue] = _QUEUES.__dict__.setdefault("queues", {})
    if context not in queues:
        queues[context] = cl.CommandQueue(context)
    return queues[context]


def check_alignments(device: Any, arrays: Iterable[GlobalArg]) -> None:
    """Raise MisalignedArray if buffers of a device do not begin where arrays have to."""
    known = device.mem_base_addr_align // 8
    for arg in arrays:
        if arg.alignment is not None and arg.alignment > known:
            raise MisalignedArray(
                f"array '{arg.name}' is declared to begin at a multiple of {arg.alignment} bytes; "
                f"buffers of device '{device.name}' begin at multiples of {known}",
                where=caller_location(),
                remedy="declare a smaller alignment",
            )


# --- compiling

_BUILT: dict[tuple[Context, str, tuple[str, ...]], Any] = {}


def build(
    context: Context, source: str, options: tuple[str, ...] = (), kernel: str | None = None
) -> Any:
    """Return a pyopencl program, built for a context.

    Parameters:
        context: pyopencl's.
        source: the text.
        options: passed to the compiler.
        kernel: the name of the kernel that this is the source of.

    Raises:
        NoLinker: if the driver is PoCL, and the linker that it starts is not there.
        CompilationFailed: if the driver does not accept the source or the options.
    """
    _check_linker(context)
    key = (context, source, options)
    if disk.caching() and key in _BUILT:
        return _BUILT[key]
    cl = pyopencl()
    try:
        with warnings.catch_warnings(), kept(context.devices[0], source, options):
            # Drivers that have nothing to complain of say so.
            warnings.simplefilter("ignore", cl.CompilerWarning)
            # Drivers have caches of their own; pyopencl's, which unpickles, is left out.
            program = cl.Program(context, source).build(list(options), cache_dir=False)
    except cl.Error as error:
        if is_fault(error):
            raise
        remedy = remedy_for(str(error))
        raise failure("the OpenCL compiler", str(error), options, source, kernel, remedy) from None
    if disk.caching():
        _BUILT[key] = program
    return program


def _check_linker(context: Context) -> None:
    # PoCL links each kernel when it is first run, and aborts the process if it cannot.
    pocl = any(d.platform.name == "Portable Computing Language" for d in context.devices)
    if pocl and shutil.which("ld") is None:
        raise NoLinker(
            "PoCL needs the linker 'ld', which is not on the PATH",
            where=caller_location(),
            remedy="sudo apt install binutils (Debian, Ubuntu), or use the C target: it needs gcc",
        )
