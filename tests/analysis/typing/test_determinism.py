"""The option ``deterministic``: which updates it rules out, and that others stay."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotDeterministic

DETERMINISTIC = {"deterministic": True}


def updates(text: str, dtype: str, **tags: str) -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text)
    given = {name: dtype for name in ("a", "s") if f"{name}[" in text}
    knl = pg.add_dtypes(knl, {**given, **({"at": "int32"} if "at[" in text else {})})
    return pg.set_options(pg.tag_inames(knl, tags), **DETERMINISTIC)


@pytest.mark.parametrize(
    "text",
    ["s[0] += a[i]  {atomic}", "s[at[i]] += a[i]  {atomic}", "s[0] = max(s[0], a[i])  {atomic}"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_that_round(text: str, dtype: str) -> None:
    knl = updates(text, dtype, i="g.0")
    with pytest.raises(NotDeterministic, match="'insn' updates floating-point numbers in the"):
        pg.generate_code(knl, "cuda")
    free = pg.set_options(knl, deterministic=False)
    assert "s[" in pg.generate_code(free, "cuda").source


def test_complex_numbers_round() -> None:
    knl = updates("s[0] += a[i]  {atomic}", "complex64", i="g.0")
    with pytest.raises(NotDeterministic):
        pg.generate_code(knl, "cuda")


def test_integers_do_not_round() -> None:
    knl = updates("s[at[i]] += a[i]  {atomic}", "int32", i="g.0")
    a, at = np.arange(97, dtype="int32"), np.arange(97, dtype="int32") % 5
    _, (s,) = knl.copy(target="c")(a=a, at=at, s=np.zeros(5, "int32"))
    assert np.array_equal(s, np.bincount(at, a, 5))


def test_one_after_the_other_is_an_order() -> None:
    knl = updates("s[0] += a[i]  {atomic}", "float32")
    _, (s,) = knl.copy(target="c")(a=np.arange(5, dtype="float32"), s=np.zeros(1, "float32"))
    assert s == 10


def test_a_finish_by_updates_is_refused_when_it_is_asked_for() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])")
    knl = pg.set_options(knl, **DETERMINISTIC)
    floats = pg.add_dtypes(knl, {"a": "float32"})
    with pytest.raises(NotDeterministic, match="order in which work items come"):
        pg.parallelize_reduction(floats, "insn", blocks=4, threads=8, finish="atomic")
    whole = pg.add_dtypes(knl, {"a": "int64"})
    new = pg.parallelize_reduction(whole, "insn", blocks=4, threads=8, finish="atomic")
    assert "atomic" in str(pg.generate_code(new, "cuda"))


def test_two_passes_give_the_same_bits_in_each_run() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])")
    knl = pg.set_options(knl, **DETERMINISTIC)
    knl = pg.add_dtypes(knl, {"a": "float32"})
    knl = pg.parallelize_reduction(knl, "insn", blocks=2, threads=2, items=1)
    a = np.random.default_rng(3).standard_normal(101).astype("float32")
    runs = {knl.copy(target="c")(a=a)[1][0].tobytes() for _ in range(20)}
    assert len(runs) == 1
    (bits,) = runs
    # Item i of group g has those with j mod 4 = 2*g + i, one after the other.
    parts = [np.add.accumulate(a[k::4], dtype="float32")[-1] for k in range(4)]
    assert np.frombuffer(bits, "float32") == (parts[0] + parts[1]) + (parts[2] + parts[3])
    assert str(pg.parse_kernel(str(knl))) == str(knl)
