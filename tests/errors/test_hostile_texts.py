"""Texts beside names that are not what they should be: they are refused, and never become code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MalformedKernel, UserError
from tests.errors.test_names import HOSTILE

LINE = "{ [i]: 0<=i<4 }"
SQUARE = "{ [i, j]: 0<=i,j<4 }"
SIZED = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 1")


def array(**parts: Any) -> pg.Kernel:
    given: dict[str, Any] = {"dtype": np.float32, "shape": (4, 4)} | parts
    data = [pg.GlobalArg("a", **given), "..."]
    return pg.make_kernel(SQUARE, "out[i, j] = a[i, j]", data)


def image(name: str = "im", **parts: Any) -> pg.Kernel:
    given: dict[str, Any] = {"dtype": np.float32, "shape": (4, 4)} | parts
    data = [pg.ImageArg(name, **given), "..."]
    return pg.make_kernel(SQUARE, "out[i, j] = im[i, j]", data)


def table(initializer: Any, **parts: Any) -> pg.Kernel:
    data = [pg.TemporaryVariable("t", initializer=initializer, **parts), "..."]
    return pg.make_kernel(LINE, "out[i] = t[i]", data)


# Each way to bring a text in that is no name of a variable.
WAYS: dict[str, Callable[[str], object]] = {
    "layout": lambda x: array(dim_tags=x),
    "tag of an axis": lambda x: array(dim_tags=f"N0, {x}"),
    "tag in a list": lambda x: array(dim_tags=["N0", x]),
    "stride in a tag": lambda x: array(dim_tags=f"stride:{x}, stride:1"),
    "padding": lambda x: array(dim_tags=f"N1(pad_to={x}), N0"),
    "order": lambda x: array(order=x),
    "names of axes": lambda x: array(dim_names=(x, "second")),
    "names in a text": lambda x: array(dim_names=f"first-, {x}"),
    "strides": lambda x: array(strides=(x, 1)),
    "strides as a text": lambda x: array(strides=f"{x}, 1"),
    "offset": lambda x: array(offset=x),
    "alignment": lambda x: array(alignment=x),
    "shape": lambda x: array(shape=(x, 4)),
    "shape as a text": lambda x: array(shape=f"4 + {x}, 4"),
    "type": lambda x: array(dtype=x),
    "address space": lambda x: table(np.zeros(4), address_space=x),
    "initial values": table,
    "initial values in an array": lambda x: table(np.array([x] * 4)),
    "objects as initial values": lambda x: table(np.array([x] * 4, dtype=object)),
    "initial values in a list": lambda x: table([x] * 4),
    "image": lambda x: image(f"{x}-"),
    "shape of an image": lambda x: image(shape=(x, 4)),
    "type of an image": lambda x: image(dtype=x),
    "target": lambda x: pg.make_kernel(LINE, "out[i] = 1", target=x),
    "priorities": lambda x: pg.make_kernel(LINE, "out[i] = 1", loop_priority=f"i, {x}-"),
    "warnings": lambda x: pg.make_kernel(LINE, "out[i] = 1", silenced_warnings=x),
    "assumptions": lambda x: pg.make_kernel(LINE, "out[i] = 1", assumptions=f"n >= 1 {x} )"),
    "tag of an iname": lambda x: pg.tag_inames(array(), {"i": x}),
    "layout by a step": lambda x: pg.tag_array_axes(array(), "a", x),
    "names of axes by a step": lambda x: pg.set_array_axis_names(array(), "a", f"{x}, {x}"),
    "type by a step": lambda x: pg.add_dtypes(array(dtype=None), {"a": x}),
    "symbol": lambda x: pg.register_symbol_manglers(
        pg.make_kernel(LINE, "out[i] = LARGEST"), [lambda knl, name: ("float32", x)]
    ),
    "signature": lambda x: pg.ScalarCallable({"f": f"{x} -> float64+"}, ""),
    "claim": lambda x: pg.assume_injective(array(), x),
    "size": lambda x: pg.fix_parameters(SIZED, n=x),  # type: ignore[arg-type]
    "kernel": pg.parse_kernel,
    "query": lambda x: pg.find_instructions(array(), f"id:insn and {x} and"),
}


@pytest.mark.parametrize("way", WAYS)
def test_hostile_texts_are_refused(way: str) -> None:
    for text in HOSTILE:
        with pytest.raises(UserError) as caught:
            WAYS[way](text)
        assert caught.value.what, text


@pytest.mark.parametrize("extent", ["abs(n)", "f(n)", "n/2", "1.5", "n + 0.5", "n > 2", "sum(i, 1)",
                                    "n*(n < 3)", "if(isless(n, 3), n, 3)", "2j"])  # fmt: skip
@pytest.mark.parametrize("part", ["shape", "strides", "offset"])
def test_extents_are_integers(part: str, extent: str) -> None:
    given: dict[str, Any] = {"shape": (4, 4)}
    given[part] = extent if part == "offset" else (extent, 4)
    data = [pg.GlobalArg("a", np.float32, **given), pg.ValueArg("n")]
    with pytest.raises((MalformedKernel, InvalidArgument)) as caught:
        pg.make_kernel(SQUARE, "out[i, j] = a[i, j]", [*data, "..."])
    assert "'a'" in caught.value.what
    assert caught.value.remedy
    assert "test_hostile_texts.py" in str(caught.value.where)


def test_extents_by_conditions() -> None:
    """A condition is asked, and is no extent itself."""
    data = [pg.GlobalArg("a", np.float32, "if(n > 2 and not n == 5, n, 2)"), pg.ValueArg("n")]
    knl = pg.make_kernel("{ [i]: 0<=i<2 }", "out[i] = a[i]", [*data, "..."])
    assert pg.parse_kernel(str(knl)) == knl
    for n, extent in ((1, 2), (4, 4), (5, 2)):
        _, (out,) = knl(a=np.arange(extent, dtype=np.float32), n=n)
        np.testing.assert_array_equal(out, [0, 1])


# Numbers that are written in an unusual way, or not at all.
NUMBERS: list[Any] = [
    np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, np.float16(6e-8),
    np.float32(1e-45), 2**63 - 1, -(2**63), 2**64 - 1, np.int8(-128), True,
    complex(np.nan, -np.inf), complex(-0.0, np.inf), np.complex64(1e38 - 1e-45j),
]  # fmt: skip


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_initial_values_are_numbers_in_the_code(target: str) -> None:
    for number in NUMBERS:
        given = np.array([number, number, 0 * number if np.isfinite(number) else 1, number])
        knl = table(given, read_only=True)
        (out,) = knl.executor(target)()[1]
        assert out.dtype == given.dtype
        assert out.tobytes() == given.tobytes(), number
        read = pg.parse_kernel(str(knl))
        assert read == knl
        values: Any = read.temporaries[0].initializer
        assert values.tobytes() == given.tobytes()
        scope: dict[str, Any] = {}
        exec(pg.kernel_to_python(knl), scope)  # noqa: S102
        assert scope["knl"] == knl


FILES = ["a */ exit(1); /*\n#include <x>.py", 'a"; system("x"); ".py', "a\\\n.py", "%s{a}.py"]


@pytest.mark.parametrize("file", FILES)
def test_names_of_files_are_in_no_code(file: str) -> None:
    """The user's own file, which errors name."""
    text = "knl = pg.make_kernel('{ [i]: 0<=i<4 }', 'out[i] = 2*a[i]')"
    scope: dict[str, Any] = {"pg": pg}
    exec(compile(text, file, "exec"), scope)  # noqa: S102
    usual: dict[str, Any] = {"pg": pg}
    exec(compile(text, "usual.py", "exec"), usual)  # noqa: S102
    found, other = (pg.add_dtypes(s["knl"], {"a": "float32"}) for s in (scope, usual))
    assert file in str(scope["knl"].location)
    for target in ("c", "opencl"):
        assert pg.generate_code(found, target).source == pg.generate_code(other, target).source
    assert pg.kernel_to_python(found) == pg.kernel_to_python(other)
    assert str(found) == str(other)


def test_names_of_pictures_are_no_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["; touch x", "$(touch x)", "| touch x", "-o x", "--version", "a'b\"", "a\nb"]
    for name in names:
        written = pg.show_dependency_graph(array(), f"{name}.dot")
        assert written == Path(f"{name}.dot")
        assert written.read_text().startswith("digraph")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{name}.dot" for name in names)


@pytest.mark.parametrize("option", ["write_code", "write_wrapper", "return_dict"])
def test_options_that_are_no_paths(option: str) -> None:
    for text in ("folder/x.cl", "; touch x", ""):
        with pytest.raises(InvalidArgument, match=f"'{option}' is True or False"):
            pg.set_options(array(), **{option: text})
