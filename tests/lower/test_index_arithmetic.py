"""Subscripts and bounds are arithmetic of integers, whatever the types of the data in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.index_type import INT32, index_type
from polygen.errors import CannotProve, ObligationViolated, TypeMismatch
from polygen.inspection.compare.random_arguments import random_arguments
from tests.oracle.cases import agree, kernel, split, tag

LINE = "{ [i]: 0<=i<n }"
BOUND = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<h }"]


def run(knl: Any, **given: Any) -> Any:
    return knl.executor("c")(**given)[1]


def test_a_histogram_of_two_images() -> None:
    knl = kernel(
        LINE, "h[x[i], y[i]] = h[x[i], y[i]] + 1 {atomic}", pg.GlobalArg("h", "int32", (256, 256))
    )
    x, y = np.random.default_rng(0).integers(0, 256, (2, 2000), np.uint8)
    found = run(knl, x=x, y=y, h=np.zeros((256, 256), np.int32))[0]
    assert np.array_equal(found, np.histogram2d(x, y, 256, [[0, 256]] * 2)[0])


def test_a_step_on_a_loop_bounded_by_data() -> None:
    knl = kernel(BOUND, "<> h = hs[i]\no[i] = sum(k, a[k])", pg.GlobalArg("a", "float64", 300))
    hs, a = np.arange(250, 256).astype(np.uint8), np.random.default_rng(1).random(300)
    for made in (knl, pg.split_iname(knl, "k", 4), pg.reverse(knl, "k")):
        assert np.allclose(run(made, hs=hs, a=a)[0], [a[:h].sum() for h in hs])


def test_a_predicate_is_a_value() -> None:
    """A bound of a loop wraps in a condition of the user's, and not in the loop's."""
    knl = kernel(
        BOUND,
        "<> h = hs[i] {id=h}\no[i] = sum(k, 1.0) {if=h + 100 < 200, dep=h}",
        pg.GlobalArg("hs", "uint8", "n"),
        pg.GlobalArg("o", "float64", "n"),
    )
    hs = np.array([5, 99, 100, 155, 156, 255], np.uint8)
    wanted = np.where((hs + np.uint8(100)) < 200, hs.astype(int), -1)
    for made in (knl, pg.split_iname(knl, "k", 4)):
        assert np.array_equal(run(made, hs=hs, o=np.full(6, -1.0))[0], wanted)


def test_guards_are_no_values() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<g+h }"]
    knl = kernel(
        domains,
        "<> g = gs[i]\n<> h = hs[i]\no[i] = sum(k, a[k])",
        pg.GlobalArg("gs", "uint8", "n"),
        pg.GlobalArg("hs", "uint8", "n"),
        pg.GlobalArg("a", "float64", 600),
        pg.GlobalArg("o", "float64", "n"),
    )

    def numbers(seed: int) -> Any:
        return lambda call: np.random.default_rng(seed).integers(100, 256, call["n"], np.uint8)

    agree(
        knl,
        [{"n": 0}, {"n": 3}],
        split("k", 4),
        split("k", 7, inner_tag="unr"),
        gs=numbers(0),
        hs=numbers(1),
    )


def test_copies_of_a_body_compute_in_the_same_types() -> None:
    knl = kernel("{ [i]: 0<=i<4 }", "o[i] = 254 + i - x[i]*i", pg.GlobalArg("x", "uint8", 4))
    x = np.array([255, 1, 200, 90], np.uint8)
    wanted = 254 + np.arange(4, dtype=np.int32) - x * np.arange(4, dtype=np.int32)
    for made in (knl, pg.tag_inames(knl, "i:unr")):
        (found,) = run(made, x=x)
        assert found.dtype == np.int32
        assert np.array_equal(found, wanted)
    agree(knl, [{}], tag(i="unr"))


def test_sizes_that_become_numbers() -> None:
    knl = kernel(LINE, "o[i] = n - x[i]", pg.GlobalArg("x", "uint8", "n"))
    x = np.array([5, 0, 255], np.uint8)
    for made in (knl, pg.fix_parameters(knl, n=3), pg.set_options(knl, fix_sizes=True)):
        assert np.array_equal(run(made, x=x)[0], [-2, 3, -252])


def test_types_that_have_no_integer_type_in_common() -> None:
    data = [pg.GlobalArg("x", "uint64", "n"), pg.GlobalArg("y", "int64", "n")]
    knl = kernel(LINE, "o[i] = t[x[i] + y[i]]", *data, pg.GlobalArg("t", "float64", 9))
    x, y, t = np.array([7, 8], np.uint64), np.array([-7, 0]), np.arange(9.0)
    assert run(knl, x=x, y=y, t=t)[0].tolist() == [0, 8]
    fraction = kernel(LINE, "o[i] = t[x[i]*f[i]]", *data, pg.GlobalArg("f", "float64", "n"))
    with pytest.raises(TypeMismatch, match="subscript of type 'float64'"):
        pg.infer_unknown_types(pg.add_dtypes(fraction, {"t": "float64"}))


def test_the_text_has_no_cast_that_is_not_needed() -> None:
    for dtype in ("int8", "uint8", "int16", "uint16", "int32"):
        lut = pg.GlobalArg("t", "float32", ("m", 3))
        knl = kernel(LINE, "o[i] = t[x[i], 2]", pg.GlobalArg("x", dtype, "n"), lut)
        assert "t[x[i] * 3 + 2]" in pg.generate_code(knl, "c").source
    knl = kernel(
        LINE,
        "o[i] = t[(31*x[i]) % 7]",
        pg.GlobalArg("x", "int32", "n"),
        pg.GlobalArg("t", "float32", 7),
    )
    assert "31LL * x[i]" in pg.generate_code(knl, "c").source


def test_only_counters_with_wide_bounds_are_wide() -> None:
    knl = kernel(
        BOUND,
        "<> h = hs[i]\no[i] = sum(k, a[k])",
        pg.GlobalArg("hs", "int64", "n"),
        pg.GlobalArg("a", "float64", 300),
    )
    text = pg.generate_code(knl, "c").source
    assert "for (int i = 0;" in text
    assert "for (int64_t k = 0; k < h;" in text


def test_assumptions_are_checked_of_integers() -> None:
    knl = kernel(LINE, "o[i] = t[x[i] + 200]", pg.GlobalArg("t", "float64", 300))
    given = {"t": np.arange(300.0), "check_assumptions": True}
    assert run(knl, x=np.array([99, 60], np.uint8), **given)[0].tolist() == [299, 260]
    with pytest.raises(ObligationViolated):
        run(knl, x=np.array([99, 100], np.uint8), **given)
    wraps = kernel(LINE, "<> k = x[i] + 200\no[i] = t[k]", pg.GlobalArg("t", "float64", 300))
    assert run(wraps, x=np.array([99, 100], np.uint8), **given)[0].tolist() == [43, 44]
    hashed = kernel(LINE, "o[i] = t[x[i] % 7]", pg.GlobalArg("t", "float64", 7))
    given["t"] = np.arange(7.0)
    large = np.array([2**64 - 1, 2**63], np.uint64)
    assert run(hashed, x=large, **given)[0].tolist() == [int(v) % 7 for v in large]


def test_joined_loops_need_no_more_bits() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<65536 and 0<=j<16 }", "out[i,j] = 4096*i*0.5 + (j % 3)*1.5")
    assert index_type(knl) is INT32
    assert index_type(pg.join_inames(knl, ["i", "j"], "ij")) is INT32


def test_random_subscripts_are_from_the_whole_extent() -> None:
    data = [pg.GlobalArg("x", "uint16", "n"), pg.GlobalArg("y", "uint16", "n")]
    knl = kernel(
        LINE,
        "o[i] = t[x[i], y[i]] + s[3*x[i] + 2]",
        *data,
        pg.GlobalArg("t", "float64", "m, m"),
        pg.GlobalArg("s", "float64", "k"),
    )
    given = random_arguments(knl, {"n": 5000, "m": 512, "k": 900})
    assert (given["x"].min(), given["x"].max(), given["y"].max()) == (0, 299, 511)


def test_random_row_pointers_ascend() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: lo<=j<hi }"]
    data = [pg.GlobalArg("ptr", "int32", "n + 1"), pg.GlobalArg("a", "float64", "m")]
    text = "<> lo = ptr[i]\n<> hi = ptr[i+1]\no[i] = sum(j, a[j]*b[col[j]])"
    knl = kernel(
        domains, text, *data, pg.GlobalArg("b", "float64", "k"), pg.GlobalArg("col", "int32", "m")
    )
    given = random_arguments(knl, {"n": 2000, "m": 700, "k": 30})
    assert np.all(np.diff(given["ptr"]) >= 0)
    assert (given["ptr"].min(), given["ptr"].max(), given["col"].max()) == (0, 700, 29)


UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "clamp(u[i], 0, 96)": lambda u, _: min(u, 96),
    "max(clamp(b[i], 0, 24), u[i]) % 97": lambda u, b: max(min(max(b, 0), 24), u) % 97,
    "u[i] // clamp(b[i], 1, 97) % 97": lambda u, b: u // min(max(b, 1), 97) % 97,
    "u[i] % clamp(b[i] // 2 + 3, 1, 97)": lambda u, b: u % min(max(b // 2 + 3, 1), 97),
    "if(b[i] < 0, b[i] % 5, u[i]) % 97": lambda u, b: (b % 5 if b < 0 else u) % 97,
    "min(clamp(b[i] // 3, 0, 96), max(u[i], 3))": lambda u, b: min(max(b // 3, 0), max(u, 3)),
    "(u[i] >> abs(b[i] // 4)) % 97": lambda u, b: (u >> abs(b // 4)) % 97,
}


def test_what_is_computed_beside_uint64_may_be_negative() -> None:
    lines = [f"o{k}[i] = t[{text}]" for k, text in enumerate(UNSIGNED)]
    data = [
        pg.GlobalArg("u", "uint64", "n"),
        pg.GlobalArg("b", "int8", "n"),
        pg.GlobalArg("t", "float64", 97),
    ]
    knl = pg.make_kernel(LINE, "\n".join(lines), [*data, "..."])
    u = np.array([0, 5, 96, 97, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    b = np.array([-128, -1, 0, 3, 127, -5, 9], np.int8)
    found = run(knl, u=u, b=b, t=np.arange(97.0))
    for value, (text, meant) in zip(found, UNSIGNED.items(), strict=True):
        wanted = [meant(int(x), int(y)) for x, y in zip(u, b, strict=True)]
        assert value.tolist() == wanted, text


UNARY: dict[str, Callable[[int], int]] = {
    "(-{}[i]) % 97": lambda x: -x % 97,
    "(-{}[i] + 5) % 97": lambda x: (5 - x) % 97,
    "(~{}[i]) % 97": lambda x: ~x % 97,
    "(3 - ~{}[i]) // 3 % 97": lambda x: (3 - ~x) // 3 % 97,
    "(2*-{}[i]) % 97": lambda x: -2 * x % 97,
}


def test_signs_and_complements_of_every_type() -> None:
    types = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
    cases = [(text, meant, name) for name in types for text, meant in UNARY.items()]
    lines = [f"o{k:02}[i] = t[{text.format(f'x_{n}')}]" for k, (text, _, n) in enumerate(cases)]
    arrays = [pg.GlobalArg(f"x_{name}", name, "n") for name in types]
    knl = pg.make_kernel(LINE, "\n".join(lines), [*arrays, pg.GlobalArg("t", "float64", 97), "..."])
    limits = [np.iinfo(name) for name in types]
    ends = [(max(int(at.min), -(2**60)), min(int(at.max), 2**60)) for at in limits]
    given = {f"x_{n}": np.array([*e, 1], n) for n, e in zip(types, ends, strict=True)}
    for value, (text, meant, name) in zip(run(knl, **given, t=np.arange(97.0)), cases, strict=True):
        assert value.tolist() == [meant(int(x)) for x in given[f"x_{name}"]], (text, name)


def test_complements_of_loop_counters_are_negative() -> None:
    knl = kernel(LINE, "o[i] = t[~i % 97]\nv[i] = ~i // 2", pg.GlobalArg("t", "float64", 97))
    i = np.arange(200)
    found, values = run(knl, t=np.arange(97.0), n=200)
    assert np.array_equal(found, ~i % 97)
    assert np.array_equal(values, ~i // 2)


SMALL = ("uint8", "int16", "uint32")


def _looked_up(dtype: str, text: str) -> pg.Kernel:
    data = [pg.GlobalArg("x", dtype, "16"), pg.GlobalArg("t", "float64", 600)]
    return pg.make_kernel("{ [i]: 0<=i<16 }", text, [*data, "..."])


@pytest.mark.parametrize("dtype", SMALL)
def test_no_step_moves_arithmetic_into_subscripts_or_out_of_them(dtype: str) -> None:
    """A value that is stored wraps around; in a subscript it does not."""
    stored = _looked_up(dtype, "<> k = 3*x[i]\nout[i] = t[k + i]")
    inside = _looked_up(dtype, "f(i) := 3*x[i]\nout[i] = t[f(i) + i]")
    with pytest.raises(CannotProve, match="the same in a subscript does not"):
        pg.assignment_to_subst(stored, "k")
    with pytest.raises(CannotProve, match="the same in a subscript does not"):
        pg.precompute(inside, "f", ["i"])
    assert pg.equivalent(stored, inside).answer != "equal"
    written = pg.make_kernel(
        "{ [i]: 0<=i<16 }",
        "<> k = 3*x[i]\nh[k] = h[k] + 1  {atomic}",
        [pg.GlobalArg("x", dtype, 16), pg.GlobalArg("h", "int32", 600)],
    )
    with pytest.raises(CannotProve):
        pg.assignment_to_subst(written, "k")


@pytest.mark.parametrize("dtype", [*SMALL, "int64"])
def test_what_does_not_wrap_is_moved(dtype: str) -> None:
    first = _looked_up(dtype, "<> k = x[i]\nout[i] = t[3*k + i]")
    second = pg.assignment_to_subst(first, "k")
    assert pg.equivalent(first, second).answer == "equal"
    alike = _looked_up(dtype, "<> k = 3*x[i]\nout[i] = k*t[i]")
    assert pg.equivalent(alike, pg.assignment_to_subst(alike, "k")).answer == "equal"
    named = _looked_up(dtype, f"f(i) := {dtype}(3*x[i])\nout[i] = t[f(i)]")
    assert pg.equivalent(named, pg.precompute(named, "f", ["i"])).answer == "equal"
