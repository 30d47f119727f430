"""`roofline`: closed forms, and a picture that agrees with them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from math import log10
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MissingArgument

SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
LIMITS = pg.Limits(1e12, {"float32": 16e12, "float64": 8e12})


def product() -> pg.Kernel:
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", name="mine")
    return pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})


def test_arithmetic_binds() -> None:
    n = 1024
    found = pg.roofline(product(), LIMITS, {"n": n}, measured=4e-4)
    assert found.needed_bytes == 3 * 4 * n**2
    assert found.accessed_bytes == 4 * (2 * n**3 + n**2)
    assert found.operations == {"float32": 2 * n**3}
    assert found.memory_seconds == pytest.approx(3 * 4 * n**2 / 1e12)
    assert found.arithmetic_seconds == pytest.approx(2 * n**3 / 16e12)
    assert (found.bound, found.seconds) == ("arithmetic", found.arithmetic_seconds)
    assert found.share == pytest.approx(found.seconds / 4e-4)
    lines = str(found).splitlines()
    assert lines[0].split() == ["kernel", "mine"]
    assert lines[-1].endswith("34 % of the bound")
    seconds: tuple[Any, ...] = (1, np.float32(1))
    for measured in seconds:
        assert pg.roofline(product(), LIMITS, {"n": n}, measured=measured).measured == 1


def test_memory_binds() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[2*i] + i//2")
    found = pg.roofline(pg.add_dtypes(knl, {"a": np.float64}), LIMITS, {"n": 100})
    assert found.needed_bytes == found.accessed_bytes == 1600
    assert found.operations == {
        "float64": 200,
        "int32": 100,
    }  # i//2: what is in subscripts is left out
    assert found.counted_operations == 200
    assert (found.bound, found.share) == ("memory", None)
    assert str(found).splitlines()[-1].split() == ["bound", "memory,", "1.6", "ns"]


def test_one_rate_for_all_types() -> None:
    limits = pg.Limits(1e12, 2e12)
    rates = [limits.rate_of(name) for name in ("float16", "complex64", "int32", "bool")]
    assert rates == [2e12, 2e12, None, None]
    assert LIMITS.rate_of("float16") is None


def test_work_that_all_work_items_do_counts() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", "<> t = a[i]*3\nb[i,j] = t")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"i": "g.0", "j": "l.0"})
    found = pg.roofline(knl, LIMITS, {"n": 5})
    assert found.operations == {"float32": 40}
    assert (found.needed_bytes, found.accessed_bytes) == (4 * 45, 4 * 80)


def test_the_picture(tmp_path: Path) -> None:
    """Places of the three points: where their logarithms say, from the numbers at the axes."""
    n = 1024
    found = pg.roofline(product(), LIMITS, {"n": n}, measured=4e-4)
    path = found.plot(tmp_path / "roofline.svg")
    root = ET.parse(path).getroot()  # noqa: S314  (our own)
    name = "{http://www.w3.org/2000/svg}"
    ticks: dict[str, list[tuple[float, float]]] = {"middle": [], "end": []}
    for node in root.iter(f"{name}text"):
        text, anchor = node.text or "", node.attrib["text-anchor"]
        power = text.removeprefix("10").translate(SUPERSCRIPTS)
        if text.startswith("10") and power.lstrip("-").isdigit():
            at = node.attrib["x"] if anchor == "middle" else node.attrib["y"]
            ticks[anchor].append((float(power), float(at)))

    def along(anchor: str, value: float) -> float:
        (first, begin), (last, end) = ticks[anchor][0], ticks[anchor][-1]
        return begin + (log10(value) - first) / (last - first) * (end - begin)

    work = 2 * n**3
    needed, accessed = work / found.needed_bytes, work / found.accessed_bytes
    expected = [(needed, 16e12), (accessed, accessed * 1e12), (needed, work / 4e-4)]
    circles = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{name}circle")]
    assert len(circles) == 3
    for (cx, cy), (intensity, rate) in zip(circles, expected, strict=True):
        assert cx == pytest.approx(along("middle", intensity), abs=0.2)
        assert cy == pytest.approx(along("end", rate) - 4, abs=0.2)
    (line,) = root.iter(f"{name}polyline")
    corners = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    assert corners[1][1] == corners[2][1]  # flat from the ridge on
    assert corners[1][0] == pytest.approx(along("middle", 16), abs=0.2)


REFUSED: list[tuple[str, Callable[[], Any], type[pg.UserError], str]] = [
    ("a rate", lambda: pg.Limits(0, 1), InvalidArgument, "0 is no rate of a device"),
    ("no number", lambda: pg.Limits("fast", 1), InvalidArgument, "'fast' is no rate"),  # type: ignore[arg-type]
    ("of a type", lambda: pg.Limits(1, {"float32": -1}), InvalidArgument, "-1 is no rate"),
    ("a type", lambda: pg.Limits(1, {"real8": 1}), InvalidArgument, "'real8' is no element type"),
    (
        "a time",
        lambda: pg.roofline(product(), LIMITS, {"n": 3}, measured=0.0),
        InvalidArgument,
        "measured=0.0 is no time",
    ),
    ("a size", lambda: pg.roofline(product(), LIMITS, {}), MissingArgument, "a value of 'n'"),
    (
        "nothing",
        lambda: pg.roofline(product(), LIMITS, {"n": 0}).plot("nowhere.svg"),
        InvalidArgument,
        "kernel 'mine' has no place in the picture: it moves 0 bytes",
    ),
]


@pytest.mark.parametrize(("name", "call", "kind", "what"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(name: str, call: Callable[[], Any], kind: type[pg.UserError], what: str) -> None:
    with pytest.raises(kind, match=what) as caught:
        call()
    assert caught.value.remedy
    assert "test_roofline.py" in str(caught.value)


def test_the_picture_in_the_documentation(tmp_path: Path) -> None:
    images = Path(__file__).parents[3] / "docs" / "images"
    runpy.run_path(str(images / "make.py"))["make_roofline"](tmp_path)
    made, kept = (folder / "roofline.svg" for folder in (tmp_path, images))
    assert made.read_text() == kept.read_text(), "python docs/images/make.py"


def test_types_are_computed_beside_each_other() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i] + 1\nd[i] = c[i]*c[i]")
    knl = pg.add_dtypes(knl, {"a": np.float32, "c": np.float64})
    found = pg.roofline(knl, LIMITS, {"n": 800})
    assert found.operations == {"float32": 1600, "float64": 800}
    assert found.arithmetic_seconds == pytest.approx(max(1600 / 16e12, 800 / 8e12))


def test_local_memory_is_a_roof_of_its_own(tmp_path: Path) -> None:
    """Words of one bank in every access: local memory takes 32 turns."""
    knl = pg.make_kernel(
        "{ [g,x,y]: 0<=g<n and 0<=x,y<32 }",
        "t[32*x] = a[g,x]  {id=load}\nb[g,y] = 2*t[32*(31 - y)]  {dep=load}",
        [pg.TemporaryVariable("t", None, 1024, address_space=pg.AddressSpace.LOCAL), "..."],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"g": "g.0", "x": "l.0", "y": "l.0"})
    found = pg.roofline(knl, replace(LIMITS, local_bytes_per_second=8e12), {"n": 10})
    assert found.local_bytes == 10 * 2 * 32 * 128
    assert found.local_seconds == pytest.approx(found.local_bytes / 8e12)
    assert found.bound == "memory"
    assert "bytes of local memory    81920, 10.2 ns" in str(found).splitlines()
    root = ET.parse(found.plot(tmp_path / "local.svg")).getroot()  # noqa: S314  (our own)
    name = "{http://www.w3.org/2000/svg}"
    assert len(list(root.iter(f"{name}polyline"))) == 2
    texts = [node.text for node in root.iter(f"{name}text")]
    assert {"global memory: 1 TB/s", "local memory: 8 TB/s", "bytes of local memory"} <= set(texts)
    assert pg.roofline(knl, LIMITS, {"n": 10}).local_seconds is None
