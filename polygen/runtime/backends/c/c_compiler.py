"""C source to a function that Python can call: the machine's compiler, started without a shell.

The flags ask for all speed that leaves values as C defines them: nothing is reassociated, NaN and
infinity mean what they mean.  What they give up is `errno` and floating-point traps, which no
generated code looks at.  A product may be fused with the sum it goes into, rounding once instead
of twice, as OpenCL's and CUDA's compilers do by default (the option ``contract`` of
a kernel stops that).
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polygen.errors import CompilationFailed, NoCompiler
from polygen.runtime.backends.c.library_check import why_not_a_library
from polygen.runtime.backends.c.openmp import OPENMP
from polygen.runtime.backends.compiler_errors import failure
from polygen.runtime.disk import cache as disk
from polygen.runtime.disk.folders import no_temporary_files, private_folder, temporary_files
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
    try:
        wanted = shlex.split(os.environ.get("CC", ""))
    except ValueError:  # a quotation without an end: no command
        return None
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
        wanted = os.environ.get("CC", "").strip()
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
    source: str,
    options: tuple[str, ...] = (),
    kernel: str | None = None,
    functions: Sequence[str] = (),
) -> ctypes.CDLL:
    """Return a loaded library with the functions of a C source.

    What cannot be loaded is not kept.  If what was kept cannot, it is made again.

    Parameters:
        source: the text.
        options: passed to the compiler after polygen's own.
        kernel: the name of the kernel that this is the source of.
        functions: the names of those that the library has to have.

    Raises:
        NoCompiler: if there is no compiler.
        CompilationFailed: if it does not accept the source or the options, or if what it leaves
            is no library with these functions.
        NoTemporaryFiles: if there is no room for these.
    """
    compiler = find_compiler()
    key = disk.key_of("c", source, compiler.identity, *FLAGS, "--", *options)
    if disk.caching() and key in _LOADED:
        return _LOADED[key]

    loaded: list[ctypes.CDLL] = []

    def load(binary: bytes) -> str | None:
        """Load a library; return why that cannot be."""
        found = _loaded(key, binary, functions)
        if isinstance(found, str):
            return found
        loaded.append(found)
        return None

    def make() -> bytes:
        disk.store(f"{key}.c", source.encode())
        binary = _compile(compiler, {"kernel.c": source}, options, kernel)
        why_not = load(binary)
        if why_not is not None:
            raise _left(compiler, why_not, options, kernel)
        return binary

    disk.kept(f"{key}.so", make, lambda binary: load(binary) is None)
    if disk.caching():
        _LOADED[key] = loaded[-1]
    return loaded[-1]


def compiled_library(
    texts: Mapping[str, str],
    options: tuple[str, ...] = (),
    kernel: str | None = None,
    functions: Sequence[str] = (),
    linked: tuple[str, ...] = (),
) -> bytes:
    """Return a shared library of several C sources, and headers, by their names.

    Other parameters, and errors, are those of `load_library`.

    Parameters:
        linked: what it is linked with: arguments of the linker.
    """
    compiler = find_compiler()
    binary = _compile(compiler, texts, options, kernel, linked)
    why_not = why_not_a_library(binary, functions)
    if why_not is not None:
        raise _left(compiler, why_not, options, kernel)
    return binary


def _compile(
    compiler: Compiler,
    texts: Mapping[str, str],
    options: tuple[str, ...],
    kernel: str | None,
    linked: tuple[str, ...] = (),
) -> bytes:
    with temporary_files(), tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        result = Path(folder, "kernel.so")
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        sources = [str(Path(folder, name)) for name in texts if name.endswith(".c")]
        command = (*compiler.command, *FLAGS, *options, "-o", str(result), *sources, *linked, "-lm")
        finished = _run(command, TMPDIR=folder)  # the compiler's own go with ours
        if finished.returncode == 0:
            if not result.is_file():
                raise _left(compiler, "no file", options, kernel)
            return result.read_bytes()
        message = finished.stderr.replace(f"{folder}/", "")
        message = message or f"it ended with the status {finished.returncode}, and said nothing"
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


def _left(
    compiler: Compiler, what: str, options: tuple[str, ...], kernel: str | None
) -> CompilationFailed:
    """Return the error that a compiler said that all went well, and left something else."""
    concerned = "" if kernel is None else f" for kernel '{kernel}'"
    command = " ".join(compiler.command)
    theirs = f", and the kernel's build options, {' '.join(options)}" if options else ""
    return CompilationFailed(
        f"the C compiler '{command}' said that all went well{concerned}, and left {what}",
        where=caller_location(),
        remedy=f"is it a compiler that makes shared libraries for this machine? Check the "
        f"environment variable CC{theirs}",
    )


def _loaded(key: str, binary: bytes, functions: Sequence[str]) -> ctypes.CDLL | str:
    """Return a loaded library, or why there is none, from a file of this process's own.

    Nobody can exchange or truncate it between the check and the use of its content.
    """
    why_not = why_not_a_library(binary, functions)
    if why_not is not None:
        return why_not
    # The loader knows libraries by their paths: another content is another file.
    content = hashlib.blake2b(binary, digest_size=8).hexdigest()
    path = private_folder() / f"{key}-{content}.so"
    try:
        library = OPENMP.load(path, binary)
    except OSError as error:
        if error.errno is not None:  # not the loader's, but of writing the file
            raise no_temporary_files(error.strerror or str(error)) from None
        return f"a library that cannot be loaded: {error}".replace(str(path), "it")
    lacking = [name for name in functions if not hasattr(library, name)]
    return f"a library without the function '{lacking[0]}'" if lacking else library
