"""`register_preamble_generators`: texts that the generated source begins with."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.ir.options import TARGET_NAMES
from polygen.targets.languages.registry import get_target

KNL = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = M_PI*a[i] + STEP")
TARGETS = sorted(TARGET_NAMES)
HERE = {"c": 0, "opencl": 2}  # where kernels run, and the place in TARGETS


def defines(info: pg.PreambleInfo) -> Iterator[tuple[str, str]]:
    """Yield a definition for each target, and one for C."""
    yield "20_define", f"#define WHERE {TARGETS.index(info.target)}"
    if info.target == "c":
        yield "10_include", "#include <limits.h>\n"


def test_preambles() -> None:
    assert [get_target(name).name for name in TARGETS] == TARGETS
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = where()", [pg.GlobalArg("out", np.int32, "n"), "..."]
    )
    where = pg.ScalarCallable(
        {"where": " -> int32"}, "static inline int where(void) { return WHERE; }"
    )
    knl = pg.register_callable(knl, "where", where)
    knl = pg.register_preamble_generators(knl, [defines])
    for target, number in HERE.items():
        (out,) = knl.executor(target)(n=3)[1]
        np.testing.assert_array_equal(out, number)
    lines = str(pg.generate_code(knl, "c")).split("\n")
    assert lines[:3] == ["#include <limits.h>", "", "#define WHERE 0"]
    assert "limits" not in str(pg.generate_code(knl, "opencl"))
    assert "#define WHERE 1\n" in str(pg.generate_code(knl, "cuda"))
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.register_preamble_generators(knl, [defines]) is knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301


def test_preambles_of_kernels_that_are_called() -> None:
    data = [pg.GlobalArg("y", np.int32, 4)]
    inner = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = where()", data, name="inner")
    where = pg.ScalarCallable(
        {"where": " -> int32"}, "static inline int where(void) { return WHERE; }"
    )
    inner = pg.register_preamble_generators(pg.register_callable(inner, "where", where), [defines])
    knl = pg.make_kernel(
        "{ : }", "[j]: b[j] = inner()", [pg.GlobalArg("b", np.int32, 4)], functions={"inner": inner}
    )
    for each in (knl, pg.inline_callable_kernel(knl, "inner")):
        for target, number in HERE.items():
            np.testing.assert_array_equal(each.executor(target)()[1][0], number)


@pytest.mark.parametrize(
    ("pair", "what"),
    [
        (3, "yields 3, which is no pair"),
        (("a",), "which is no pair"),
        (("a", 3), "which is no pair"),
        (("a b", "text"), "the key 'a b'"),
    ],
)
def test_no_preambles(pair: Any, what: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        pg.register_preamble_generators(KNL, [lambda _: [pair]])
    assert what in caught.value.what


def test_of_two_texts_with_one_key_the_later_one_counts() -> None:
    def text(value: int) -> Callable[[pg.PreambleInfo], Iterator[tuple[str, str]]]:
        return lambda _: iter([("b", f"#define B {value}"), (f"a_{value}", f"#define A_{value}")])

    knl = pg.register_preamble_generators(KNL.copy(name="both"), [text(1), text(2)])
    here = [(key, found) for target, key, found in knl.preambles if target == "c"]
    assert here == [("a_1", "#define A_1"), ("a_2", "#define A_2"), ("b", "#define B 2")]
    again = pg.register_preamble_generators(knl, [text(3)])
    assert ("c", "b", "#define B 3") in again.preambles
    assert ("c", "b", "#define B 2") not in again.preambles
