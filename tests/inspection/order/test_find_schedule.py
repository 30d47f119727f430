"""`find_schedule`: steps that isl's scheduler proposes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.inspection.order import find_schedule as module
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import agree, kernel, loops, lowered


def applied(knl: Kernel, tile_size: int = 16) -> Kernel:
    """Return the kernel after the steps that are proposed."""
    for step, arguments in pg.find_schedule(knl, tile_size):
        knl = getattr(pg, step)(knl, **arguments)
    return knl


def names(knl: Kernel) -> list[str]:
    """Return the names of the steps that are proposed."""
    return [step for step, _ in pg.find_schedule(knl)]


SWEEPS = kernel(
    "{ [t,i]: 0<=t<n and 1<=i<n-1 }", "a[i] = a[i-1]/2 + a[i+1]  {inames=t:i}",
    pg.GlobalArg("a", shape="n"), "...", loop_priority="t, i",
)  # fmt: skip
SEIDEL = kernel(
    "{ [i,j]: 1<=i,j<n-1 }", "a[i,j] = (a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1])/4",
    pg.GlobalArg("a", shape="n, n"), "...", loop_priority="i, j",
)  # fmt: skip
PRODUCT = kernel(
    "{ [k,i,j]: 0<=i,j,k<n }", "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {inames=i:j:k}",
    loop_priority="k, i, j",
)  # fmt: skip
JACOBI = kernel(
    "{ [t,i]: 0<=t<n and 1<=i<n-1 }", "b[t+1,i] = b[t,i-1] + b[t,i] - b[t,i+1]",
    pg.GlobalArg("b", shape="n + 1, n"), "...", loop_priority="t, i",
)  # fmt: skip
SUMS = kernel("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", loop_priority="i, j")
TWO = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 2*a[i]\nc[j] = b[n-1-j]")
STEPS = kernel(  # of time, with two loops in each
    "{ [t,i,j,k,l]: 0<=t<3 and 1<=i,j,k,l<n-1 }",
    """
    b[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]  {id=b, inames=t:i:j, dep=*}
    a[k,l] = b[k,l]  {id=a, inames=t:k:l, dep=*b}
    """,
    pg.GlobalArg("a, b", shape="n, n"), "...",
)  # fmt: skip
CHAIN = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1]", pg.GlobalArg("a", shape="n"), "...")
MIXED = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = 2*a[i]\nc[i,j] = b[i] + j", loop_priority="i, j")
DIAGONAL = kernel(
    "{ [i,j]: 2<=i<n and 0<=j<n-2 }", "a[i,j] = a[i-2,j+1] + a[i-1,j+2]",
    pg.GlobalArg("a", shape="n, n"), "...", loop_priority="i, j",
)  # fmt: skip


@pytest.mark.parametrize(
    ("knl", "steps"),
    [
        (SWEEPS, ["skew", "tile", "wavefront"]),
        (SEIDEL, ["tile", "wavefront"]),
        (JACOBI, ["skew", "tile", "wavefront"]),
        (SUMS, ["tile"]),
        (PRODUCT, ["prioritize_loops", "tile"]),
        (TWO, ["tile", "tile"]),
        (MIXED, ["tile"]),
        (STEPS, ["tile", "tile"]),
        (CHAIN, []),
    ],
)
def test_what_is_proposed(knl: Kernel, steps: list[str]) -> None:
    assert names(knl) == steps
    parallel = {str(tag) for tag in applied(knl).tags.values()}
    assert ("g.0" in parallel) == bool(steps)


@few(
    5,
    "knl",
    [SWEEPS, SEIDEL, JACOBI, SUMS, PRODUCT, TWO, MIXED, CHAIN, DIAGONAL, STEPS],
    ids=str.split("sweeps seidel jacobi sums product two mixed chain diagonal steps"),
)
def test_it_computes_the_same(knl: Kernel) -> None:
    agree(knl, [{"n": n} for n in (0, 1, 2, 5)], lambda k: applied(k, 2), lambda k: applied(k, 3))


def test_the_kernel_stays_as_it_is() -> None:
    before = str(SEIDEL)
    pg.find_schedule(SEIDEL)
    assert str(SEIDEL) == before
    tagged = pg.tag_inames(SUMS, "i: g.0")
    assert names(tagged) == ["tile"]


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_numpy_agrees(target: str) -> None:
    run = applied(SUMS, 4).executor(target)
    for n in (1, 4, 5, 7):
        a, b = np.random.default_rng(n).random((2, n, n))
        _, (c,) = run(a=a, b=b)
        np.testing.assert_allclose(c, a @ b)


def test_loops_of_a_nest_that_holds_more() -> None:
    assert [x.iname for x in loops(lowered(applied(MIXED, 4)))][-1:] == ["j"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("knl",), "kernel='knl', which is no kernel"),
        ((SUMS, 0), "0, which is no positive integer"),
        ((SUMS, True), "True, which is no positive integer"),
    ],
)
def test_refused(given: Any, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        pg.find_schedule(*given)


def test_a_program_is_its_entry_point() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
    program = pg.merge([knl])
    steps = pg.find_schedule(program)
    assert steps == pg.find_schedule(knl)
    assert pg.apply(program, steps)["twice"] == pg.apply(knl, steps)


WAVE = kernel(
    "{ [t,i,j]: 0<=t<n and 1<=i,j<n-1 }",
    "u[t+2,i,j] = 2*u[t+1,i,j] - u[t,i,j] + u[t+1,i-1,j] + u[t+1,i+1,j] + u[t+1,i,j-1]",
    pg.GlobalArg("u", shape="n + 2, n, n"), "...", loop_priority="t, i, j",
)  # fmt: skip


@pytest.mark.parametrize(
    ("knl", "steps"),
    [
        (WAVE, {"i": "g.0"}),
        (JACOBI, {}),
        (DIAGONAL, {}),
        (SUMS, {"i": "g.0"}),
        (MIXED, {"i": "g.0"}),
        (STEPS, {"i": "g.0", "k": "g.0"}),
        (CHAIN, {}),
        (kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]"), {"i": "g.0"}),
    ],
    ids=str.split("wave jacobi diagonal sums mixed steps chain line"),
)
def test_in_c_vectors_stay_and_parallel_loops_get_threads(
    knl: Kernel, steps: dict[str, str]
) -> None:
    """Compilers make vectors of loops as they are, which skewed tiles keep them from."""
    knl = knl.copy(target="c")
    tags = [("tag_inames", {"iname_to_tag": {iname: tag}}) for iname, tag in steps.items()]
    assert pg.find_schedule(knl) == tags
    agree(knl, [{"n": n} for n in (1, 3, 5)], applied)


def test_in_c_tiles_in_waves_are_for_loops_of_which_none_is_parallel() -> None:
    for knl in (SWEEPS, SEIDEL):
        proposed = dict(pg.find_schedule(knl.copy(target="c")))
        assert set(proposed["tile"]["sizes"].values()) == {32}
        assert "wavefront" in proposed
        assert pg.find_schedule(knl.copy(target="c"), 16) == pg.find_schedule(knl)


# --- nests looked at alone


def _several(*texts: str, kernel_data: tuple[object, ...] = ("...",), **options: Any) -> Kernel:
    """Return a kernel of nests over i0, j0 and so on, one after the other."""
    return pg.make_kernel(
        [f"{{ [i{k},j{k}]: 1<=i{k},j{k}<n-1 }}" for k in range(len(texts))],
        "\n".join(text.replace("#", str(k)) for k, text in enumerate(texts)),
        [pg.GlobalArg("a, b", shape="n, n"), *kernel_data],
        loop_priority=[f"i{k}, j{k}" for k in range(len(texts))],
        seq_dependencies=True,
        **options,
    )


SMOOTHED = "a[i#,j#] = a[i#-1,j#] + a[i#,j#-1] {id=s#}"
COPIED = "b[i#,j#] = a[i#,j#] {id=s#}"


def _sizes_of_kernels(knl: Kernel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many instructions the kernels have that steps are tried on."""
    found: list[int] = []

    def tried(*args: Any, **kwargs: Any) -> Kernel:
        found.append(len(args[0].instructions))
        result: Kernel = pg.tile(*args, **kwargs)
        return result

    monkeypatch.setitem(module._STEPS, "tile", tried)
    pg.find_schedule(knl)
    return found


def test_steps_are_tried_on_one_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _sizes_of_kernels(_several(*[COPIED] * 5), monkeypatch) == [1] * 5


def test_nests_that_cannot_be_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has a name that the first would use: that of the first needs all of them."""
    knl = pg.rename_iname(_several(COPIED, COPIED, COPIED), "i1", "i0_outer")
    assert _sizes_of_kernels(knl, monkeypatch) == [1, 3, 1, 1]
    assert pg.apply(knl, pg.find_schedule(knl)).tags.keys() >= {"i0_outer_0", "i0_outer_outer"}


def test_nests_that_axes_take_to_pieces() -> None:
    """As one loop, s and r are before t; on axes, nothing orders r and t."""
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i,j<n }", "{ [k,l]: 0<=k,l<n }"],
        """
        a[i,j] = c[i,j]  {id=s,dep=*}
        b[k,l] = a[k,l] + d[k,l]  {id=t,dep=*s}
        d[i,j] = c[j,i]  {id=r,dep=*}
        """,
        loop_priority=["i, j", "k, l"],
    )
    assert names(knl) == ["tile", "wavefront", "tile"]
    assert applied(knl).tags.keys() >= {"k_outer", "k_inner"}


def _random(seed: int) -> Kernel:
    """Return a kernel of nests: parallel, in waves or neither, some with names of others' parts."""
    choose = random.Random(seed)
    scalar = pg.TemporaryVariable("t", address_space=pg.AddressSpace.PRIVATE)
    texts = (
        *(SMOOTHED, COPIED),
        *("c[i#] = c[i#-1] + a[i#,j#] {id=s#}", "b[j#,i#] = b[i#,j#] {id=s#}"),
        *("t = a[i#,j#] {id=s#,inames=i#:j#}", "b[i#,j#] = t {id=s#,inames=i#:j#}"),
    )
    knl = _several(
        *[choose.choice(texts) for _ in range(choose.randint(2, 5))], kernel_data=(scalar, "...")
    )
    if choose.random() < 0.3:
        knl = pg.rename_iname(knl, "i1", "i0_outer")
    if choose.random() < 0.3:
        knl = pg.tag_inames(knl, {"i0": "for"})
    return knl.copy(target=choose.choice(["c", "cuda"]))


def test_alone_or_not_the_same_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    for seed in range(12):
        with pg.without_proofs():
            knl = _random(seed)
        steps = pg.find_schedule(knl)
        with monkeypatch.context() as patch:
            patch.setattr(module, "single_nest", lambda *_: None)
            assert pg.find_schedule(knl) == steps
        pg.apply(knl, steps)  # each is proved
        found += steps
    assert len(found) > 10
