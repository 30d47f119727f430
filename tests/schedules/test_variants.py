"""`variants`: kernels for conditions on sizes, compared with the loops they stand for."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import AssumptionViolated, MissingArgument
from polygen.ir.kernel import Kernel
from polygen.schedules.variants import Variants

F64 = np.float64


def array(name: str, shape: str) -> pg.GlobalArg:
    return pg.GlobalArg(name, F64, shape=shape)


def shift(target: str = "c") -> Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "a[i + k + s] = a[i + s] + b[i]",
        [array("a", "m"), array("b", "n"), "..."],
        assumptions="0<=s and 0<=s+k and s+n<=m and s+k+n<=m",
        target=target,
    )


def check(
    found: Variants, plain: Callable[..., None], every: Iterable[Mapping[str, Any]]
) -> set[int]:
    """Compare calls with a loop in Python; return the numbers of the variants that were taken."""
    taken = set[int]()
    for arguments in every:
        expected, got = (
            {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in arguments.items()}
            for _ in range(2)
        )
        plain(**expected)
        found(**got)
        for name, value in expected.items():
            np.testing.assert_array_equal(got[name], value)
        sizes = {n: v for n, v in arguments.items() if isinstance(v, int)}
        shapes = {"n": len(arguments["b"]), "m": len(arguments["a"])}
        taken.add(found.index(found.among({**shapes, **sizes})))
    return taken


def test_a_shift_by_what_the_call_says() -> None:
    found = pg.variants(shift()).map(pg.optimize)
    assert str(found).splitlines() == [
        "if k + n <= 0 or n <= k or k == 0: i parallel",
        "if k + n >= 1 and k <= -1: i parallel, with the old values of a",
        "otherwise: as it is",
    ]

    def plain(a: Any, b: Any, k: int, s: int) -> None:
        for i in range(len(b)):
            a[i + k + s] = a[i + s] + b[i]

    rng = np.random.default_rng(0)
    every = [
        {"a": rng.random(40), "b": rng.random(n), "k": k, "s": 10}
        for n in (0, 1, 2, 7)
        for k in range(-9, 10)
    ]
    assert check(found, plain, every) == {0, 1, 2}


def test_the_pick_says_what_the_dependences_say() -> None:
    found = pg.variants(shift())
    for n in range(6):
        for k in range(-8, 9):
            number = found.index(found.pick(n=n, k=k, s=10, m=40))
            # Element i + k is written in iteration i, and i is read there.
            pairs = [(i, j) for i in range(n) for j in range(n) if i + k == j and i != j]
            later = any(i < j for i, j in pairs)
            assert number == (2 if later else 1 if pairs else 0) or n <= 1


def test_each_is_proved_parallel_and_the_last_is_not() -> None:
    kernels = [v.kernel for v in pg.variants(shift())]
    assert [pg.parallel_inames(k)["i"].parallel for k in kernels] == [True, True, False]
    assert kernels[-1] == shift()
    tagged = [pg.tag_inames(k, {"i": "g.0"}) for k in kernels[:2]]
    texts = [str(pg.generate_code(k, "c")) for k in tagged]
    assert all("#pragma omp parallel for" in text for text in texts)
    with pytest.raises(AssumptionViolated):
        kernels[0](a=np.zeros(9), b=np.zeros(4), k=1, s=0)


def test_a_time_loop_around_and_a_loop_inside() -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<2 and 0<=i<n and 0<=j<3 }",
        "for t, i, j\na[i, j] = a[i + k, j] + b[i]\nend",
        [array("a", "m, 3"), array("b", "n"), "..."],
        assumptions="n>=0 and n+k<=m and n<=m and 0<=k",
        loop_priority="t, i, j",
        target="c",
    )
    found = pg.variants(knl)
    # In each t and j, iteration i reads what i + k overwrites.
    assert str(found).splitlines() == [
        "if n <= k or k <= 0: i parallel",
        "if k >= 1 and k < n: i parallel, with the old values of a",
        "otherwise: as it is",
    ]

    def plain(a: Any, b: Any, k: int) -> None:
        for _ in range(2):
            for i in range(len(b)):
                for j in range(3):
                    a[i, j] = a[i + k, j] + b[i]

    rng = np.random.default_rng(1)
    every = [
        {"a": rng.random((20, 3)), "b": rng.random(n), "k": k} for n in (0, 1, 7) for k in range(9)
    ]
    assert check(found, plain, every) == {0, 1}


def test_two_loops_that_sizes_decide() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n }",
        "for i, j\na[i + p, j + q] = a[i, j] + b[i]\nend",
        [array("a", "m, m"), array("b", "n"), "..."],
        assumptions="0<=p and 0<=q and n+p<=m and n+q<=m and n>=0",
        loop_priority="i, j",
        target="c",
    )
    found = pg.variants(knl)
    # Iteration (i, j) writes what (i + p, j + q) reads: i carries it if p is not 0, else j does.
    assert str(found).splitlines() == [
        "if n <= q or n <= p or p == 0 and q <= 0: i, j parallel",
        "if p == 0 and q >= 1 and q < n: i parallel",
        "if p >= 1 and p < n and q < n: j parallel",
        "otherwise: as it is",
    ]

    def plain(a: Any, b: Any, p: int, q: int) -> None:
        for i in range(len(b)):
            for j in range(len(b)):
                a[i + p, j + q] = a[i, j] + b[i]

    rng = np.random.default_rng(2)
    every = [
        {"a": rng.random((14, 14)), "b": rng.random(n), "p": p, "q": q}
        for n in (0, 1, 4)
        for p in (0, 1, 4)
        for q in (0, 2, 4)
    ]
    assert check(found, plain, every) == {0, 1, 2}
    for v in found[:-1]:
        answers = pg.parallel_inames(v.kernel)
        assert all(answers[i].parallel for i in v.parallel)
    assert len(pg.variants(knl, most=1)) == 1


def test_a_kernel_that_sizes_do_not_decide_is_its_only_variant() -> None:
    for text in ("a[i] = b[i]", "a[i] = a[i-1]", "a[i] = a[i-2]"):
        knl = pg.make_kernel("{ [i]: 2<=i<n }", text)
        found = pg.variants(knl)
        assert [v.kernel for v in found] == [knl]
        assert found.pick() is found[0]
        assert str(found) == "otherwise: as it is"


def test_only_what_is_overwritten_later_is_read_from_the_copy() -> None:
    """The second statement reads what the first has just written: there, a copy would be wrong."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "for i\na[i] = a[i + k] + b[i]  {id=s}\nc[i] = a[i]  {id=u}\nend",
        [array("a", "m"), array("b", "n"), array("c", "n"), "..."],
        assumptions="n>=0 and n+k<=m and n<=m and 0<=k",
        seq_dependencies=True,
        target="c",
    )
    found = pg.variants(knl)
    assert found[1].copied == ("a",)
    shown = str(found[1].kernel)
    assert "[i] a[i] = a_fetch[i] + b[i]" in shown
    assert "[i] c[i] = a[i] " in shown

    def plain(a: Any, b: Any, c: Any, k: int) -> None:
        for i in range(len(b)):
            a[i] = a[i + k] + b[i]
            c[i] = a[i]

    rng = np.random.default_rng(3)
    every = [{"a": rng.random(20), "b": rng.random(6), "c": np.zeros(6), "k": k} for k in range(9)]
    assert check(found, plain, every) == {0, 1}


def test_a_copy_that_would_not_do() -> None:
    """One instruction reads what is overwritten later, and what was overwritten before."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "for i\na[i] = b[i]  {id=s}\nc[i] = a[i] + a[i + k]  {id=u}\nend",
        [array("a", "m"), array("b", "n"), array("c", "n"), "..."],
        assumptions="n>=0 and n+k<=m and n<=m and 0<=k",
        seq_dependencies=True,
    )
    assert [v.copied for v in pg.variants(knl)] == [(), ()]


def test_cuda_and_opencl_have_the_variants_too() -> None:
    for target in ("opencl", "cuda"):
        found = pg.variants(shift(target)).map(pg.optimize, sizes={"n": 10**6, "m": 10**7})
        launches = [str(pg.generate_code(v.kernel)) for v in found]
        index = "get_group_id" if target == "opencl" else "blockIdx"
        assert [index in text for text in launches] == [True, True, False]


def test_what_a_call_lacks_is_named() -> None:
    with pytest.raises(MissingArgument, match="'k'"):
        pg.variants(shift()).pick(n=3)


def test_the_pick_takes_microseconds() -> None:
    found = pg.variants(shift())
    sizes = {"n": 10, "k": 3, "s": 20, "m": 100}
    taken = min(timeit.repeat(lambda: found.among(sizes), number=1000, repeat=5))
    assert taken < 1000 * 20e-6
