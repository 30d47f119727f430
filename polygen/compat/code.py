"""Generated code, in the forms in which Loo.py returns it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import polygen as pg
from polygen.errors import InternalError
from polygen.ir.public import public
from polygen.targets.programs.program import Program

_T = TypeVar("_T")
_NO_CACHE = "POLYGEN_NO_CACHE"


@dataclass(frozen=True)
class CodeGenerationResult:
    """The result of code generation.

    Attributes:
        program: as polygen has it.
    """

    program: Program

    def device_code(self) -> str:
        """Return the source of the device program."""
        return str(self.program)

    def host_code(self) -> str:
        """Return the code of the host's: none, the runtime needs no source to call the rest."""
        return ""

    def all_code(self) -> str:
        """Return all code."""
        return str(self.program)

    @property
    def device_programs(self) -> tuple[Any, ...]:
        """The functions that the host calls, each with a ``name``."""
        return _functions(self.program)


@public
def generate_code_v2(t_unit: pg.Kernel | pg.TranslationUnit) -> CodeGenerationResult:
    """Return the device program; see `polygen.generate_code`."""
    return CodeGenerationResult(pg.generate_code(t_unit))


@public
def generate_code(
    kernel: pg.Kernel | pg.TranslationUnit,
    device: Any = None,  # noqa: ARG001  (code is made for no device in particular)
) -> tuple[str, tuple[Any, ...]]:
    """Return the source of the device program, and the arguments that a call passes."""
    program = pg.generate_code(kernel)
    return str(program), program.arguments


@public
def generate_header(
    kernel: pg.Kernel | pg.TranslationUnit,
    codegen_result: CodeGenerationResult | None = None,
) -> list[str]:
    """Return the declarations of the functions that the host calls."""
    program = codegen_result.program if codegen_result else pg.generate_code(kernel)
    return [f"{_head(program, launch.name)};" for launch in _functions(program)]


@public
def generate_body(kernel: pg.Kernel | pg.TranslationUnit) -> str:
    """Return what stands between the braces of the first function that the host calls."""
    program = pg.generate_code(kernel)
    text = str(program)
    start = text.index("{", text.index(_head(program, _functions(program)[0].name))) + 1
    return text[start : text.index("\n}", start)].strip("\n")


def _functions(program: Program) -> tuple[Any, ...]:
    """Return the functions of the source that the host calls."""
    return tuple([function for function in program.launches if not function.calls_library])


def _head(program: Program, name: str) -> str:
    """Return the head of a function, as it stands in the source."""
    found = re.search(
        rf"^(?:__kernel |extern \"C\" __global__ |void )[^;{{}}]*?\b{name}\([^;{{}}]*\)(?=\n\{{)",
        str(program),
        re.MULTILINE,
    )
    if found is None:
        raise InternalError(f"the source has no function '{name}'")
    return found[0]


@public
def preprocess_kernel(kernel: _T) -> _T:
    """Return the kernel: code generation does all that is needed."""
    return kernel


preprocess_program = preprocess_kernel


@public
def get_one_linearized_kernel(kernel: _T, callables_table: Any = None) -> _T:  # noqa: ARG001
    """Return the kernel: code generation orders its instructions."""
    return kernel


get_one_scheduled_kernel = get_one_linearized_kernel


@public
def add_inames_for_unused_hw_axes(kernel: _T, within: Any = None) -> _T:  # noqa: ARG001
    """Return the kernel: instructions that lack a hardware axis are executed once along it."""
    return kernel


class CacheMode:
    """``with CacheMode(False): ...``: what `set_caching_enabled` says, until the block ends."""

    def __init__(self, new_flag: bool) -> None:
        self._flag = new_flag
        self._before: str | None = None

    def __enter__(self) -> None:
        self._before = os.environ.get(_NO_CACHE)
        set_caching_enabled(self._flag)

    def __exit__(self, *_error: object) -> None:
        if self._before is None:
            del os.environ[_NO_CACHE]
        else:
            os.environ[_NO_CACHE] = self._before


@public
def clear_in_mem_caches() -> None:
    """Do nothing: what kernels keep goes with them."""


@public
def set_caching_enabled(flag: bool) -> None:
    """Say whether what was generated and compiled is kept, in memory and on disk."""
    os.environ[_NO_CACHE] = "0" if flag else "1"
