"""Scans that scripts ask for: ``realize_reduction(knl, force_scan=True)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen.errors import NotAScan, TypeNotFound

RNG = np.random.default_rng(5)


def made(domains: Any, text: str, size: int = 16, **others: Any) -> Any:
    arrays = [lp.GlobalArg("a", np.float64, shape=(size,)), "..."]
    return lp.make_kernel(domains, text, arrays, **others)


def results(knl: Any, **arrays: Any) -> dict[str, Any]:
    _, found = lp.set_options(knl, return_dict=True)(**arrays)
    return dict(found)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("outer", [None, "i"])
def test_strides(stride: int, outer: str | None) -> None:
    knl = made(f"{{ [i,j]: 0<=i<10 and 0<=j<={stride}*i }}", "out[i] = sum(j, a[j])", 40)
    knl = lp.realize_reduction(knl, force_scan=True, force_outer_iname_for_scan=outer)
    a = RNG.random(40)
    np.testing.assert_allclose(results(knl, a=a)["out"], np.cumsum(a)[::stride][:10])
    code = lp.generate_code_v2(knl.copy(target=lp.CTarget())).device_code()
    assert code.count("= 0.0;") == 1
    assert code.index("= 0.0;") < code.index("for (int i ")  # it starts once


def test_of_a_size_that_a_call_says() -> None:
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=2*i }", "out[i] = max(j, a[j])", seq_dependencies=True
    )
    knl = lp.realize_reduction(knl, force_scan=True)  # whatever types there will be
    a = RNG.random(41).astype(np.float32)
    found = results(knl, a=a, n=21)["out"]
    np.testing.assert_array_equal(found, np.maximum.accumulate(a)[::2])


@pytest.mark.parametrize("tag", [None, "l.0"])
def test_of_values_written_in_the_same_loop(tag: str | None) -> None:
    text = """
        <> t[i] = 2*a[i]  {id=t}
        out[i] = sum(j, t[j])  {id=scan,dep=t}
        """
    knl = made("{ [i,j]: 0<=i<16 and 0<=j<=i }", text)
    knl = lp.realize_reduction(lp.tag_inames(knl, {"i": tag} if tag else {}), force_scan=True)
    a = RNG.random(16)
    np.testing.assert_allclose(results(knl, a=a)["out"], 2 * np.cumsum(a))


def test_a_scan_of_a_scan() -> None:
    text = "s[i] = sum(j, a[j])  {id=s}\nout[i] = sum(k, s[k])  {dep=s}"
    knl = made("{ [i,j,k]: 0<=i<16 and 0<=j<=i and 0<=k<=i }", text)
    knl = lp.realize_reduction(knl, force_scan=True)
    a = RNG.random(16)
    np.testing.assert_allclose(results(knl, a=a)["out"], np.cumsum(np.cumsum(a)))


def test_the_loop_that_carries_goes_inside() -> None:
    domains = ["{ [i,k]: 0<=k<n and 0<=i<n }", "{ [j]: 0<=j<=i }"]
    knl = lp.make_kernel(domains, "out[k,i] = sum(j, a[k,j])")
    knl = lp.realize_reduction(knl, force_scan=True)
    assert knl.default_entrypoint.loop_priority == {("k", "i")}
    a = RNG.random((7, 7))
    np.testing.assert_allclose(results(knl, a=a)["out"], np.cumsum(a, axis=1))


def test_only_some_instructions() -> None:
    text = "s[i] = sum(j, a[j])  {id=s}\nout[i] = sum(k, a[k])  {id=all}"
    knl = made(["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<16 }"], text)
    asked = lp.realize_reduction(knl, "s", force_scan=True)
    a = RNG.random(16)
    found = results(asked, a=a)
    np.testing.assert_allclose(found["s"], np.cumsum(a))
    np.testing.assert_allclose(found["out"], np.full(16, a.sum()))
    with pytest.raises(NotAScan, match="instruction 'all' is no scan: how far it runs does not"):
        lp.realize_reduction(knl, force_scan=True)


def test_what_is_no_scan() -> None:
    knl = made("{ [i,j]: 0<=i<16 and 0<=j<=i }", "out[i] = sum(j, a[i-j])")
    with pytest.raises(NotAScan, match="is no scan: what it reduces depends on 'i'") as caught:
        lp.realize_reduction(knl, force_scan=True)
    assert "remedy: change the bounds" in str(caught.value)
    text = "t[15 - i] = 2*a[i]  {id=t}\nout[i] = sum(j, t[j])  {dep=t}"
    knl = made("{ [i,j]: 0<=i<16 and 0<=j<=i }", text)
    with pytest.raises(NotAScan, match="depends on 't', which 't' writes in the loop of 'i'"):
        lp.realize_reduction(knl, force_scan=True)


def test_types_that_are_not_known_yet() -> None:
    knl = lp.make_kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j])")
    later = lp.realize_reduction(knl)
    assert later == knl
    a = RNG.random((4, 4))
    np.testing.assert_allclose(results(later, a=a)["out"], a.sum(axis=1))
    with pytest.raises(TypeNotFound, match="'a'"):
        lp.realize_reduction(knl, unknown_types_ok=False)
    known = lp.realize_reduction(lp.add_dtypes(knl, {"a": np.float64}))
    assert known.default_entrypoint.instruction("insn_update")
    np.testing.assert_allclose(results(known, a=a)["out"], a.sum(axis=1))


def test_of_kernels_too() -> None:
    plain = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i] = sum(j, a[j])")
    knl = lp.realize_reduction(plain, force_scan=True)
    assert knl.options.force_scan
    np.testing.assert_allclose(knl(a=np.arange(5.0))[1][0], np.cumsum(np.arange(5.0)))
