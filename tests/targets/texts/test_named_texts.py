"""C, CUDA C++ and OpenCL C in files: which texts there are, and when they are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from polygen.targets.languages.registry import TARGETS
from polygen.targets.languages.target import Target
from polygen.targets.texts import named_texts
from polygen.targets.texts.named_texts import Texts, texts_of

FOLDER = Path(named_texts.__file__).parent
FILES = sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".h", ".cl", ".cu"))

# Prints the files of texts that are read up to each `look()`.
LOOK = """
import sys
read = []
sys.addaudithook(lambda event, given: event == "open" and read.append(str(given[0])))
def look():
    found = [name.rpartition("/")[2] for name in read if "/targets/texts/" in name]
    print(*sorted(name for name in found if name.endswith((".h", ".cl", ".cu"))))
"""


def test_a_mapping_is_made_once_and_when_it_is_asked() -> None:
    made: list[int] = []

    def read() -> dict[str, str]:
        made.append(1)
        return {"a": "text"}

    texts = Texts(read)
    assert not made
    assert dict(texts) == {"a": "text"}
    assert (len(texts), "b" in texts, made) == (1, False, [1])


def test_nothing_is_read_before_it_is_needed() -> None:
    code = f"""{LOOK}
import numpy as np
import polygen as pg
knl = pg.make_kernel("{{ [i]: 0<=i<n }}", "y[i] = x[i] % 3")
import polygen.targets.programs.printer, polygen.targets.languages.registry
look()
pg.generate_code(pg.add_dtypes(knl, {{"x": np.float32}}), "c")
look()
pg.generate_code(pg.add_dtypes(knl, {{"x": np.int32}}), "c")
look()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    common = "c.h complex.h floats.h integers.h pairs.h"
    assert done.stdout.splitlines() == ["", common, common]


def test_a_line_stands_for_a_text_further_up() -> None:
    texts = texts_of("integers.h")
    assert texts["halves"].count("\n") == 5
    for name in ("mul_hi i8", "mul_hi u8"):
        assert texts["halves"] in texts[name]
    assert (texts["signs"] in texts["mul_hi i8"], texts["signs"] in texts["mul_hi u8"]) == (
        True,
        False,
    )


@pytest.mark.parametrize("file", FILES)
def test_markers_are_no_part_of_texts(file: str) -> None:
    texts = texts_of(file)
    source = (FOLDER / file).read_text(encoding="utf-8")
    names = [
        name
        for line in source.splitlines()
        if line.startswith("//: ")
        for name in line[4:].split(", ")
    ]
    assert sorted(texts) == sorted(names), "a name stands twice"
    assert source.startswith("//# ")
    for text in texts.values():
        assert text == text.strip("\n") != ""
        assert not [line for line in text.splitlines() if line.startswith(("//:", "//<", "//#"))]
        assert text.count("{") == text.count("}")


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_what_every_target_has(target: Target) -> None:
    helpers = target.helpers
    for name in ("to_half f", "to_bfloat16 f", "from_bfloat16 f", "mod i", "mod f", "sincos f"):
        assert "return" in helpers[name]
    assert "mod c" not in helpers
