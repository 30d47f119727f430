"""`alias_temporaries`: several temporaries in one storage, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    DependencyCycle,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NotConcatenable,
)
from polygen.ir.show import show_instruction
from tests.oracle.cases import Step
from tests.transforms.arrays.array_kernels import chain, tiles_become_one, two_tiles

SIZES = (0, 1, 5, 8)


STEPS: dict[str, Step] = {
    "one for two": lambda k: pg.alias_temporaries(k, "s, t"),
    "the other way around": lambda k: pg.alias_temporaries(k, ["t", "s"], "u"),
}


@pytest.mark.parametrize("name", STEPS)
def test_temporaries_that_become_one(name: str) -> None:
    tiles_become_one(STEPS[name])


def test_the_one_is_as_large_as_the_largest() -> None:
    (one,) = pg.alias_temporaries(two_tiles(), "s, t").temporaries
    assert (one.name, one.shape) == ("s", (6,))


def test_work_items_wait_before_storage_is_used_again() -> None:
    knl = pg.alias_temporaries(two_tiles(address_space=pg.AddressSpace.LOCAL), "s, t")
    knl = pg.tag_inames(knl, {"o": "g.0", "i": "l.0", "j": "l.0", "p": "l.0", "q": "l.0"})
    assert str(pg.generate_code(knl, "opencl")).count("barrier(") == 3
    for target in ("c", "opencl"):
        for n in SIZES:
            a = np.random.default_rng(n).random((n, 6))
            _, (b, c) = knl.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(b, 2 * a[:, 3::-1])
            np.testing.assert_array_equal(c, a[:, ::-1] + 1)


def test_values_that_are_needed_at_once() -> None:
    with pytest.raises(IllegalStep):
        pg.alias_temporaries(two_tiles(), "s, t", synchronize_for_exclusive_use=False)
    both = chain("<> s = a[i] \n <> t = 2*a[i] \n out[i] = s + t")
    for synchronized in (True, False):
        with pytest.raises((IllegalStep, DependencyCycle)):
            pg.alias_temporaries(both, "s, t", None, synchronized)
    next_one = chain("<float64> s = a[i] \n <float64> t = 2*s \n out[i] = t + 1")
    new = pg.alias_temporaries(next_one, "s, t")
    assert [t.name for t in new.temporaries] == ["s"]
    with pytest.raises(DependencyCycle):
        pg.alias_temporaries(next_one, "t, s")
    follows = chain("<> s = a[i] \n <> t = 2*s \n out[i] = t + 1")  # whatever type out has
    assert len(pg.alias_temporaries(follows, "s, t").temporaries) == 1
    open_ = chain("<> s = a[i]*b[i] \n <> t = 2*s \n out[i] = t + 1")  # b may be complex
    with pytest.raises(CannotProve, match="types that are declared may settle this"):
        pg.alias_temporaries(open_, "s, t")
    later = chain("<> s = a[i] \n <> t = 2*s  {id=t} \n out[i] = t + s  {id=o}")
    with pytest.raises((IllegalStep, DependencyCycle)):
        pg.alias_temporaries(later, "s, t")
    for target in ("c", "opencl"):
        for n in SIZES:
            a = np.arange(float(n))
            _, (out,) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, 2 * a + 1)


def test_temporaries_that_cannot_share() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<k }"],
        """
        <int32> k = a[i]  {id=k}
        <int32> l = a[i] + 1  {id=l}
        <float32> r = 1.0  {id=r}
        u[i % 2] = 1.0  {id=u}
        v[0] = 1.0  {id=v}
        out[i] = sum(j, 1) + l + r + u[i % 2] + v[0]
        """,
        [
            pg.TemporaryVariable("u", "float32", 2),
            pg.TemporaryVariable("v", "float32", 2, strides="2"),
            pg.GlobalArg("a", "int32", "n"),
            "...",
        ],
    )
    for names, why in (
        ("l, k", "one of them is the bound of a loop"),
        ("l, r", "are not declared alike"),
        ("r, u", "have other numbers of axes"),
        ("v, u", "are not declared alike|have strides that are given"),
    ):
        with pytest.raises(NotConcatenable, match=why):
            pg.alias_temporaries(knl, names)
    for few in ("l", "l, l"):
        with pytest.raises(InvalidArgument, match="is not several temporaries, each once"):
            pg.alias_temporaries(knl, few)
    with pytest.raises(InvalidArgument, match="which is not temporaries"):
        pg.alias_temporaries(knl, "a, out")


def test_each_use_has_the_name_of_the_one() -> None:
    new = pg.alias_temporaries(two_tiles(), "t, s")
    lines = [show_instruction(insn, new.inames).split("  {")[0] for insn in new.instructions]
    assert lines == [
        "[o, i] t[i] = a[o, i]",
        "[o, j] b[o, j] = 2*t[3 - j]",
        "[o, p] t[p] = a[o, p] + 1",
        "[o, q] c[o, q] = t[5 - q]",
    ]
    # Who writes the second value comes after who reads the first one, in this order.
    assert new.instruction("s").depends_on >= {"c"}
    with pytest.raises(NameTaken, match="'b'"):
        pg.alias_temporaries(two_tiles(), "s, t", "b")
