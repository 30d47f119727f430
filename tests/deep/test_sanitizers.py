"""Generated C with OpenMP under the sanitizers of gcc and clang.

AddressSanitizer sees accesses beside arrays, UndefinedBehaviorSanitizer overflows, shifts and the
like, MemorySanitizer reads of what was never written, and ThreadSanitizer, with Archer, which tells
it of OpenMP's synchronization, races.  A program ends at the first thing found.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.deep import tools
from tests.deep.c_harness import Harness, Mistake, harness
from tests.deep.cases import case
from tests.deep.random_cases import deep_cases

pytestmark = pytest.mark.deep

# Not optimised, so that every access and operation of the source is there to be seen.
_COMMON = ("-std=c11", "-g", "-O0", "-Wno-unknown-pragmas", "-fno-omit-frame-pointer")


@dataclass(frozen=True)
class Sanitizer:
    """How to compile and run.

    Attributes:
        mistakes: what is said of each planted mistake.
    """

    compiler: str
    flags: tuple[str, ...]
    mistakes: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)


SANITIZERS = {
    "address and undefined": Sanitizer(
        "gcc",
        (
            "-fopenmp",
            "-fsanitize=address,undefined,float-cast-overflow",
            "-fno-sanitize-recover=all",
        ),
        {
            "heap_out_of_bounds": "heap-buffer-overflow",
            "stack_out_of_bounds": "out of bounds for type",
            "overflow": "signed integer overflow",
        },
    ),
    "memory": Sanitizer(
        "clang",
        ("-fsanitize=memory", "-fno-sanitize-recover=all"),
        {
            "uninitialized_tile": "use-of-uninitialized-value",
            "uninitialized_temporary": "use-of-uninitialized-value",
        },
    ),
    "thread": Sanitizer(
        "clang",
        ("-fopenmp", "-fsanitize=thread"),
        {"race_of_groups": "data race", "shared_tile": "data race"},
        {
            "OMP_NUM_THREADS": "4",
            "OMP_PROC_BIND": "false",
            "ARCHER_OPTIONS": "verbose=1",
            # libomp itself is not compiled for it; Archer says what it does.
            "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66",
        },
    ),
}


@cache
def _all() -> Harness:
    return harness(deep_cases())


def _mistakes() -> list[Mistake]:
    guarded, tile = case("guarded_n17"), case("reversed_tile_n3")
    temporary = case("global_temporary_n24")
    return [
        Mistake("heap_out_of_bounds", guarded, "< n)", "<= n)"),
        Mistake("stack_out_of_bounds", tile, "tile[8]", "tile[7]"),
        Mistake("overflow", guarded, "8 * i_outer + i_inner < n", "i_outer + 2147483647 < n"),
        Mistake("uninitialized_tile", tile, "i < 8", "i < 7"),
        Mistake("uninitialized_temporary", temporary, "i_inner < 4", "i_inner < 3"),
        Mistake("race_of_groups", guarded, "out[8 * i_outer + i_inner] =", "out[i_inner] ="),
        Mistake("shared_tile", tile, "double tile[8];", "static double tile[8];"),
    ]


def _built(sanitizer: Sanitizer, made: Harness, folder: Path) -> Path:
    compiler = tools.find(sanitizer.compiler)
    text, program = folder / "program.c", folder / "program"
    text.write_text(made.source)
    (folder / "data").write_bytes(made.data)
    done = tools.run([compiler, *_COMMON, *sanitizer.flags, "-o", str(program), str(text), "-lm"])
    if done.returncode != 0 and "omp" in done.stderr:
        pytest.fail(f"{compiler} lacks OpenMP: {tools.APT}\n{tools.shown(done)}", pytrace=False)
    assert done.returncode == 0, tools.shown(done)
    return program


def _run(sanitizer: Sanitizer, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return tools.run(
        [str(program), str(program.with_name("data")), *arguments], sanitizer.environment
    )


@pytest.mark.parametrize("name", SANITIZERS)
def test_generated_code_is_clean(name: str, tmp_path: Path) -> None:
    sanitizer = SANITIZERS[name]
    done = _run(sanitizer, _built(sanitizer, _all(), tmp_path))
    assert done.returncode == 0, tools.shown(done)
    assert set(done.stdout.split()) >= {each.name for each in deep_cases()}
    assert "WARNING:" not in done.stderr
    if name == "thread":
        assert "Archer detected OpenMP application with TSan" in done.stdout + done.stderr


@pytest.mark.parametrize("name", SANITIZERS)
def test_planted_mistakes_are_reported(name: str, tmp_path: Path) -> None:
    sanitizer = SANITIZERS[name]
    program = _built(sanitizer, harness([case("guarded_n17")], _mistakes()), tmp_path)
    assert _run(sanitizer, program, "guarded_n17").returncode == 0
    for mistake, report in sanitizer.mistakes.items():
        done = _run(sanitizer, program, mistake)
        assert done.returncode != 0, mistake
        assert report in done.stderr, tools.shown(done)
