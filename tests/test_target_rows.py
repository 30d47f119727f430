"""A target is a row in each of a few tables: no other code asks for its name."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import polygen
from polygen.emission import emit
from polygen.inspection.devices import measured_device
from polygen.ir.options import TARGET_NAMES
from polygen.ir.target_facts import TARGET_FACTS
from polygen.targets.languages.registry import IN_CLUSTERS, TARGETS

PACKAGE = Path(polygen.__file__).parent

# The modules that name a target, beside those that are called like it.  CONTRIBUTING.md, "A target
# of your own", tells of the rows.
NAMING = {
    "ir/target_facts.py": "row: what is known without a language",
    "emission/emit.py": "row: the files for other hosts",
    "inspection/devices/measured_device.py": "row: the limits that are measured",
    "compat/targets.py": "row: what Loo.py calls it",
    "pipeline.py": "code is made for OpenCL where nobody says for what, as is documented",
    "emission/build.py": "a shared library that ctypes calls is one in C",
    "inspection/compare/counterexample.py": "counterexamples are run in C, on every machine",
    "tuning/measure.py": "candidates are timed on CUDA's device if there is one, else in C",
    "jitting/compiled_programs.py": "the memory of C's kernels is the host's: nothing is copied",
    "workunits/spaces.py": "row: what Kokkos calls it",
    "lazy/other_calls.py": "kernels without a target run in C, as is documented",
    "jitting/jit.py": "functions are compiled for C where nobody says for what, as is documented",
    "jitting/analyse.py": "what is parallel is found on the kernel for C, which is not compiled",
    "jitting/placement.py": "a processor or a GPU is chosen for arrays of the host's",
    "python/repeated_sizes.py": "sizes are written into code where compiling is quick: in C",
    "python/array_libraries.py": "CuPy's arrays are where CUDA's kernels run, NumPy's where C does",
    "python/kernel_of_nodes.py": "C has printf in a header, and OpenCL's compilers warn of it",
    "python/print_calls.py": "no target: the letter of formats for characters",
    "python/print_formats.py": "no target: the same letter",
    "compat/appy.py": "what APPy calls it",
    "compat/more_steps.py": "constants that a header of C defines, and no other target",
    "analysis/typing/type_checks.py": "no target: NumPy's letter for complex numbers",
    "ir/dtype.py": "no target: NumPy's letter for complex numbers",
    "ir/show_sums.py": "no target: the same letter",
    "language/routine_table.py": "no target: what BLAS calls the result of a product",
    "targets/programs/library_calls.py": "no target: the letters that names in BLAS begin with",
}
# Those that use the runtime's own modules of a target.
USING = {
    "emission/build.py": "compiles the library as calls are compiled",
    "emission/makefiles.py": "the flags with which calls are compiled",
    "inspection/devices/limits.py": "Limits.of_device asks CUDA's driver",
    "inspection/devices/measured_device.py": "asks drivers and compilers what a device is",
    "tuning/measure.py": "keeps times by the device or the compiler",
    "jitting/placement.py": "asks CUDA's driver whether there is a device",
}


def modules(clue: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield each module in whose text there is a clue, with its tree: parsing all takes long."""
    paths = {
        *PACKAGE.rglob("*.py"),
        *(PACKAGE / "transforms").rglob("*.py"),
    }  # not all follow links
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        if re.search(clue, text):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(text)


def words(name: str) -> set[str]:
    return set(re.split(r"[/._]", name))


def literals(node: ast.AST) -> list[str]:
    found = [n.value for n in ast.iter_child_nodes(node) if isinstance(n, ast.Constant)]
    keys = node.keys if isinstance(node, ast.Dict) else []
    found += [k.value for k in keys if isinstance(k, ast.Constant)]
    return [value for value in found if isinstance(value, str)]


def is_about_types(node: ast.AST) -> bool:
    """Tell whether "c" is a kind of numbers: beside other letters, or compared with a kind."""
    others = {text for text in literals(node) if len(text) <= 2} - set(TARGET_NAMES)
    compared = ast.unparse(node) if isinstance(node, ast.Compare) else ""
    return bool(others) or "kind" in compared


def named_in(tree: ast.Module) -> set[str]:
    """Return the targets whose names are literals somewhere in a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):  # pieces of a text
            continue
        names = set(literals(node)).intersection(TARGET_NAMES)
        found |= names - {"c"} if is_about_types(node) else names
    return found


def used_in(tree: ast.Module) -> set[str]:
    """Return the targets of whose languages and runtime's modules a module imports something."""
    names = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    inside = [n for n in names if n.startswith(("polygen.runtime.", "polygen.targets.languages."))]
    return {target for target in TARGET_NAMES if any(target in words(n) for n in inside)}


def test_the_scan_finds_what_it_looks_for() -> None:
    for text in ('t == "c"', 't in ("c", "cuda")', 'f("c")', 'x = "c"', '{"c": 1}', 'a or "c"'):
        assert "c" in named_in(ast.parse(text)), text
    for text in ('a.kind == "c"', '{"c": 1, "f": 2}', 't in ("b", "c")', 'f"c{n}"', '"in c"'):
        assert not named_in(ast.parse(text)), text
    assert named_in(ast.parse('{"f": "cuda"}')) == {"cuda"}
    assert used_in(ast.parse("from polygen.runtime.backends.c.c_compiler import FLAGS")) == {"c"}
    assert used_in(ast.parse("from polygen.runtime.backends.cuda import cuda_driver")) == {"cuda"}
    assert used_in(ast.parse("from polygen.targets.languages.cuda import CUDA")) == {"cuda"}
    assert not used_in(ast.parse("from polygen.emission.c_text import in_c"))


def test_targets_are_named_nowhere_else() -> None:
    clue = f"[\"']({'|'.join(TARGET_NAMES)})[\"']"
    found = {name for name, tree in modules(clue) if named_in(tree) - words(name)}
    assert found == set(NAMING)


def test_what_belongs_to_a_target_is_used_nowhere_else() -> None:
    inside = ("runtime/", "targets/languages/")
    clue = r"polygen\.(runtime|targets\.languages)\b"
    found = {name for name, tree in modules(clue) if used_in(tree) - words(name)}
    assert {name for name in found if not name.startswith(inside)} == set(USING)


def test_contributing_tells_of_each_row() -> None:
    whole = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    page = whole.partition("\n## A target of your own\n")[2].partition("\n## ")[0]
    paths = {path for path in re.findall(r"`([\w/]+/\w+\.\w+)`", page) if "hip" not in path}
    assert paths >= {name for name, why in NAMING.items() if why.startswith("row: ")}
    roots = (PACKAGE, PACKAGE.parent)
    assert [path for path in paths if not any((root / path).is_file() for root in roots)] == []


def test_every_table_has_a_row_for_each() -> None:
    """The runtime's table is in tests/runtime/test_backends.py."""
    for table in (TARGETS, emit.ROWS, measured_device.BY_TARGET):
        assert set(table) == set(TARGET_NAMES)
    for name, facts in TARGET_FACTS.items():
        assert TARGETS[name].name == name
        assert facts.has_grid == (TARGETS[name].hardware_index is not None)
        assert facts.has_clusters == (name in IN_CLUSTERS)
        assert not facts.sub_group_size or TARGETS[name].shuffle is not None


@pytest.mark.more
def test_a_target_with_rows_is_one() -> None:
    subprocess.run((sys.executable, "-m", "tests.another_target"), check=True)
