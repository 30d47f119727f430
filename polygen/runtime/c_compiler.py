"""C source to a function that Python can call: the machine's compiler, started without a shell.

The flags ask for all speed that leaves values as C defines them: nothing is reassociated, NaN and
infinity mean what they mean.  What they give up is `errno` and floating-point traps, which no
generated code looks at.  A product may be fused with the sum it goes into, rounding once instead
of twice, as OpenCL's and CUDA's compilers do by default (``-ffp-contract=off`` as a build option
of the kernel stops that).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polygen.errors import CompilationFailed, NoCompiler
from polygen.runtime import cache as disk
from polygen.runtime.compilation import failure
from polygen.runtime.folders import no_temporary_files, private_folder, temporary_files
from polygen.runtime.openmp import OPENMP
from polygen.source import caller_location

FLAGS = (
    "-std=c11",
    "-O3",
    "-march=native",
    "-fopenmp",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
)
_KNOWN = ("gcc", "clang", "cc")
_REMEDY = (
    "install one (Debian, Ubuntu: sudo apt install gcc), or name it in the environment "
    "variable CC; or run on OpenCL: pip install 'polygen[pocl]'"
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler of this machine.

    Attributes:
        command: its path, and what has to be passed first.
        identity: what distinguishes its code from that of other compilers and versions.
    """

    command: tuple[str, ...]
    identity: str


def compiler_command() -> tuple[str, ...] | None:
    """Return the compiler to start, or None if there is none.

    The environment variable CC decides, if it is set; else gcc is preferred to clang.
    """
    wanted = shlex.split(os.environ.get("CC", ""))
    if wanted:
        path = shutil.which(wanted[0])
        return None if path is None else (path, *wanted[1:])
    for name in _KNOWN:
        path = shutil.which(name)
        if path is not None:
            return (path,)
    return None


def find_compiler() -> Compiler:
    """Return the C compiler.

    Raises:
        NoCompiler: if there is none, or none where CC says.
    """
    command = compiler_command()
    if command is None:
        wanted = os.environ.get("CC", "")
        tried = f"the environment variable CC says '{wanted}'" if wanted else "no gcc, clang or cc"
        raise NoCompiler(
            f"there is no C compiler on the path: {tried}",
            where=caller_location(),
            remedy=_REMEDY,
        )
    return Compiler(command, _identity(command))


@cache
def _identity(command: tuple[str, ...]) -> str:
    version = _run((*command, "--version")).stdout
    return "\n".join((*command, version, _processor()))


@cache
def _processor() -> str:
    """Return what -march=native depends on: users share caches between machines."""
    described = [platform.machine()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return described[0]
    for field in ("model name", "flags", "Features", "CPU part"):
        described += [line for line in lines if line.startswith(field)][:1]
    return "\n".join(described)


def _run(command: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            # Messages in English, with plain quotes.
            env={**os.environ, "LC_ALL": "C", **environment},
        )
    except OSError as error:
        raise NoCompiler(
            f"the C compiler '{command[0]}' cannot be started: {error.strerror}",
            where=caller_location(),
            remedy=_REMEDY,
        ) from None


# --- compiling

_LOADED: dict[str, ctypes.CDLL] = {}


def load_library(
    source: str, options: tuple[str, ...] = (), kernel: str | None = None
) -> ctypes.CDLL:
    """Return a loaded library with the functions of a C source.

    Parameters:
        source: the text.
        options: passed to the compiler after polygen's own.
        kernel: the name of the kernel that this is the source of.

    Raises:
        NoCompiler: if there is no compiler.
        CompilationFailed: if it does not accept the source or the options.
        NoTemporaryFiles: if there is no room for these.
    """
    compiler = find_compiler()
    key = disk.key_of("c", source, compiler.identity, *FLAGS, "--", *options)
    if disk.caching() and key in _LOADED:
        return _LOADED[key]

    def make() -> bytes:
        disk.store(f"{key}.c", source.encode())
        return _compile(compiler, {"kernel.c": source}, options, kernel)

    library = _load_binary(key, disk.kept(f"{key}.so", make))
    if disk.caching():
        _LOADED[key] = library
    return library


def compiled_library(
    texts: Mapping[str, str], options: tuple[str, ...] = (), kernel: str | None = None
) -> bytes:
    """Return a shared library of several C sources, and headers, by their names.

    Parameters and errors are those of `load_library`.
    """
    return _compile(find_compiler(), texts, options, kernel)


def _compile(
    compiler: Compiler, texts: Mapping[str, str], options: tuple[str, ...], kernel: str | None
) -> bytes:
    with temporary_files(), tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        result = Path(folder, "kernel.so")
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        sources = [str(Path(folder, name)) for name in texts if name.endswith(".c")]
        command = (*compiler.command, *FLAGS, *options, "-o", str(result), *sources, "-lm")
        finished = _run(command, TMPDIR=folder)  # the compiler's own go with ours
        if finished.returncode == 0:
            return result.read_bytes()
        message = finished.stderr.replace(f"{folder}/", "")
    if os.strerror(errno.ENOSPC) in message:
        raise no_temporary_files(os.strerror(errno.ENOSPC))
    remedy = "the compiler lacks OpenMP (clang on Debian, Ubuntu: sudo apt install libomp-dev)"
    raise failure(
        f"the C compiler '{command[0]}'",
        message,
        options,
        next(iter(texts.values())),
        kernel,
        remedy if re.search(r"fopenmp|lomp|libomp|omp\.h", message) else None,
    )


def _load_binary(key: str, binary: bytes) -> ctypes.CDLL:
    """Load a shared object from a file of this process's own.

    Nobody can exchange or truncate it between the check and the use of its content.
    """
    path = private_folder() / f"{key}.so"
    try:
        return OPENMP.load(path, binary)
    except OSError as error:
        if error.errno is not None:  # not the loader's, but of writing the file
            raise no_temporary_files(error.strerror or str(error)) from None
        raise CompilationFailed(
            f"the compiled code cannot be loaded: {error}",
            where=caller_location(),
            remedy="does the compiler generate code for this machine?",
        ) from None
