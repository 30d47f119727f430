"""Every example runs, and checks its own results; none warns."""

import ast
import re
import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests.nvidia.every_source import also_printed

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
WRITES = {
    "unsharp_mask": {"unsharp_mask.png"},
    "demo": {
        "diffusion.html",
        "tiles.svg",
        "transpose_then_double.dot",
        "transpose_then_double.svg",
        "unsharp_mask.png",
    },
}


def test_the_examples_are_there() -> None:
    page = (FOLDER.parent / "docs" / "examples.md").read_text()
    listed = dict(
        re.findall(r"^\| \[\w+\]\(\.\./examples/(\w+)\.py\) \| (.+) \|$", page, re.MULTILINE)
    )
    assert len(EXAMPLES) >= 20
    for name in EXAMPLES:
        said = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or ""
        assert listed[name] == " ".join(said.partition("\n\n")[0].split())


# Whose code takes long to make, or to read back.
LONG = ("coulomb_potential", "register_stencils")


@pytest.mark.usefixtures("optimized_pocl")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.more] * (n in LONG)) for n in EXAMPLES]
)
def test_example(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(FOLDER / f"{name}.py"))["main"]
    with also_printed():
        main(*([tmp_path] if name in WRITES else []))
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= WRITES.get(name, set())
    assert capsys.readouterr().out


def test_the_demo_does_without_graphviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files = runpy.run_path(str(FOLDER / "demo.py"))["write_files"]
    nothing = SimpleNamespace(which=lambda _name: None)
    monkeypatch.setattr("polygen.inspection.pages.graphviz.shutil", nothing)
    write_files(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == WRITES["demo"]
    for name in ("tiles.svg", "transpose_then_double.svg"):
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("}svg")  # noqa: S314
    page = (tmp_path / "diffusion.html").read_text()
    assert "Pictures of domains" in page
    assert "apt install" not in capsys.readouterr().out


def test_the_demo_shows_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / "demo.py"))["show_refusal"]()
    shown = capsys.readouterr().out
    assert "IllegalStep: tag_inames would change what kernel 'sweep' computes" in shown
    assert re.search(r"relax\[t=\d+, i=\d+\] reads the element of 'a' that relax\[", shown)
    assert "wavefront(" in shown


def test_an_extra_has_what_the_demo_imports() -> None:
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["demo"]]
    named += [each for name in ("pocl", "plots") for each in extras[name]]
    assert {"polygen[pocl]", "polygen[plots]"} <= set(named)
    installed = {re.split(r"[\[<>=]", text)[0] for text in named} | {"polygen"}
    of_modules = packages_distributions()
    for example in ("demo", "unsharp_mask", "transpose_then_double"):
        for node in ast.walk(ast.parse((FOLDER / f"{example}.py").read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                assert {d.lower() for d in of_modules.get(module, [module])} & installed, module
