"""What the documentation site is made of; `make docs` makes it, and warnings there are errors."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

import pytest

import polygen as pg
import polygen.compat as lp
from docs.site import entries, names, navigation, offline

DOCS = Path(__file__).parents[2] / "docs"
GROUPS = names.groups()
PATHS = [f"{g.module}.{name}" for g in GROUPS for name in g.names]
DIRECTIVE = re.compile(r"^\.\. (?:autoclass|autofunction|py:data):: (\S+)$", re.MULTILINE)


def grouped(module: str) -> Counter[str]:
    return Counter(name for g in GROUPS if g.module == module for name in g.names)


def test_every_public_name_stands_in_one_group() -> None:
    returned = {n for n in grouped("polygen") if "." in n}  # of modules inside
    assert grouped("polygen") == Counter(set(pg.__all__) - {"errors"} | returned)
    kinds = [k for k in vars(pg.errors).values() if isinstance(k, type)]
    errors = {k.__name__ for k in kinds if issubclass(k, Exception)}
    assert grouped("polygen.errors") == Counter(errors)
    own = importlib.import_module("polygen.transformation").__all__
    assert grouped("polygen.transformation") == Counter(own)
    others = {n for n in lp.__all__ if vars(lp)[n] is not vars(pg).get(n)}
    assert grouped("polygen.compat") == Counter(others)


def test_entries_are_of_what_is_there() -> None:
    for path in PATHS:
        assert names.resolve(path) is not None
    assert set(names.CHOSEN) <= set(pg.__all__)
    assert {names.purpose(n) for n in names.CHOSEN} <= {g.title for g in GROUPS}
    with pytest.raises(AttributeError):
        names.resolve("polygen.no_such_name")


@pytest.mark.parametrize(
    ("package", "page"), [("transforms", "reference/steps.md"), ("newer", "site/names.py")]
)
def test_names_without_a_purpose_say_where_to_give_them_one(
    package: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new_name() -> None: ...

    new_name.__module__ = f"polygen.{package}.new_name"
    monkeypatch.setattr(pg, "new_name", new_name, raising=False)
    with pytest.raises(LookupError, match=page):
        names.purpose("new_name")


def test_pages_have_the_entries(tmp_path: Path) -> None:
    (tmp_path / "old.rst").write_text("of a name that is gone")
    entries.write_pages(tmp_path)
    assert {p.stem for p in tmp_path.iterdir()} == {g.page for g in GROUPS}
    assert len({g.page for g in GROUPS}) == len(GROUPS)
    found = [path for p in tmp_path.iterdir() for path in DIRECTIVE.findall(p.read_text())]
    assert Counter(found) == Counter(PATHS)


def test_kinds_of_arguments_and_other_names_are_said() -> None:
    own = next(g for g in GROUPS if g.module == "polygen.transformation")
    assert "   The name of an iname." in list(entries.entry(own, "Iname"))
    compat = next(g for g in GROUPS if g.module == "polygen.compat")
    (said,) = [line for line in entries.entry(compat, "LoopyError") if line.startswith("   ")]
    assert said == "   Another name of :py:obj:`PolygenError <polygen.PolygenError>`."


def test_classes_in_parts_have_the_methods_of_all_parts() -> None:
    (group,) = [g for g in GROUPS if "Builder" in g.names]
    assert "   :inherited-members:" in list(entries.entry(group, "Builder"))
    assert "   :inherited-members:" not in list(entries.entry(group, "SourceLocation"))


def test_every_entry_says_what_it_is() -> None:
    lacking = [path for path in PATHS if len(entries.summary(names.resolve(path))) < 3]
    assert lacking == []
    kinds = {k for n in pg.__all__ if inspect.isclass(k := getattr(pg, n))}
    members = [
        (kind.__name__, name)
        for kind in kinds
        for name, found in inspect.getmembers_static(kind)
        if not name.startswith("_") and (callable(found) or isinstance(found, property))
        if not inspect.getdoc(found)
    ]
    assert members == []


def test_every_argument_and_field_is_said() -> None:
    """Those of functions in their docstrings, or in that of the function that these refer to."""
    missing: list[tuple[str, str]] = []
    for name in pg.__all__:
        what = getattr(pg, name)
        text = inspect.getdoc(what) or ""
        if inspect.isfunction(what) and not re.search(
            r"Parameters\b.*?those of\s", text, re.DOTALL
        ):
            given = set(inspect.signature(what).parameters) - {"kernel", "unsafe"}
            missing += [(name, n) for n in given if not said_of(n, text)]
        elif inspect.isclass(what) and is_dataclass(what):
            whole = "\n".join(entries.with_inherited_attributes(what, text.splitlines()))
            named = [field.name for field in fields(what) if not field.name.startswith("_")]
            missing += [(name, n) for n in named if not said_of(n, whole)]
    assert missing == []


def said_of(name: str, text: str) -> bool:
    return (
        re.search(rf"^ +(?:\*{{0,2}}\w+, )*\*{{0,2}}{name}(?:, \*{{0,2}}\w+)*:", text, re.M)
        is not None
    )


def test_attributes_of_bases_come_after_ones_own() -> None:
    class Base:
        """B.

        Attributes:
            a: one,
                more.
            b: two.
        """

    Base.__module__ = "polygen.example"

    class Kind(Base):
        """K."""

    of_base = ["    a: one,", "        more.", "    b: two."]
    own = ["K.", "", "Attributes:", "    b: mine.", "", "Raises:", "    X: never."]
    found = entries.with_inherited_attributes(Kind, own)
    assert found == [*own[:4], *of_base[:2], *own[4:]]
    assert entries.with_inherited_attributes(Kind, ["K."]) == [
        "K.",
        "",
        "Attributes:",
        *of_base,
        "",
    ]
    assert entries.with_inherited_attributes(Base, ["B."]) == ["B."]


def test_examples_of_all_entries_are_run() -> None:
    """Where pytest looks for examples, in the modules, it finds those of each docstring."""
    finder = doctest.DocTestFinder()
    found: dict[str, set[str]] = {}
    for name in set(pg.__all__) - {"errors"}:
        what = getattr(pg, name)
        if ">>>" in (what.__doc__ or "") and name != "MVL":  # that is what int says
            module = what.__module__
            if module not in found:
                tests = finder.find(importlib.import_module(module))
                found[module] = {t.name.rpartition(".")[2] for t in tests if t.examples}
            assert name in found[module]
    assert len(found) > 100
    steps = [n for g in GROUPS if g.title.startswith("Transformations") for n in g.names]
    assert [n for n in steps if ">>>" not in (getattr(pg, n).__doc__ or "")] == []


def test_what_the_site_loads_is_told_from_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["offline", str(tmp_path)])
    with pytest.raises(SystemExit, match="no site"):
        offline.main()
    (tmp_path / "a.html").write_text('<a href="https://x.org">x</a><script src="own.js"></script>')
    assert offline.main() == 0
    (tmp_path / "b.html").write_text('<link rel="stylesheet" href="https://fonts.org/f.css">')
    assert offline.main() == 1
    assert "fonts.org" in capsys.readouterr().err


@pytest.mark.parametrize("module", [entries, navigation, names, offline], ids=lambda m: m.__name__)
def test_examples_of_the_generator(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("As `split_iname` does.", "As :py:obj:`split_iname <polygen.split_iname>` does."),
        ("``a, b = f(x)`` has `c`s.", "``a, b = f(x)`` has ``c``\\ s."),
        ("`Kernel.copy`", ":py:obj:`Kernel.copy <polygen.Kernel.copy>`"),
        ("`errors.NameTaken`", ":py:obj:`errors.NameTaken <polygen.errors.NameTaken>`"),
    ],
)
def test_names_in_docstrings_are_links(text: str, shown: str) -> None:
    assert entries.linked(text) == shown


def test_examples_in_docstrings_keep_empty_lines() -> None:
    lines = ["Do.", ">>> print(1)", "<BLANKLINE>", "2", "", "More of `x`."]
    example = [".. code-block:: pycon", "", "   >>> print(1)", "   ", "   2"]
    assert entries.as_restructured_text(lines) == ["Do.", "", *example, "", "More of ``x``."]


def test_examples_are_no_quotations() -> None:
    lines = ["Before -> After:", "", "    >>> x", "    1", "", "Raises:", "    NameTaken: if so."]
    found = entries.as_restructured_text(lines)
    assert found[:7] == [
        "**Before -> After:**",
        "",
        ".. code-block:: pycon",
        "",
        "   >>> x",
        "   1",
        "",
    ]
    assert found[7:] == lines[5:]


def test_pages_outside_of_the_folder_have_links_from_inside(tmp_path: Path) -> None:
    (tmp_path / "CONTRIBUTING.md").write_text("See [docs](docs/proofs.md).")
    (tmp_path / "CHANGELOG.md").write_text("New: [x](docs/loops.md#y).")
    (tmp_path / "docs").mkdir()
    navigation.write_outside_pages(tmp_path, tmp_path / "docs")
    assert (tmp_path / "docs/contributing.markdown").read_text() == "See [docs](proofs.md)."
    assert (tmp_path / "docs/changelog.markdown").read_text() == "New: [x](loops.md#y)."


def test_every_page_is_in_the_navigation() -> None:
    index, reference = DOCS / "index.md", DOCS / "reference" / "README.md"
    listed = {
        (page.parent / f"{name}.md").resolve()
        for page in (index, reference)
        for block in re.findall(
            r"```\{toctree\}.*?\n\n(.*?)\n```",
            navigation.with_navigation(page.read_text()),
            re.DOTALL,
        )
        for name in block.split()
    }
    outside = {DOCS.parent / name for name in navigation.OUTSIDE}
    assert listed == set(DOCS.rglob("*.md")) - {index} | outside
