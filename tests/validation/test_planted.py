"""The six mistakes: polygen refuses each, wherever it comes from.

What oclgrind says of the code that is generated with polygen's checks off: `tests.deep`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, OutOfBounds, UninitializedRead, UserError
from tests.deep.cases import case
from tests.oracle.compare import make_arguments, typed
from tests.validation.planted import PLANTED, Planted


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_mistake_of_lowering_is_noticed(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = case(planted.case)
    knl = typed(chosen.kernel, make_arguments(chosen.kernel, chosen.sizes))
    right = pg.generate_code(knl, "opencl")
    planted.plant(monkeypatch)
    with pytest.raises(planted.error) as caught:
        pg.generate_code(knl, "opencl")
    assert "Please report it" in str(caught.value)
    assert "  | -> [" in str(caught.value)  # the instruction concerned
    with pg.without_proofs():  # the mistake is there
        assert str(pg.generate_code(knl, "opencl")) != str(right)


# --- where the user makes them

LOCAL = pg.AddressSpace.LOCAL


def _race() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i//2] = a[i]")
    pg.tag_inames(knl, {"i": "g.0"})


def _outside() -> None:
    pg.make_kernel("{ [i]: 0<=i<n }", "out[i+1] = a[i]", [pg.GlobalArg("out", shape="n"), "..."])


def _tile(shape: int, load: str) -> None:
    pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        f"tile[i] = a[g,i] {{id=load, {load}}}\nout[g,j] = tile[7-j] {{inames=g:j, dep=load}}",
        [pg.TemporaryVariable("tile", np.float64, (shape,), LOCAL), "..."],
    )


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (_race, IllegalStep),
        (_outside, OutOfBounds),
        (lambda: _tile(7, "inames=g:i"), OutOfBounds),
        (lambda: _tile(8, "inames=g:i, if=i > 0"), UninitializedRead),
    ],
    ids=["global_race", "global_out_of_bounds", "local_out_of_bounds", "uninitialized_local"],
)
def test_a_mistake_of_the_user_is_noticed(make: Callable[[], None], error: type[UserError]) -> None:
    with pytest.raises(error):
        make()
