"""The files for target C: the kernel, a library around it, programs in C and in Fortran."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.emission.c_library import c_library
from polygen.emission.fortran import fortran_module, fortran_program
from polygen.emission.host_kernel import HostKernel
from polygen.emission.main_program import main_program


def files_for_c(kernel: HostKernel) -> Mapping[str, str]:
    """Return the texts of the files that are C's alone, by name."""
    name = kernel.name
    return {
        f"{name}.c": kernel.program.source,
        f"{name}_run.c": c_library(kernel),
        f"{name}_main.c": main_program(kernel, [f"{name}.h"], "(void *) array_{}.data"),
        f"{name}_module.f90": fortran_module(kernel),
        f"{name}_main.f90": fortran_program(kernel),
    }
