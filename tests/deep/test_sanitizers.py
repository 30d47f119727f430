"""Generated C with OpenMP under the sanitizers of gcc and clang.

AddressSanitizer sees accesses beside arrays, UndefinedBehaviorSanitizer overflows, shifts and the
like, MemorySanitizer reads of what was never written, and ThreadSanitizer, with Archer, which tells
it of OpenMP's synchronization, races.  A program ends at the first thing found.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.deep import tools
from tests.deep.c_harness import Mistake, harness
from tests.deep.cases import Case, all_cases

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


def _case(name: str) -> Case:
    return next(c for c in all_cases() if c.name == name)


def _mistakes() -> list[Mistake]:
    guarded, tile = _case("guarded_n17"), _case("reversed_tile_n3")
    temporary = _case("global_temporary_n24")
    return [
        Mistake("heap_out_of_bounds", guarded, "< n)", "<= n)"),
        Mistake("stack_out_of_bounds", tile, "tile[8]", "tile[7]"),
        Mistake("overflow", guarded, "8 * i_outer + i_inner < n", "i_outer + 2147483647 < n"),
        Mistake("uninitialized_tile", tile, "i < 8", "i < 7"),
        Mistake("uninitialized_temporary", temporary, "i_inner < 4", "i_inner < 3"),
        Mistake("race_of_groups", guarded, "out[8 * i_outer + i_inner] =", "out[i_inner] ="),
        Mistake("shared_tile", tile, "double tile[8];", "static double tile[8];"),
    ]


def _built(sanitizer: Sanitizer, source: str, folder: Path) -> Path:
    compiler = tools.find(sanitizer.compiler)
    text, program = folder / "program.c", folder / "program"
    text.write_text(source)
    done = tools.run([compiler, *_COMMON, *sanitizer.flags, "-o", str(program), str(text), "-lm"])
    if done.returncode != 0 and "omp" in done.stderr:
        pytest.fail(f"{compiler} lacks OpenMP: {tools.APT}\n{tools.shown(done)}", pytrace=False)
    assert done.returncode == 0, tools.shown(done)
    return program


def _run(sanitizer: Sanitizer, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return tools.run([str(program), *arguments], sanitizer.environment)


@pytest.mark.parametrize("name", SANITIZERS)
def test_generated_code_is_clean(name: str, tmp_path: Path) -> None:
    sanitizer, cases = SANITIZERS[name], all_cases()
    done = _run(sanitizer, _built(sanitizer, harness(cases), tmp_path))
    assert done.returncode == 0, tools.shown(done)
    assert set(done.stdout.split()) >= {case.name for case in cases}
    assert "WARNING" not in done.stderr
    if name == "thread":
        assert "Archer detected OpenMP application with TSan" in done.stdout + done.stderr


@pytest.mark.parametrize("name", SANITIZERS)
def test_planted_mistakes_are_reported(name: str, tmp_path: Path) -> None:
    sanitizer = SANITIZERS[name]
    program = _built(sanitizer, harness([_case("guarded_n17")], _mistakes()), tmp_path)
    assert _run(sanitizer, program, "guarded_n17").returncode == 0
    for mistake, report in sanitizer.mistakes.items():
        done = _run(sanitizer, program, mistake)
        assert done.returncode != 0, mistake
        assert report in done.stderr, tools.shown(done)
