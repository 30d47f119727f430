"""What is written under a condition, and read under the same: the condition's scalars meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep
from polygen.ir.kernel import Kernel


def made(text: str, *more: object) -> Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [*more, "..."], name="under")


SAME = """
for i
    <> c = b[i] > 0  {id=c}
    if c
        <> t = 2*a[i]  {id=t}
        out[i] = t + 1
    end
end
"""


def test_the_write_is_certain() -> None:
    assert pg.obligations(made(SAME)) == ()


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_so_work_items_may_have_copies(target: str) -> None:
    knl = pg.split_iname(made(SAME), "i", 4, outer_tag="g.0", inner_tag="l.0")
    for n in (0, 1, 7, 8):
        a, b = np.random.default_rng(n).normal(size=(2, n))
        out = np.full(n, -1.0)
        expected = np.where(b > 0, 2 * a + 1, out)
        _, (found,) = knl.executor(target)(a=a, b=b, out=out, n=n)
        np.testing.assert_array_equal(found, expected)


def test_in_a_loop_inside_too() -> None:
    """Mandelbrot's loop: what is computed in between is read under the same condition."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [t]: 0<=t<5 }"],
        """
        for i
            <> z = a[i]  {id=z}
            for t
                <> inside = z*z <= 4  {id=inside, dep=z}
                if inside
                    <> new_z = z*z + a[i]  {id=new_z, dep=inside}
                    z = new_z  {id=next, dep=new_z:inside}
                end
            end
            out[i] = z  {dep=next}
        end
        """,
    )
    assert pg.obligations(knl) == ()
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    a = np.linspace(-2, 2, 11)
    z = a.copy()
    for _ in range(5):
        z = np.where(z * z <= 4, z * z + a, z)
    for target in ("c", "opencl"):
        _, (found,) = knl.executor(target)(a=a)
        np.testing.assert_allclose(found, z, rtol=1e-12)


BETWEEN = """
for i
    <> c = b[i] > 0  {id=c}
    <> t = 2*a[i]  {id=t, if=c, dep=c}
    c = a[i] > 0  {id=again, dep=t:c}
    out[i] = t + 1  {id=out, if=c, dep=again:t}
end
"""
ANOTHER = """
for i
    <> c = b[i] > 0  {id=c}
    <> d = b[i] > 1  {id=d}
    <> t = 2*a[i]  {id=t, if=c}
    out[i] = t + 1  {id=out, if=d, dep=t}
end
"""


@pytest.mark.parametrize(
    "text", [BETWEEN, ANOTHER], ids=["written in between", "another condition"]
)
def test_other_conditions_are_in_doubt(text: str) -> None:
    knl = made(text)
    assert [str(o) for o in pg.obligations(knl)] == ["out: t was written before it is read"]
    with pytest.raises(CannotProve):
        pg.tag_inames(pg.split_iname(knl, "i", 4), "i_outer: g.0, i_inner: l.0")


def test_a_condition_that_all_iterations_write_is_not_for_work_items() -> None:
    """Each iteration writes it first; work items would write it at once."""
    c = pg.TemporaryVariable("c", np.int32, (), address_space=pg.AddressSpace.GLOBAL)
    knl = made(SAME.replace("<> c = b[i] > 0", "c = b[i] > 0"), c)
    assert pg.obligations(knl) == ()
    a, b = np.arange(5.0), np.array([1.0, -1, 2, -2, 3])
    _, (found,) = knl(a=a, b=b, out=np.full(5, -1.0))
    np.testing.assert_array_equal(found, np.where(b > 0, 2 * a + 1, -1))
    for tag in ("g.0", "l.0"):
        with pytest.raises(IllegalStep, match="c\\[i=0\\] writes the element of 'c'"):
            pg.tag_inames(pg.fix_parameters(knl, n=8), {"i": tag})


def test_wrong_values_are_not_taken_for_the_same() -> None:
    """What `c` was before it is written decides: nothing says that `t` is written then."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        for i
            <> t = 2*a[i]  {id=t, if=c, dep=start}
            out[i] = t + 1  {id=out, if=c, dep=t:start}
            c = b[i] > 0  {id=c, dep=out:t:start}
        end
        c = 0  {id=start}
        """,
        [pg.TemporaryVariable("c", np.int32), "..."],
    )
    assert [str(o) for o in pg.obligations(knl)] == ["out: t was written before it is read"]


ARRAY = """
for i
    <> c = b[i] > 0  {id=c}
    <> t[j] = a[i] + j  {id=t, if=c, inames=i:j}
    out[i, k] = t[3 - k]  {if=c, inames=i:k}
end
"""
LAST = """
for i, j
    <> c = b[i, j] > 0  {id=c}
    <> t[j] = a[i] + j  {id=t, if=c, inames=i:j}
end
out[i, k] = t[3 - k]  {id=out, if=c, inames=i:k, dep=t:c}
"""
LOOPS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"]


def test_in_other_loops_within_that_of_the_condition() -> None:
    knl = pg.make_kernel(LOOPS, ARRAY)
    assert pg.obligations(knl) == ()
    knl = pg.tag_inames(knl, "i: g.0")
    a, b = np.random.default_rng(1).normal(size=(2, 9))
    expected = np.where((b > 0)[:, None], a[:, None] + np.arange(4)[::-1], 0)
    for target in ("c", "opencl"):
        _, (found,) = knl.executor(target)(a=a, b=b, out=np.zeros((9, 4)))
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_condition_of_the_last_iteration_says_nothing_of_others() -> None:
    knl = pg.make_kernel(LOOPS, LAST, loop_priority="i, j")
    found = [str(o) for o in pg.obligations(knl)]
    assert found == ["out: t[3 - k] was written before it is read"]
