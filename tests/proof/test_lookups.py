"""Values that are looked up where data says: proved for whatever it says, and for nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, UserError
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange

DOMAINS = "{ [m, i, p, q, r]: 0<=m<4 and 0<=i<n and 0<=p,q,r<3 }"
DATA = [
    pg.TemporaryVariable("h", "float64", 3),
    pg.GlobalArg("b", "int32", "4, n"),
    pg.GlobalArg("x", "float64", "4, 3"),
    pg.GlobalArg("out", "float64", "4, n"),
]
ROWS = """\
h[p] = x[m, p]              {id=w, inames=m:p}
out[m, i] = h[b[m, i]]      {id=r, inames=m:i, dep=w}"""


def rows(text: str = ROWS, *more: object, order: tuple[str, ...] = ("m, p", "m, i")) -> Kernel:
    return kernel(DOMAINS, text, *DATA, *more, loop_priority=order)


def test_a_table_that_is_filled_ahead() -> None:
    new = pg.double_buffer(rows(), "h", "m")
    assert "out[m, i] = h[m % 2, b[m, i]]" in str(new)
    assert pg.parse_kernel(str(new)) == new
    for n in (0, 1, 7, 8):
        x = np.random.default_rng(n).random((4, 3))
        b = (np.arange(4 * n, dtype=np.int32) % 3).reshape(4, n)
        _, (out,) = new.executor("c")(x=x, b=b, n=n)
        np.testing.assert_array_equal(out, np.take_along_axis(x, b, 1))


TWO = """\
h[p] = x[m, p]                  {id=w, inames=m:p}
out[m, i] = h[b[m, i]]          {id=r, inames=m:i, dep=w}
g[q] = 2*x[m, q]                {id=v, inames=m:q, dep=%s}
out2[m, r] = g[c[m, r]] + %s    {id=s, inames=m:r, dep=v:w}"""
MORE = (
    pg.TemporaryVariable("g", "float64", 3),
    pg.GlobalArg("c", "int32", "4, 3"),
    pg.GlobalArg("out2", "float64", "4, 3"),
)
ORDER = ("m, p", "m, i", "m, q", "m, r")


def test_two_tables_in_one_place() -> None:
    old = rows(TWO % ("r", "g[0]"), *MORE, order=ORDER)
    new = pg.alias_temporaries(old, "h, g")
    x, c = np.random.default_rng(1).random((4, 3)), np.arange(12, dtype=np.int32).reshape(4, 3) % 3
    b = np.array([[2, 0]] * 4, np.int32)
    for knl in (old, new):
        _, (out, out2) = knl.executor("c")(x=x, b=b, c=c)
        np.testing.assert_array_equal(out, x[:, [2, 0]])
        np.testing.assert_array_equal(out2, 2 * (np.take_along_axis(x, c, 1) + x[:, :1]))
    # looked up again when the other one is there
    for late in ("h[c[m, r]]", "h[(c[m, 0] + r) % 3]"):
        with pytest.raises((IllegalStep, CannotProve)):
            pg.alias_temporaries(rows(TWO % ("r", late), *MORE, order=ORDER), "h, g", None, False)


@pytest.mark.parametrize(
    "place",
    ["h[2, 2 - b[m, i]]", "h[2, b[m, 0]]", "h[1, b[m, i]]", "h[2, (b[m, i] + 1) % 3]", "h[2, 1]"],
)
def test_another_element_is_looked_up(place: str) -> None:
    """Row 2 is the table, which others than the instruction of before write."""
    table = pg.TemporaryVariable("h", "float64", (3, 3))
    text = ROWS.replace("id=w", "id=v").replace("dep=w", "dep=v:z").replace("h[p]", "h[2, p]")
    text += "\nh[1, q] = 0  {id=z, inames=m:q}"

    def made(where: str) -> Kernel:
        lines = text.replace("h[b[m, i]]", where)
        return kernel(DOMAINS, lines, table, *DATA[1:], loop_priority=("m, p", "m, q", "m, i"))

    exchange(rows(), made("h[2, b[m, i]]"))
    with pytest.raises(UserError):
        exchange(rows(), made(place))


def test_data_that_changes_in_between() -> None:
    """The same element of `c` is read, and not the same value."""
    text = """\
    h[p] = x[m, p]                     {id=%s, inames=m:p}
    c[q] = (c[q] + 1) %% 3             {id=k, inames=m:q, dep=%s}
    out[m, r] = h[c[r]]                {id=r, inames=m:r, dep=%s}"""
    c = (pg.GlobalArg("c", "int32", 3),)
    lines = "\n".join(line.strip() for line in text.splitlines())
    order = ("m, p", "m, q", "m, r")
    data = [*DATA[:3], pg.GlobalArg("out", "float64", "4, 3"), *c]

    def made(*names: str) -> Kernel:
        return kernel(DOMAINS, lines % names, *data, loop_priority=order)

    old = made("w", "*w", "*k:w")
    with pytest.raises(UserError):
        exchange(old, made("v", "*r", "*v"))
