"""`set_temporary_address_space`: who shares a temporary, declared anew."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    UnknownArgument,
)
from tests.transforms.arrays.array_kernels import two_tiles


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_spaces(target: str) -> None:
    local = pg.set_temporary_address_space(turned(), "t", "local")
    assert local.array("t") == turned(pg.AddressSpace.LOCAL).array("t")
    assert pg.set_temporary_address_space(local, ["t"], pg.AddressSpace.LOCAL) is local
    assert pg.set_temporary_address_space(local, "t", pg.auto).array("t") == turned(
        pg.AddressSpace.AUTO
    ).array("t")
    shared = pg.tag_inames(local, {"o": "g.0", "i": "l.0", "j": "l.0"})
    everybody = pg.set_temporary_address_space(turned(), "t", "global")
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 8))
        for knl in (shared, everybody):
            _, (out,) = knl.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, 2 * a[:, ::-1])


def test_spaces_that_are_refused() -> None:
    local = pg.set_temporary_address_space(turned(), "t", "local")
    shared = pg.tag_inames(local, {"i": "l.0", "j": "l.0"})
    with pytest.raises(IllegalStep, match="'t'"):
        pg.set_temporary_address_space(shared, "t", "private")
    groups = pg.tag_inames(turned(), {"o": "g.0"})
    with pytest.raises((IllegalStep, CannotProve), match="'t'"):
        pg.set_temporary_address_space(groups, "t", "global")
    with pytest.raises(InvalidArgument, match="which is not temporaries"):
        pg.set_temporary_address_space(turned(), "a", "local")
    with pytest.raises(InvalidArgument, match="an AddressSpace, or 'private'"):
        pg.set_temporary_address_space(turned(), "t", "shared")


def turned(space: pg.AddressSpace = pg.AddressSpace.PRIVATE) -> pg.Kernel:
    return pg.make_kernel(
        ["{ [o]: 0<=o<n }", "{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = 2*a[o, i]  {id=load, inames=o:i} \n out[o, j] = t[7 - j]",
        [
            pg.TemporaryVariable("t", "float64", 8, space),
            pg.GlobalArg("a", "float64", "n, 8"),
            "...",
        ],
    )


def test_several_at_once() -> None:
    new = pg.set_temporary_address_space(two_tiles(), "s, t", "local")
    assert [t.address_space for t in new.temporaries] == [pg.AddressSpace.LOCAL] * 2
    one = pg.set_temporary_address_space(new, ["t"], pg.AddressSpace.PRIVATE)
    spaces = [pg.AddressSpace.LOCAL, pg.AddressSpace.PRIVATE]
    assert [t.address_space for t in one.temporaries] == spaces
    assert pg.replay(two_tiles(), one.history) == one
    assert pg.parse_kernel(str(one)) == one
    with pytest.raises(UnknownArgument, match="no argument or temporary 'u'"):
        pg.set_temporary_address_space(new, "s, u", "local")
