"""Global temporaries that are as large as the sizes of a call say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e
from polygen.runtime.arrays import global_temporaries as temporaries
from polygen.runtime.backends.opencl import opencl_run
from polygen.runtime.backends.opencl.opencl_run import new_buffer
from tests.few import few
from tests.oracle.compare import assert_same, make_arguments

GLOBAL = pg.AddressSpace.GLOBAL
SIZES = [(0, 0), (1, 1), (0, 5), (5, 0), (7, 3), (17, 33)]


def temporary(name: str, shape: Any, dtype: Any = None, **more: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, dtype, shape, GLOBAL, **more)


def flipped(**layout: Any) -> pg.Kernel:
    """Return a kernel that needs what it wrote first in another order."""
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<=m }", "{ [p, q]: 0<=p<n and 0<=q<m }"],
        """
        t[i, j] = a[i, j]*a[i, j]  {id=write}
        out[q, p] = t[n-1-p, q+1] - t[p, q]  {id=read, dep=write}
        """,
        [temporary("t", ("n", "m+1"), **layout), pg.GlobalArg("a", np.float64, "n, m+1"), "..."],
        loop_priority=["i, j", "p, q"],
    )


def on_groups(knl: pg.Kernel) -> pg.Kernel:
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "p", 16, outer_tag="g.0", inner_tag="l.0")


@few(1, "layout", [{}, {"order": "F"}, {"dim_tags": "N1, N0(pad_to=8)"}])
def test_two_axes(target: str, layout: dict[str, Any]) -> None:
    plain = flipped(**layout)
    for knl in (plain, on_groups(plain)):
        assert pg.parse_kernel(str(knl)) == knl
        for n, m in SIZES:
            a = np.random.default_rng(n).normal(size=(n, m + 1))
            _, (out,) = knl.executor(target)(a=a)
            squares = a * a
            np.testing.assert_array_equal(out, (squares[::-1, 1:] - squares[:, :-1]).T)


@pytest.mark.parametrize("layout", [{}, {"order": "F"}, {"dim_tags": "N1, N0(pad_to=8)"}])
def test_means_the_same_lowered(layout: dict[str, Any]) -> None:
    knl = flipped(**layout)
    for n, m in [(0, 2), (1, 1), (3, 5)]:
        for each in (knl, on_groups(knl)):
            assert_same(each, make_arguments(each, {"n": n, "m": m}))


def test_guessed_shape(target: str) -> None:
    """The subscripts say how large it is."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        """
        t[2*i + 1] = a[i]  {id=write}
        out[j] = t[2*(n - 1 - j) + 1]  {dep=write}
        """,
        [temporary("t", ()), "..."],
    )
    assert "t: type: <runtime>, shape: (2*n), aspace: global" in str(knl)
    for n in (0, 1, 13):
        a = np.arange(n, dtype=np.int16)
        _, (out,) = knl.executor(target)(a=a, n=n)
        np.testing.assert_array_equal(out, a[::-1])


def test_is_rebuilt_by_its_script() -> None:
    knl = flipped()
    found: dict[str, Any] = {}
    exec(pg.kernel_to_python(knl), found)  # noqa: S102
    assert found["knl"] == knl


def test_source() -> None:
    """The memory is the last argument of each function."""
    knl = on_groups(flipped())
    c = str(pg.generate_code(knl, "c"))
    assert "    double *restrict t)" in c
    opencl = str(pg.generate_code(knl, "opencl"))
    assert "    int const n,\n    __global double *restrict t)" in opencl
    assert "    __global double *restrict out,\n    __global double const *restrict t)" in opencl


def test_vectors(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<4 }",
        """
        t[i, j] = a[i, j]  {id=write}
        out[j, i] = t[i, j]  {dep=write}
        """,
        [temporary("t", "n, 4", np.float32, dim_tags="N0, vec"), "..."],
        loop_priority="i, j",
    )
    knl = pg.tag_inames(knl, {"j": "unr"})
    for n in (0, 1, 5):
        a = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, a.T)


def copying(shape: str, **options: Any) -> pg.Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        t[i] = a[i]  {id=write}
        out[i] = t[i]  {dep=write}
        """,
        [temporary("t", shape, np.float64), "..."],
        **options,
    )


def test_each_call_has_its_own_memory(target: str) -> None:
    """Sizes may differ from call to call, both ways."""
    knl = copying("n").executor(target)
    for n in (3, 1000, 0, 5, 100_000, 3):
        a = np.arange(n, dtype=np.float64)
        _, (out,) = knl(a=a)
        np.testing.assert_array_equal(out, a)


def test_64_bits(capfd: pytest.CaptureFixture[str]) -> None:
    """Subscripts are as wide as the temporary needs, whatever the arguments need."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<2 }",
        """
        t[i, m-1] = a[i]  {id=write}
        out[i] = t[i, m-1]  {dep=write}
        """,
        [temporary("t", "2, m", np.int8), pg.GlobalArg("a", None, 2), "..."],
        assumptions="m>=1",
    )
    knl = pg.set_options(knl, write_code=True)
    a = np.array([3, 4], np.int8)
    _, (out,) = knl.executor("c")(a=a, m=9)
    np.testing.assert_array_equal(out, a)
    assert "int const m" in capfd.readouterr().out
    _, (out,) = knl.executor("c")(a=a, m=2**30 + 5)
    np.testing.assert_array_equal(out, a)
    assert "int64_t const m" in capfd.readouterr().out


def test_negative_size(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        t[i] = a[i]  {id=write, if=i<k}
        out[i] = t[i]  {dep=write, if=i<k}
        """,
        [temporary("t", "k"), pg.GlobalArg("a, out", np.float64, "n"), "..."],
    )
    with pytest.raises(e.NegativeSize, match=r"temporary 't' of .* the shape \(-1,\) = \(k\)"):
        knl.executor(target)(a=np.zeros(3), out=np.zeros(3), n=3, k=-1)


def test_size_is_not_known() -> None:
    with pytest.raises(e.MissingArgument, match="needs a value of 'k'"):
        copying("n + k", assumptions="k>=0")(a=np.zeros(3))


@pytest.mark.parametrize(("k", "why"), [(2**45, "which th"), (2**61, "which no machine has")])
def test_too_large(target: str, k: int, why: str) -> None:
    knl = copying("n + k", assumptions="k>=0")
    with pytest.raises(e.OutOfMemory, match=r"'t', of .* \(n \+ k\), needs \d+ bytes, " + why):
        knl.executor(target)(a=np.zeros(3), k=k)


def test_obligation() -> None:
    """A shape that is not affine leaves a question to the data, and the data answers it."""
    knl = copying("n*k")
    (found,) = pg.obligations(knl)
    assert found.what == "t[i] is inside of 't': 0 <= i < n*k"
    a = np.arange(3.0)
    _, (out,) = knl(a=a, k=2, check_assumptions=True)
    np.testing.assert_array_equal(out, a)
    with pytest.raises(e.ObligationViolated, match=r"'t' has the shape \(0,\)"):
        knl(a=a, k=0, check_assumptions=True)


# --- proofs and refusals


def test_out_of_bounds() -> None:
    with pytest.raises(e.OutOfBounds, match=r"for n=1, .* t\[1\], .* its shape is \(n\)"):
        pg.make_kernel(
            "{ [i]: 0<=i<n }",
            ["t[i+1] = a[i]  {id=write}", "out[i] = t[i+1]  {dep=write}"],
            [temporary("t", "n"), "..."],
        )


def test_read_before_written() -> None:
    with pytest.raises(e.UninitializedRead, match=r"reads t\[\d+\], which nothing has written"):
        pg.make_kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=n }"],
            ["t[i] = a[i]  {id=write}", "out[j] = t[j]  {dep=write}"],
            [temporary("t", "n+1"), "..."],
        )


def test_shared_by_groups_that_run_at_once() -> None:
    knl = pg.make_kernel(
        "{ [r, i]: 0<=r<m and 0<=i<n }",
        ["t[i] = a[r, i]  {id=write}", "out[r, i] = t[i]  {dep=write}"],
        [temporary("t", "n", np.float64), "..."],
        loop_priority="r, i",
    )
    assert pg.tag_inames(knl, {"i": "g.0"}).tags  # each group has an element
    with pytest.raises(e.IllegalStep, match="writes the element of 't'"):
        pg.tag_inames(knl, {"r": "g.0"})


@pytest.mark.parametrize("space", ["private", "local"])
def test_only_global(space: str) -> None:
    declared = pg.TemporaryVariable("t", np.float64, "n", pg.AddressSpace(space))
    with pytest.raises(e.MalformedKernel) as found:
        pg.make_kernel("{ [i]: 0<=i<n }", ["t[i] = a[i]", "out[i] = t[i]"], [declared, "..."])
    assert f"'t', (n), is not constant, and it is {space}: only a global" in str(found.value)
    assert "address_space=pg.AddressSpace.GLOBAL" in str(found.value)
    assert "fix_parameters(kernel, n=...)" in str(found.value)


def test_auto_is_global_until_it_is_settled() -> None:
    declared = pg.TemporaryVariable("t", np.float64, "n", pg.AddressSpace.AUTO)
    lines = ["t[i] = a[i]  {id=write}", "out[j] = t[n - 1 - j]  {dep=write}"]
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", lines, [declared, "..."])
    assert pg.address_spaces(knl)["t"] is GLOBAL
    assert pg.address_spaces(pg.fix_parameters(knl, n=4))["t"] is pg.AddressSpace.PRIVATE
    a = np.arange(5.0)
    np.testing.assert_array_equal(knl(a=a)[1][0], a[::-1])


def test_a_step_may_leave_room_to_the_next() -> None:
    declared = temporary("t", "n", np.float64)
    lines = ["t[i] = a[i]  {id=write}", "out[j] = t[n - 1 - j]  {dep=write}"]
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", lines, [declared, "..."])
    knl = pg.set_temporary_address_space(knl, "t", "local")
    with pytest.raises(e.MalformedKernel, match="is not constant, and it is local"):
        knl(a=np.arange(5.0))
    fixed = pg.tag_inames(pg.fix_parameters(knl, n=5), {"i": "l.0", "j": "l.0"})
    a = np.arange(5.0)
    np.testing.assert_array_equal(fixed(a=a)[1][0], a[::-1])


def test_strides_are_refused() -> None:
    with pytest.raises(e.MalformedLayout, match=r"of the shape \(n\) with the tag stride:2"):
        pg.make_kernel(
            "{ [i]: 0<=i<n }",
            ["t[i] = a[i]", "out[i] = t[i]"],
            [temporary("t", "n", strides="2"), "..."],
        )


def test_size_that_loops_decide() -> None:
    with pytest.raises(e.MalformedKernel, match="'t' mentions 'i', which is no scalar argument"):
        pg.make_kernel(
            "{ [i]: 0<=i<n }", ["t[i] = a[i]", "out[i] = t[i]"], [temporary("t", "i+1"), "..."]
        )


# --- with transformations and calls


def test_fix_parameters(target: str) -> None:
    knl = pg.fix_parameters(flipped(), m=4)
    assert "t: type: <runtime>, shape: (n, 5), aspace: global" in str(knl)
    a = np.random.default_rng(0).normal(size=(3, 5))
    _, (out,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(out, ((a * a)[::-1, 1:] - (a * a)[:, :-1]).T)


REVERSED = pg.make_function(
    ["{ [i]: 0<=i<k }", "{ [j]: 0<=j<k }"],
    ["s[i] = 2*x[i]  {id=write}", "y[j] = s[k-1-j]  {id=read, dep=write}"],
    [
        temporary("s", "k", np.float64),
        pg.GlobalArg("x", np.float64, "k"),
        pg.GlobalArg("y", np.float64, "k"),
        "...",
    ],
    name="reversed",
)


def calling(count: str) -> pg.TranslationUnit:
    """Return a program that has each row of an array reversed, up to some column."""
    knl = pg.make_kernel(
        "{ [r]: 0<=r<m }",
        f"[q]: out[r, q] = reversed([q]: a[r, q], {count})",
        [pg.GlobalArg(name, np.float64, "m, n") for name in ("a", "out")] + ["..."],
        assumptions="n>=1",
    )
    return pg.merge([knl, REVERSED])


def test_call(target: str) -> None:
    program = calling("n")
    with pytest.raises(e.FunctionNotPossible, match="its temporary 's' is global"):
        pg.generate_code(program, "c")
    knl = pg.inline_callable_kernel(program, "reversed")["polygen_kernel"]
    assert "reversed_s: type: float64, shape: (n), aspace: global" in str(knl)
    for shape in ((3, 7), (0, 1), (17, 16)):
        a = np.random.default_rng(0).normal(size=shape)
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, 2 * a[:, ::-1])


def test_call_with_a_size_that_is_not_known() -> None:
    """What a temporary of a kernel that is called needs has to be known before the call."""
    with pytest.raises(e.MalformedInstruction, match="the extent r, which is known only"):
        calling("r")


def test_few_programs_keep_memory(queue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the sizes of calls, the latest; where a device has no more, others give theirs back."""
    made: list[int] = []
    allocate = new_buffer

    def noted(queue: Any, temporary: Any, sizes: Any) -> Any:
        made.append(sizes["n"])
        if made == [1, 2, 3, 1]:
            raise e.OutOfMemory("there is no more")
        return allocate(queue, temporary, sizes)

    monkeypatch.setattr(opencl_run, "new_buffer", noted)
    monkeypatch.setattr(opencl_run, "_MOST_WITH_BUFFERS", 2)
    run = copying("n + k", assumptions="k>=0").executor(queue)
    for n in (1, 2, 2, 3, 2, 1, 1, 3):
        a = np.arange(float(n))
        np.testing.assert_array_equal(run(queue, a=a, k=1)[1][0], a)
    assert made == [1, 2, 3, 1, 1, 3]


def through_memory(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[int]]:
    """Return what runs in C and keeps its values in memory between, and the lengths of that."""
    made: list[int] = []
    allocate = vars(temporaries)["aligned"]

    def noted(count: int, *rest: Any) -> Any:
        made.append(count)
        return allocate(count, *rest)

    monkeypatch.setattr(temporaries, "aligned", noted)
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        ["t[i] = 2*a[i] {id=t}", "out[j] = t[n-1-j] {dep=t}"],
        [temporary("t", "n", np.float64), "..."],
    )
    return knl.executor("c"), made


def test_memory_is_kept_for_the_next_call_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    run, made = through_memory(monkeypatch)
    for n in (5, 5, 0, 5):
        a = np.arange(n) + 0.5
        np.testing.assert_array_equal(run(a=a)[1][0], 2 * a[::-1])
    assert made == [5, 0]
    for n in range(6, 22):  # as many as keep theirs
        run(a=np.ones(n))
    run(a=np.ones(5))
    assert made == [5, 0, *range(6, 22), 5]


def test_each_call_at_once_has_memory_of_its_own_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    run, made = through_memory(monkeypatch)

    def call(k: int) -> Any:
        return run(a=np.full(100_000, float(k)))[1][0]

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(call, range(40))):
            np.testing.assert_array_equal(found, np.full(100_000, 2.0 * k))
    assert len(made) < 40


def test_others_give_their_memory_back_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    run, made = through_memory(monkeypatch)
    a = np.ones(9)
    run(a=a)
    allocate, refused = vars(temporaries)["aligned"], [True]

    def once_refused(*args: Any) -> Any:
        if refused and refused.pop():
            raise MemoryError
        return allocate(*args)

    monkeypatch.setattr(temporaries, "aligned", once_refused)
    run(a=np.ones(11))
    run(a=a)
    assert made == [9, 11, 9]
