"""The files that polygen writes for other hosts."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotEmit
from tests.emission.kernels import axpy, cases, product, reversed_blocks, rows, settled, steps


def described(knl: pg.Kernel, target: str) -> Any:
    return json.loads(pg.emit(knl, target).files[f"{knl.name}.json"])


def test_usual_sizes_are_not_refused() -> None:
    """Of the second loop, 32 bits are not known to hold the bounds: indices have 64."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j and 65536*j + 8192*i < n }"],
        "out[i] = sum(j, a[65536*j + 8192*i])",
        [pg.GlobalArg("a", np.float32, shape="n"), "..."],
        name="far",
    )
    limit = described(knl, "c")["size_limit"]
    assert limit is None or limit >= 2**20


def test_description_of_arguments() -> None:
    found = described(product(False), "c")
    assert (found["format"], found["kernel"], found["target"]) == (2, "product", "c")
    assert found["polygen"] == pg.__version__
    assert found["index_type"] == "int64"  # as its size ld
    arguments = {a["name"]: a for a in found["arguments"]}
    assert [a["name"] for a in found["arguments"]] == ["a", "b", "c", "ld", "l", "m", "n"]
    assert arguments["ld"] == {"name": "ld", "kind": "size", "type": "int64"}
    assert arguments["a"] == {
        "name": "a",
        "kind": "array",
        "type": "float64",
        "direction": "in",
        "all_written": False,
        "shape": ["n", "l"],
        "strides": ["1", "n"],
        "offset": "0",
        "unit": 1,
        "storage": "0",
        "alignment": 8,
        "may_alias": False,
    }
    assert (arguments["b"]["strides"], arguments["b"]["offset"]) == (["ld", "1"], "3")
    assert (arguments["c"]["direction"], arguments["c"]["all_written"]) == ("out", True)
    assert described(steps(False), "c")["arguments"][0]["direction"] == "inout"


def test_description_of_what_is_assumed() -> None:
    found = described(pg.set_options(axpy(False), build_options=("-g",)), "c")
    assert found["assumptions"] == "[n] -> {  : (n) mod 4 = 0 }"
    assert found["options"] == {"build_options": ["-g"]}
    assert found["obligations"] == found["claims"] == []
    assert any("column" in text for text in described(rows(False), "c")["obligations"])


def test_description_of_launches() -> None:
    found = described(steps(True), "cuda")
    (next_,) = found["temporaries"]
    assert (next_["name"], next_["direction"], next_["storage"]) == ("next", "temporary", "n")
    (loop,) = found["launches"]
    assert (loop["loop"], loop["from"], loop["below"], loop["step"]) == ("t", "0", "steps", 1)
    assert loop["while"] == []
    first, second = loop["body"]
    assert first == {
        "function": "steps_0",
        "arguments": [
            {"name": "u", "kind": "array", "type": "float64"},
            {"name": "n", "kind": "scalar", "type": "int32"},
            {"name": "next", "kind": "array", "type": "float64"},
        ],
        "groups": ["(n + 7)//8"],
        "items": [8],
        "local_bytes": 0,
        "shared_bytes": 0,
    }
    assert second["function"] == "steps_1"
    (blocks,) = described(reversed_blocks(True), "cuda")["launches"]
    assert (blocks["shared_bytes"], blocks["items"]) == (65536, [256])


def test_description_of_loops_that_conditions_end() -> None:
    found = described(settled(True), "opencl")
    assert {"t_runs", "s_runs"} < {t["name"] for t in found["temporaries"]}
    assert found["options"] == {"check_every": 2}
    (outer,) = [node for node in found["launches"] if "loop" in node]
    assert (outer["from"], outer["below"], outer["while"]) == ("0", None, ["t_runs"])
    (inner,) = [node for node in outer["body"] if "loop" in node]
    assert (inner["from"], inner["below"]) == ("0", "most")
    assert "s_runs" in inner["while"]
    assert described(settled(False), "c")["launches"] == []


def test_every_member_is_described() -> None:
    """The guide tells of each member of the description, and of no other."""
    page = (Path(__file__).parents[2] / "docs" / "emitting.md").read_text()
    table = page.partition("## The description")[2]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"\w+", row)]
    found = described(steps(True), "cuda")
    assert sorted(names) == sorted(found)
    inside = [*found["arguments"], *found["temporaries"], found["launches"][0]]
    inside += found["launches"][0]["body"]
    for member in {name for each in inside for name in each}:
        assert f"`{member}`" in table, member


def test_arrays_that_have_to_be_given() -> None:
    """Those whose elements decide, by themselves or through others, which elements are touched."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "<> bin = data[i]\ncount[bin] += weight[i] {atomic}",
        [pg.GlobalArg("count", np.int32, "64"), pg.GlobalArg("data, weight", np.int32, "n"), "..."],
    )
    program = pg.emit(knl, "c").files["polygen_kernel_main.c"]
    tables = program.split("pg_array array_")[1:]
    needed = [text.partition(" ")[0] for text in tables if ".needs_file = 1" in text]
    assert needed == ["data"]
    program = pg.emit(rows(False), "c").files["rows_main.c"]
    assert program.count(".needs_file = 1") == 2  # start and column


def test_the_same_each_time(tmp_path: Path) -> None:
    for name, case in cases().items():
        first, second = (pg.emit(case.make(False), "c", tmp_path / name) for _ in range(2))
        assert first == second
        assert {path.name for path in (tmp_path / name).iterdir()} == set(first.files)
        for file, text in first.files.items():
            assert (tmp_path / name / file).read_text() == text


def test_images_are_refused() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        "out[i] = img[i, 0]",
        [pg.ImageArg("img", np.float32, shape="4, 4"), "..."],
        name="pixels",
    )
    with pytest.raises(CannotEmit) as caught:
        pg.emit(knl, "opencl")
    assert str(caught.value).startswith("kernel 'pixels' takes 'img' as an image, and there are no")


def test_many_axes_are_refused() -> None:
    shape = ", ".join(["2"] * 9)
    data = [pg.GlobalArg("a", np.float32, shape=shape), "..."]
    text = f"a[{', '.join(['i'] * 9)}] = 1"
    knl = pg.make_kernel("{ [i]: 0<=i<2 }", text, data)
    with pytest.raises(CannotEmit) as caught:
        pg.emit(knl, "c")
    assert str(caught.value).startswith("array 'a' has 9 axes; files for hosts have at most 8")


def test_arrays_of_which_a_part_is_written() -> None:
    """What they held before may be given: it is what the rest still holds."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[2*i] = 1", [pg.GlobalArg("out", int, "2*n"), "..."]
    )
    emitted = pg.emit(knl, "c")
    program = emitted.files["polygen_kernel_main.c"]
    assert ".takes = 1,\n        .reads = 0,\n        .writes = 1," in program
    assert "pg_size_from(&value_n, &array_out, 0, 1, 2, 0);" in program
    (out, _) = described(knl, "c")["arguments"]
    assert (out["name"], out["direction"], out["all_written"]) == ("out", "out", False)


def test_build_options_are_words(tmp_path: Path) -> None:
    """In Makefiles, none of them is read as anything else by the shell, or by make."""
    options = ["-DA=1;touch ran", "-DB=$(touch ran)", "-DC='a b'", "-DD=`touch ran`#", "-DE=a\\b"]
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = i")
    knl = pg.set_options(pg.add_dtypes(knl, {"out": "int32"}), build_options=options)
    for target in ("c", "cuda"):
        pg.emit(knl, target).write(tmp_path / target)
        make = ["make", "-n", "-B", "CC=echo", "NVCC=echo", "-C", str(tmp_path / target), "all"]
        shown = subprocess.run(make, capture_output=True, text=True, check=True).stdout
        (line,) = [line for line in shown.splitlines() if "-DA" in line]
        assert set(options) <= set(shlex.split(line))
