"""`register_symbol_manglers`: constants by their names in the target's language."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NothingMatches, UnknownFunction, UserError

KNL = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = M_PI*a[i] + STEP")
HERE = {"c": 0, "opencl": 2}  # where kernels run, and the place in TARGETS


def circle(_kernel: pg.Kernel, name: str) -> Any:
    """Return what pi is called."""
    texts = {"c": "CIRCLE", "opencl": "M_PI_F"}
    before = {"c": "#define CIRCLE 3.14159265358979323846f"}
    return (np.float32, texts, before) if name == "M_PI" else None


def steps(_kernel: pg.Kernel, name: str) -> Any:
    """Return what is defined in a text."""
    return (np.int8, "STEP_WIDTH", "#define STEP_WIDTH 3") if name == "STEP" else None


def test_values() -> None:
    knl = pg.register_symbol_manglers(KNL, [circle, steps])
    assert [a.name for a in knl.arguments] == ["a", "n", "out"]
    a = np.arange(4, dtype=np.float32)
    for target in HERE:
        (out,) = knl.executor(target)(a=a)[1]
        np.testing.assert_allclose(out, np.float32(np.pi) * a + 3, rtol=1e-6)
        assert out.dtype == np.float32
    split = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    np.testing.assert_allclose(split(a=a)[1][0], np.float32(np.pi) * a + 3, rtol=1e-6)


def test_names_and_texts_in_the_source() -> None:
    knl = pg.register_symbol_manglers(KNL, [steps, circle])
    typed = pg.add_dtypes(knl, {"a": np.float32})
    code = str(pg.generate_code(typed, "c"))
    assert "out[i] = CIRCLE * a[i] + STEP_WIDTH;" in code
    assert code.count("#define STEP_WIDTH 3") == code.count("#define CIRCLE") == 1
    code = str(pg.generate_code(typed, "opencl"))
    assert "M_PI_F * a[i]" in code
    assert "CIRCLE" not in code


def test_text() -> None:
    one = pg.register_symbol_manglers(KNL, [circle])
    knl = pg.register_symbol_manglers(one, [steps])
    assert "out[i] = M_PI*a[i] + STEP  {" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl != KNL
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    assert knl.original == KNL
    assert pg.replay(KNL, knl.history) == knl


def test_a_target_that_has_no_such_constant() -> None:
    def mangler(_: pg.Kernel, name: str) -> Any:
        return ("float64", {"c": "M_PI"}) if name == "M_PI" else None

    knl = pg.add_dtypes(pg.register_symbol_manglers(KNL, [mangler, steps]), {"a": np.float32})
    pg.generate_code(knl, "c")
    with pytest.raises(UnknownFunction, match="'M_PI' has no code for target 'opencl'"):
        pg.generate_code(knl, "opencl")


def answering(answer: Any) -> Callable[[pg.Kernel, str], Any]:
    """Return a mangler that says the same of each name."""

    def mangler(_kernel: pg.Kernel, _name: str) -> Any:
        return answer

    return mangler


@pytest.mark.parametrize(
    ("manglers", "kind", "what"),
    [
        ([], NothingMatches, "no mangler knows"),
        ([answering(None)], NothingMatches, "no mangler knows"),
        ([answering(3)], InvalidArgument, "a mangler says 3 of 'M_PI'"),
        ([answering(("float32",))], InvalidArgument, "a mangler says"),
        ([answering(("float32", 3))], InvalidArgument, "a mangler says"),
        ([answering(("real", "M_PI"))], InvalidArgument, "real"),
        ([answering(("float32", "x; }"))], InvalidArgument, "'x; }' is no name"),
        ([answering(("int32", "N"))], InvalidArgument, "'n' is a size"),
        ([answering(("int32", {"metal": "N"}))], InvalidArgument, "'metal', which is no target"),
    ],
)
def test_refused(manglers: list[Any], kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        pg.register_symbol_manglers(KNL, manglers)
    assert what in caught.value.what
