"""Powers of integers with negative exponents, which NumPy refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.wellformed.integer_powers import has_powers
from polygen.errors import NegativePower, ObligationUnchecked, ObligationViolated

LINE = "{ [i]: 0<=i<n }"
K = pg.GlobalArg("k", "int32", "n")


def _made(text: str, *data: Any, domain: str = LINE) -> pg.Kernel:
    return pg.make_kernel(domain, text, [K, *data, "..."])


@pytest.mark.parametrize(
    ("text", "owed"),
    [
        ("o[i] = 2**k[i]", ["2**k[i] is a power of integers: k[i] >= 0"]),
        ("o[i] = pow(k[i], k[i])", ["pow(k[i], k[i]) is a power of integers: k[i] >= 0"]),
        ("o[i] = sum(j, 3**(k[j] - j))", ["3**(k[j] - j) is a power of integers: k[j] - j >= 0"]),
        ("o[i] = x[2**k[i]]", ["2**k[i] is a power of integers: k[i] >= 0"]),
        ("o[i] = 2**k[i] + 2**k[i]", ["2**k[i] is a power of integers: k[i] >= 0"]),
        ("o[i] = 2**max(0, k[i])", []),
        ("o[i] = 2**(k[i] % 8)", []),
        ("o[i] = 2**i + k[i]**2", []),
        ("o[i] = if(i > 0, 2**(i - 1), k[i])", []),
        ("o[i] = 2**(i - 1) {if=i >= 1}", []),
        ("o[i] = 2.0**k[i] + k[i]**0.5", []),
        ("o[i] = float64(k[i])**k[i]", []),
        ("o[i] = 2**uint8(k[i])", []),
        ("o[i] = 2**z[i] + z[i]**k[i]", []),  # who knows what z is
    ],
)
def test_what_data_decides_is_owed(text: str, owed: list[str]) -> None:
    domain = "{ [i,j]: 0<=i,j<n }" if "j" in text else LINE
    data = (pg.GlobalArg("x", "float32", 99), pg.GlobalArg("z", shape="n"))
    knl = _made(text, *data, domain=domain)
    found = [o.what for o in pg.obligations(knl) if o.kind == "not negative"]
    assert found == owed
    assert pg.parse_kernel(str(knl)) == knl


def test_what_is_negative_is_refused() -> None:
    with pytest.raises(NegativePower) as refused:
        _made("o[i] = k[i]*2**(i - 3)")
    assert "for n=1, insn[i=0] raises the integer 2 to a negative power" in refused.value.what
    assert "1.0*x or float64(x)" in str(refused.value.remedy)
    with pytest.raises(NegativePower, match="the integer k"):
        _made("o[i] = k[i]**(-1 - i)")
    with pg.without_proofs():
        assert has_powers(_made("o[i] = k[i]**(-1 - i)"))


def test_types_that_come_later_count() -> None:
    knl = pg.make_kernel(LINE, "o[i] = x[i]**(i - 1)")
    assert not pg.obligations(knl)
    floats = pg.add_dtypes(knl, {"x": "float32"})
    assert "powf(" in pg.generate_code(floats, "c").source
    with pytest.raises(NegativePower):
        pg.generate_code(pg.add_dtypes(knl, {"x": "int32"}), "c")
    x = np.array([2.0, 3.0, 4.0])
    np.testing.assert_array_equal(knl.executor("c")(x=x)[1][0], [0.5, 1, 4])
    with pytest.raises(NegativePower):
        knl.executor("c")(x=x.astype(np.int64))


def test_calls_check_exponents() -> None:
    run = pg.make_kernel(LINE, "o[i] = 2**k[i]").executor("c")
    k = np.array([0, 5, 2, -1, 3])
    with pytest.raises(ValueError, match="negative integer powers"):
        np.power(2, k)
    with pytest.raises(
        ObligationViolated, match=r"negative power: for i=3, k\[i\] in 'insn' is -1"
    ):
        run(k=k, check_assumptions=True)
    np.testing.assert_array_equal(run(k=k[:3], check_assumptions=True)[1][0], 2 ** k[:3])
    np.testing.assert_array_equal(run(k=k * 1.0, check_assumptions=True)[1][0], 2 ** (k * 1.0))
    text = "o[i] = if(k[i] >= 0, 2**k[i], 0)"
    _, (found,) = pg.make_kernel(LINE, text).executor("c")(k=k, check_assumptions=True)
    np.testing.assert_array_equal(found, np.where(k >= 0, 2 ** np.maximum(k, 0), 0))


def test_scalars_and_what_is_computed() -> None:
    scalar = pg.make_kernel(LINE, "o[i] = 2**p").executor("c")
    with pytest.raises(ObligationViolated, match="p in 'insn' is -2"):
        scalar(p=-2, n=3, check_assumptions=True)
    assert scalar(p=3, n=2, check_assumptions=True)[1][0].tolist() == [8, 8]
    with pytest.raises(ObligationViolated, match="n - 4 in 'insn' is -1"):
        _made("o[i] = k[i]**(n - 4)").executor("c")(k=np.zeros(3, np.int32), check_assumptions=True)
    assert scalar(p=-2.0, n=1, check_assumptions=True)[1][0].tolist() == [0.25]
    computed = _made("<int32> t = k[i]*k[i] ^ 1\no[i] = 2**t").executor("c")
    with pytest.raises(ObligationUnchecked, match="2\\*\\*t is a power of integers: t >= 0"):
        computed(k=np.arange(3, dtype=np.int32), check_assumptions=True)


def test_steps_are_not_held_up() -> None:
    """An exponent that is negative makes 1 of a power, wherever a step lets it be computed."""
    knl = _made("o[i] = if(k[i] >= 0, 2**k[i], 0)")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    assert [o.kind for o in pg.obligations(knl)] == ["not negative"]
