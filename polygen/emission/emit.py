"""`polygen.emit`: a kernel as files that programs without Python build and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from polygen.emission.description import description
from polygen.emission.for_c import files_for_c
from polygen.emission.for_cuda import files_for_cuda
from polygen.emission.for_opencl import files_for_opencl
from polygen.emission.header import header
from polygen.emission.host_kernel import HostKernel, host_kernel
from polygen.emission.makefiles import makefile
from polygen.emission.templates import shared_text
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.programs import TranslationUnit
from polygen.pipeline import DEFAULT_TARGET
from polygen.targets.languages.registry import get_target

_SHARED = ("polygen_geometry.h", "polygen_host.h")  # by all targets
# For each target, what makes its own files, and which of texts/ it needs as well.
ROWS: Mapping[str, tuple[Callable[[HostKernel], Mapping[str, str]], tuple[str, ...]]] = {
    "c": (files_for_c, ()),
    "opencl": (files_for_opencl, ("polygen_opencl.h", "polygen_opencl_host.h")),
    "cuda": (files_for_cuda, ("polygen_cuda.h", "polygen_cuda_host.h")),
}


@dataclass(frozen=True)
class Emitted:
    """A kernel's files, with their texts.

    Attributes:
        kernel: the kernel's name.
        target: ``"opencl"``, ``"cuda"`` or ``"c"``.
        files: the text of each file, by its name.
    """

    kernel: str
    target: str
    files: Mapping[str, str]

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is not there; return their paths.

        Raises:
            OSError: if that cannot be.
        """
        at = Path(folder)
        at.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (at / name).write_text(text, encoding="utf-8")
        return [at / name for name in self.files]


@public
def emit(
    kernel: Kernel | TranslationUnit, target: str | None = None, folder: str | Path | None = None
) -> Emitted:
    """Return a kernel's code with all that a program without Python needs to run it.

    That is, for a kernel ``saxpy``, the device source; ``saxpy.h``, with the grids of all launches,
    the memory of arrays and checks as functions of the sizes; ``saxpy.json``, which describes
    arguments and launches; ``saxpy_main.c``, a small program that runs it; and a Makefile.
    docs/emitting.md has the details.

    Indices have 64 bits if a size is declared ``int64``, or if sizes up to a million are not sure
    to do with 32; else they have 32, and the checks refuse sizes for which
    these are too few.  Arrays whose layout is not declared are row-major.

    Parameters:
        kernel: the types of its inputs are known: see `polygen.add_dtypes`; of a program, the only
            entry point counts.
        target: ``"opencl"``, ``"cuda"`` or ``"c"``; the kernel's own, or else OpenCL, if not given.
        folder: where the files are written, too; nowhere if not given.

    Raises:
        CannotEmit: if the kernel takes images, or arrays of more than eight axes.
        TypeNotFound, NoLoopNest, ...: as `polygen.generate_code`, if there is no code.
        OSError: if the files cannot be written.

    >>> import numpy as np
    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 2*x[i]", name="twice")
    >>> knl = pg.add_dtypes(knl, {"x": np.float32})
    >>> emitted = pg.emit(knl, "c")
    >>> print(*emitted.files, sep=", ")  # doctest: +NORMALIZE_WHITESPACE
    twice.c, twice_run.c, twice_main.c, twice_module.f90, twice_main.f90, twice.h, twice.json,
    Makefile, polygen_geometry.h, polygen_host.h
    """
    chosen = kernel.default_entrypoint if isinstance(kernel, TranslationUnit) else kernel
    name = get_target(target or chosen.target or DEFAULT_TARGET).name
    found = host_kernel(chosen, name)
    own_files, texts = ROWS[name]
    files = {
        **own_files(found),
        f"{found.name}.h": header(found),
        f"{found.name}.json": description(found),
        "Makefile": makefile(found),
        **{file: shared_text(file) for file in (*_SHARED, *texts)},
    }
    emitted = Emitted(found.name, name, files)
    if folder is not None:
        emitted.write(folder)
    return emitted
