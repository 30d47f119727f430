"""Which of several instances wrote a value does not matter if all write the same."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import IllegalStep
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.judge import judge
from tests.proof.patterns import array, scalar

LINES = """
    s = 1              {id=s, dep=*, inames=i}
    out[i] = s*a[i]    {id=out, dep=*s}
    a[0] = s           {id=last, dep=*out, inames=}
    """
SAME = ("1  ", "x  ", "b[2]", "b[m]/3")
OTHER = ("i  ", "b[i]", "a[0] + i", "b[i//4]")


def _made(value: str) -> Kernel:
    lines = LINES.replace("1  ", value, 1)
    scalars = [pg.ValueArg("x", "float64"), pg.ValueArg("m", "int32")]
    arrays = (array(name, "9") for name in ("a", "b", "out") if f"{name}[" in lines)
    data = (scalar("s"), *arrays, *(v for v in scalars if v.name in value))
    with pg.without_proofs():
        return kernel(
            "{ [i]: 1<=i<8 }",
            "\n".join(map(str.strip, lines.strip().splitlines())),
            *data,
            assumptions="0 <= m < 9" if "m" in value else "",
        )


def _reverse(knl: Kernel) -> Kernel:
    return pg.map_domain(knl, "{ [i] -> [r] : r = 7 - i }")


@pytest.mark.parametrize("value", SAME)
def test_one_value(value: str) -> None:
    knl = _made(value)
    sizes = {name: 2 for name in ("m", "x") if name in knl.variables}
    verdict = judge(knl, _reverse(knl), [(sizes, seed) for seed in range(3)])
    assert verdict.differs is None
    assert verdict.calls == 3


@pytest.mark.parametrize("value", OTHER)
def test_a_value_of_each(value: str) -> None:
    knl = _made(value)
    with pytest.raises(IllegalStep, match="would change"):
        _reverse(knl)
    with pg.without_proofs():
        new = _reverse(knl)
    assert judge(knl, new, [({}, seed) for seed in range(3)]).differs is not None
