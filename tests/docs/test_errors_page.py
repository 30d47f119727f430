"""docs/errors.md: an entry for each class of polygen.errors, whose example raises just that."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import polygen as pg

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
CLASSES: dict[str, type[BaseException]] = {
    name: kind
    for name, kind in vars(pg.errors).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
ENTRY = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(
    r"(?P<text>.*?)(?:```python\n(?P<code>.*?)```\n+```\n(?P<shown>.*?)\n```\n)?", re.DOTALL
)


@dataclass(frozen=True)
class Entry:
    """What the page says of one class; families have no example."""

    name: str
    text: str
    code: str | None
    shown: str | None


def entries() -> list[Entry]:
    found: list[Entry] = []
    for name, body in ENTRY.findall(PAGE.read_text()):
        match = EXAMPLE.fullmatch(body.strip("\n") + "\n")
        assert match is not None, f"the entry of {name} has another form"
        found.append(Entry(name, match["text"].strip(), match["code"], match["shown"]))
    return found


ENTRIES = entries()
EXAMPLES = [e for e in ENTRIES if e.code is not None]


def test_each_class_has_one_entry() -> None:
    names = [e.name for e in ENTRIES]
    assert sorted(names) == sorted(CLASSES)
    assert all(len(e.text) > 20 for e in ENTRIES)


def test_only_families_have_no_example() -> None:
    for entry in ENTRIES:
        if entry.code is None:
            assert any(
                issubclass(k, CLASSES[entry.name]) for n, k in CLASSES.items() if n != entry.name
            )
            assert not re.search(rf"\b{entry.name}\(", raising_code())


def raising_code() -> str:
    """All code of polygen's but the definitions of errors."""
    root = Path(pg.__file__).parent
    files = [p for folder in (root, root / "transforms") for p in folder.rglob("*.py")]
    return "\n".join(p.read_text() for p in files if p.parent.name != "errors")


def matches(pattern: str, line: str) -> bool:
    """Compare, where ``...`` stands for what differs from machine to machine."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), line) is not None


@pytest.mark.parametrize("entry", EXAMPLES, ids=lambda e: e.name)
def test_example(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile(str(entry.code), "example.py", "exec")
    with pytest.raises(CLASSES[entry.name]) as caught, warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, {"np": np, "pg": pg, "__name__": "example"})  # noqa: S102  (our own page)
    assert type(caught.value) is CLASSES[entry.name]
    first = str(caught.value).splitlines()[0]
    assert entry.shown is not None
    assert matches(entry.shown, f"{entry.name}: {first}"), f"{entry.name}: {first}"


def test_errors_say_where_and_what_to_do() -> None:
    """Both are shown; what an example did is in its own file."""
    knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    with pytest.raises(pg.errors.IllegalStep) as caught:
        pg.tag_inames(knl, {"i": "g.0"})
    error = caught.value
    assert Path(__file__).name in str(error.where)
    for part in (error.what, error.where, error.remedy):
        assert str(part) in str(error)
