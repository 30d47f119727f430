"""`save_and_reload_temporaries`: what is private or local reaches another launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import (
    CannotProve,
    NotSavable,
    PrivateAcrossLaunches,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree_in_arrays, kernel, launches, lowered

LOCAL, GLOBAL = pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL
SIZES = (0, 1, 7, 16, 33)
_Numbers = NDArray[np.float64]


def array(name: str, shape: Any = "n") -> pg.GlobalArg:
    return pg.GlobalArg(name, "float64", shape)


def saved(knl: Kernel, expected: Callable[[_Numbers], _Numbers]) -> Kernel:
    """Return a kernel with its temporaries saved, which computes `out` of `a` as NumPy does."""
    for target in ("c", "opencl"):
        with pytest.raises(PrivateAcrossLaunches):
            pg.generate_code(knl, target)
    new = pg.save_and_reload_temporaries(knl)
    assert pg.save_and_reload_temporaries(new) is new
    assert pg.parse_kernel(str(new)) == new
    assert new.original is not None
    assert pg.replay(new.original, new.history) == new
    pg.check_well_formed(new)
    for n in SIZES:
        a = np.random.default_rng(n).random(n)
        for target in ("c", "opencl"):
            _, found = new.executor(target)(a=a, n=n)
            np.testing.assert_allclose(found[-1], expected(a), rtol=1e-13)
    return new


def saves(knl: Kernel) -> list[str]:
    return sorted(i.id for i in knl.instructions if i.id.startswith(("save", "reload")))


def halves(text: str = "", *data: Any) -> Kernel:
    """Return a kernel whose second instruction reads what other work items wrote."""
    text = text or "<> t = 2*a[i]  {id=t}\nb[i] = t  {id=b}\nout[i] = b[i//2] + t"
    return kernel("{ [i]: 0<=i<n }", text, array("a"), array("b"), array("out"), *data)


def twice(a: _Numbers) -> _Numbers:
    return 2 * a[np.arange(len(a)) // 2] + 2 * a


def test_one_value_for_each_group() -> None:
    new = saved(pg.tag_inames(halves(), {"i": "g.0"}), twice)
    assert saves(new) == ["reload_t", "save_t"]
    assert new.array("t_save").shape == new.array("a").shape
    agree_in_arrays(
        pg.tag_inames(halves(), {"i": "g.0"}),
        [{"n": n} for n in (0, 1, 5)],
        pg.save_and_reload_temporaries,
    )


@pytest.mark.parametrize("steps", ["", "t"])
def test_launches_end_at_calls_of_libraries(steps: str) -> None:
    """Also where a value from before a loop on the host is changed in it."""
    data = [*(array(x) for x in ("a", "b", "c", "out")), array("m", "n, n")]
    domains = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n }", "{ [t]: 0<=t<3 }"]
    text = """
        s = 2*a[0]                          {id=s}
        b[i] = s*a[i]                       {id=b, dep=s}
        c = library("gemv", m, b)           {id=c, dep=bOPTIONS}
        s = s + c[0]                        {id=u, dep=c:sOPTIONS}
        out[k] = c[k] + s                   {dep=c:u}
        """
    temporary = pg.TemporaryVariable("s", "float64")
    text = text.replace("OPTIONS", steps and f", inames={steps}")
    knl = kernel(domains[: 3 if steps else 2], text, *data, temporary, assumptions="n>=1")
    with pytest.raises(PrivateAcrossLaunches):
        pg.generate_code(knl, "c")
    new = pg.save_and_reload_temporaries(knl)
    assert {"reload_s", "save_s"} <= set(saves(new))
    assert pg.save_and_reload_temporaries(new) is new
    assert pg.parse_kernel(str(new)) == new
    for n in (1, 7):
        rng = np.random.default_rng(n)
        a, m = rng.random(n), rng.random((n, n))
        s = 2 * a[0]
        c = m @ (s * a)
        _, found = new.executor("c")(a=a, m=m, n=n)
        np.testing.assert_allclose(found[-1], c + s + (3 if steps else 1) * c[0], rtol=1e-13)


def test_what_a_call_of_a_library_needs() -> None:
    scalar = kernel(
        "{ [j]: 0<=j<n }",
        """
        <> s = sum(j, b[j])                   {id=s}
        c = library("gemv", m, b, alpha=s)    {dep=s}
        """,
        *[array(x) for x in ("b", "c")],
        array("m", "n, n"),
    )
    with pytest.raises(NotSavable, match="a call of a library, needs 's'") as caught:
        pg.save_and_reload_temporaries(scalar)
    assert "AddressSpace.AUTO" in str(caught.value.remedy)


def test_work_items_are_neighbours_in_memory() -> None:
    knl = pg.split_iname(halves(), "i", 16, outer_tag="g.0", inner_tag="l.0")
    new = saved(knl, twice)
    code = str(pg.generate_code(new, "opencl"))
    assert "t_save[16 * i_outer + i_inner] = t;" in code
    assert "double const t_1 = t_save[16 * i_outer + i_inner];" in code
    assert len(launches(lowered(new))) == 2


def test_arrays_that_change_from_launch_to_launch() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<3 }", "{ [l]: 0<=l<3 }", "{ [m]: 0<=m<3 }"],
        """
        t[k] = (k + 1)*a[i]        {id=t, inames=i:k}
        b[i] = t[0]                {id=b, dep=t}
        t[l] = t[l] + b[i//2]      {id=u, inames=i:l, dep=t:b}
        c[i] = t[1]                {id=c, dep=u}
        out[i] = sum(m, t[m]) + c[i//3]  {id=o, dep=u:c}
        """,
        *[array(x) for x in ("a", "b", "c", "out")],
        pg.TemporaryVariable("t", "float64", 3),
    )

    def expected(a: _Numbers) -> _Numbers:
        i = np.arange(len(a))
        t = np.outer(a, [1.0, 2.0, 3.0])
        t += t[i // 2, :1]
        return np.asarray(t.sum(axis=1) + t[i // 3, 1])

    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    new = saved(knl, expected)
    assert saves(new) == ["reload_t", "reload_t_0", "save_t", "save_t_0"]
    assert len(launches(lowered(new))) == 3


@pytest.mark.parametrize("length", [1, 8])
def test_a_loop_on_the_host(length: int) -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [s]: 0<=s<3 }"],
        """
        t = a[i]              {id=t, inames=i}
        b[0, i] = t           {id=b, inames=i, dep=t}
        t = t + b[s, i//2]    {id=u, inames=s:i, dep=t:b}
        b[s+1, i] = t         {id=c, inames=s:i, dep=u}
        out[i] = t + b[3, i//3]  {id=o, inames=i, dep=u:c}
        """,
        array("a"),
        array("out"),
        pg.TemporaryVariable("t", "float64"),
        pg.TemporaryVariable("b", "float64", "4, n", address_space=GLOBAL),
    )

    def expected(a: _Numbers) -> _Numbers:
        i, t = np.arange(len(a)), a
        for _ in range(3):
            t = t + t[i // 2]
        return np.asarray(t + t[i // 3])

    knl = pg.split_iname(knl, "i", length, outer_tag="g.0", inner_tag="l.0")
    new = saved(knl, expected)
    assert saves(new) == ["reload_t", "reload_t_0", "save_t", "save_t_0"]
    assert new.instruction("save_t_0").within_inames >= {"s"}


@pytest.mark.parametrize("count", [40, 100])
def test_what_a_group_shares(count: int) -> None:
    """A group loads and stores together, in steps of its length."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", f"{{ [i]: 0<=i<{count} }}", "{ [j]: 0<=j<40 }", "{ [k]: 0<=k<40 }"],
        f"""
        t[i] = (i + 1)*a[g]             {{id=t, inames=g:i}}
        b[g] = a[g]                     {{id=b, inames=g}}
        c[g, j] = t[{count - 1}-j] + b[g//2]    {{id=c, inames=g:j}}
        out[g, k] = t[k] + c[g//2, k]   {{id=o, dep=t:c}}
        """,
        *[array("a"), array("b"), array("c", "n, 40"), array("out", "n, 40")],
        pg.TemporaryVariable("t", "float64", count, address_space=LOCAL),
        loop_priority="g, i, j, k",
    )
    if count > 40:
        knl = pg.split_iname(knl, "i", 40, inner_tag="l.0")
    knl = pg.tag_inames(knl, {"g": "g.0", "j": "l.0", "k": "l.0"})
    if count == 40:
        knl = pg.tag_inames(knl, {"i": "l.0"})

    def expected(a: _Numbers) -> _Numbers:
        g = np.arange(len(a))
        t = np.outer(a, np.arange(count) + 1.0)
        c = t[:, ::-1][:, :40] + a[g // 2, None]
        return np.asarray(t[:, :40] + c[g // 2])

    new = saved(knl, expected)
    code = str(pg.generate_code(new, "opencl"))
    if count == 40:
        assert "t_save[40 * g + i] = t[i];" in code
        assert "t_1[j] = t_save[40 * g + j];" in code


def test_sums_that_work_items_share() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"),
        "<> t = a[i]*sum(j, a[j])  {id=t}\nb[i] = t  {id=b}\nout[i] = b[i//2] + t",
        *map(array, ("a", "b", "out")),
    )
    knl = pg.split_reduction_outward(pg.split_iname(knl, "j", 4), "j_inner")
    knl = pg.tag_inames(knl, {"j_inner": "l.0", "i": "g.0"})
    new = saved(knl, lambda a: a.sum() * (a[np.arange(len(a)) // 2] + a))
    assert saves(new) == ["reload_t", "save_t"]


def test_running_sums_that_work_items_share() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<n }", "{ [j,q]: 0<=j<=q<4 }"),
        "<> t = sum(j, (j + 1)*a[i])  {id=t, inames=i:q}\nb[i,q] = t  {id=b}\n"
        "out[i,q] = b[i//2,q] + t  {inames=i:q}",
        array("a"),
        *(array(name, "n, 4") for name in ("b", "out")),
    )
    knl = pg.tag_inames(knl, {"q": "l.0", "i": "g.0"})

    def sums(a: _Numbers) -> _Numbers:
        each: _Numbers = a[:, np.newaxis] * [1, 3, 6, 10]
        return each[np.arange(len(a)) // 2] + each

    assert saves(saved(knl, sums)) == ["reload_t", "save_t"]


def test_other_inames_on_the_axes() -> None:
    knl = pg.tag_inames(pg.shift(halves(), "i", 3), {"i": "g.0"})
    knl = pg.duplicate_inames(knl, "i", "insn", "p", tags={"i": "g.0"})
    new = saved(knl, twice)
    assert new.instruction("save_t").within_inames == {"i"}
    assert new.instruction("reload_t").within_inames == {"p"}
    assert "t_save[i - 3] = t" in str(new)
    assert "= t_save[p - 3]" in str(new)
    assert new.array("t_save").shape == new.array("a").shape


def test_partly_written_arrays() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 1<=k<3 }", "{ [m]: 1<=m<3 }"],
        """
        t[2*k] = k*a[i]      {id=t, inames=i:k}
        b[i] = t[4]          {id=b, dep=t}
        out[i] = sum(m, t[2*m]) + b[i//2]
        """,
        *[array(x) for x in ("a", "b", "out")],
        pg.TemporaryVariable("t", "float64", 7),
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    saved(knl, lambda a: 3 * a + 2 * a[np.arange(len(a)) // 2])


def test_elements_of_which_each_work_item_has_its_own() -> None:
    knl = pg.split_iname(halves(), "i", 5, outer_tag="g.0", inner_tag="l.0")
    knl = pg.privatize_temporaries_with_inames(pg.add_dtypes(knl, {"t": "float64"}), "i_inner")
    new = saved(knl, twice)
    assert "t_save[i_outer, t_dim_0, i_inner] = t[t_dim_0]" in str(new)


def test_several_temporaries_rules_and_conditions() -> None:
    knl = halves(
        """
        f(x) := s + x*t
        <float64> s = 3*a[i]   {id=s}
        <float64> t = 2*a[i]   {id=t}
        t = t + 1              {id=more, dep=t, if=i % 2 == 0}
        b[i] = f(1)            {id=b, dep=s:t:more}
        out[i] = b[i//2] + f(2)  {dep=s:t:more:b}
        """
    )
    knl = pg.tag_inames(knl, {"i": "g.0"})

    def expected(a: _Numbers) -> _Numbers:
        i = np.arange(len(a))
        t = 2 * a + (i % 2 == 0)
        return np.asarray((3 * a + t)[i // 2] + 3 * a + 2 * t)

    new = saved(knl, expected)
    assert saves(new) == ["reload_s", "reload_t", "save_s", "save_t"]


def test_a_name_that_is_used_again_is_no_value_that_is_kept() -> None:
    knl = halves(
        """
        t = 2*a[i]    {id=t}
        b[i] = t      {id=b, dep=t}
        t = a[i]      {id=again, dep=b}
        out[i] = b[i//2] + 2*t  {dep=b:again}
        """,
        pg.TemporaryVariable("t", "float64"),
    )
    knl = pg.tag_inames(knl, {"i": "g.0"})
    new = saved(knl, twice)
    assert saves(new) == []


def test_nothing_is_lost() -> None:
    for knl in (
        halves(),
        pg.tag_inames(halves("b[i] = 2*a[i]  {id=b}\nout[i] = b[i//2] + b[i]"), {"i": "g.0"}),
        pg.tag_inames(kernel("{ [i]: 0<=i<n }", "<> t = a[i]\nout[i] = t"), {"i": "g.0"}),
    ):
        assert pg.save_and_reload_temporaries(knl) is knl


def test_auto_is_global_where_that_will_do() -> None:
    auto = pg.AddressSpace.AUTO
    knl = kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]  {id=t}\nb[i] = t[i]  {id=b}\nout[j] = b[7-j] + t[j]",
        *[array(x, 8) for x in ("a", "b", "out")],
        pg.TemporaryVariable("t", "float64", 8, address_space=auto),
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    assert pg.save_and_reload_temporaries(knl) is knl
    knl = pg.tag_inames(halves(), {"i": "g.0"})
    knl = pg.set_temporary_address_space(knl, "t", "auto")  # which has an axis then
    assert pg.save_and_reload_temporaries(knl) is knl
    a = np.random.default_rng(2).normal(size=9)
    for target in ("c", "opencl"):
        _, (*_, found) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(found, twice(a), err_msg=target)


def test_programs() -> None:
    knl = pg.tag_inames(halves(), {"i": "g.0"})
    program = pg.save_and_reload_temporaries(pg.merge([knl]))
    assert program.default_entrypoint == pg.save_and_reload_temporaries(knl)


def test_barriers_that_are_there() -> None:
    knl = pg.tag_inames(halves(), {"i": "g.0"})
    knl = pg.add_barrier(knl, "b", "insn", synchronization_kind="global")
    new = saved(knl, twice)
    assert [i.id for i in new.instructions if isinstance(i, pg.Barrier)] == ["barrier"]


def test_refused() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<stop }"],
        """
        <int32> stop = last[i]         {id=stop}
        t[i] = stop                    {id=write, dep=stop}
        out[i] = t[i//2] + sum(j, 2)   {dep=write:stop}
        """,
        [pg.TemporaryVariable("t", shape=16, address_space=GLOBAL), "..."],
    )
    with pytest.raises(NotSavable, match=r"'stop' is a bound in .* for loops in several launches"):
        pg.save_and_reload_temporaries(pg.tag_inames(knl, {"i": "g.0"}))
    verbatim = halves(
        """
        t = 2*a[i]  {id=t}
        b[i] = t    {id=b, dep=t}
        ... code(i) "out[i] = b[i/2] + t;" reads(b, t) writes(out[i])  {inames=i, dep=t:b}
        """,
        pg.TemporaryVariable("t", "float64"),
    )
    with pg.without_proofs():
        verbatim = pg.tag_inames(verbatim, {"i": "g.0"})
    with pytest.raises(VerbatimNotPossible, match="touches 't'"):
        pg.save_and_reload_temporaries(verbatim)


def conditional(condition: str) -> Kernel:
    knl = halves(
        f"""
        t = 2*a[i]   {{id=t, if=a[i] > 0.5}}
        b[i] = a[i]  {{id=b, dep=t}}
        out[i] = b[i//2]       {{id=o, dep=b}}
        out[i] = b[i//2] + t   {{id=more, dep=t:b:o, if={condition}}}
        """,
        pg.TemporaryVariable("t", "float64"),
    )
    return pg.tag_inames(knl, {"i": "g.0"})


def test_a_condition_that_all_share() -> None:
    def expected(a: _Numbers) -> _Numbers:
        return np.asarray(a[np.arange(len(a)) // 2] + np.where(a > 0.5, 2 * a, 0))

    saved(conditional("a[i] > 0.5"), expected)


def test_what_was_not_written_by_all_is_refused() -> None:
    with pytest.raises(CannotProve, match="which elements are touched depends on data"):
        pg.save_and_reload_temporaries(conditional("a[i] > 0.5 and i > 3"))


def test_an_axis_that_a_reader_lacks() -> None:
    with pg.without_proofs():
        knl = kernel(
            ["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
            """
            t = 2*a[i, j]    {id=t, inames=i:j}
            b[i, j] = t      {id=b, inames=i:j, dep=t}
            out[i] = b[3-i, 0] + t  {id=o, inames=i, dep=b:t}
            """,
            *[array("a", "4, 4"), array("b", "4, 4"), array("out", "4")],
            pg.TemporaryVariable("t", "float64"),
        )
        knl = pg.tag_inames(knl, {"i": "g.0", "j": "l.0"})
        with pytest.raises(NotSavable, match=r"'o' uses 't', and is on no axis l\.0"):
            pg.save_and_reload_temporaries(knl)


def test_an_axis_that_begins_anywhere() -> None:
    with pg.without_proofs():
        knl = kernel(
            "{ [i]: 0<=i<n and m<=i }",
            "<> t = 2*a[i]  {id=t}\nb[i] = t  {id=b}\nout[i] = b[i//2] + t",
            *[array("a"), array("b"), array("out")],
        )
        knl = pg.tag_inames(knl, {"i": "g.0"})
        with pytest.raises(NotSavable, match="'i' does not begin at an affine function"):
            pg.save_and_reload_temporaries(knl)


def test_beside_a_sum_that_is_in_two_launches() -> None:
    """What a reduction results in is kept without this step, and its instruction is in both."""
    text = """
        <> s = sum(j, x[j])  {id=s, inames=t, dep=*}
        x[k] = x[k] - s      {id=n, inames=t:k, dep=*s}
        <> v = 2*x[i]        {id=v, inames=t:i, dep=*s:n}
        b[i] = v             {id=b, inames=t:i, dep=*v}
        x[i] = b[i//2] + v   {id=x, inames=t:i, dep=*b:v:s:n}
        """
    domains = ["{ [t]: 0<=t<2 }", *(f"{{ [{i}]: 0<={i}<n }}" for i in "jki")]
    nests = ["t, i", "t, j", "t, k"]
    knl = kernel(domains, text, array("x"), array("b"), loop_priority=nests)
    mapped = pg.tag_inames(knl, {"i": "g.0", "k": "g.0"})
    with pytest.raises(PrivateAcrossLaunches, match="'v' is private"):
        lowered(mapped)
    new = pg.save_and_reload_temporaries(mapped)
    assert saves(new) == ["reload_v", "save_v"]
    assert len(launches(lowered(new))) == 3
    agree_in_arrays(knl, [{"n": n} for n in (0, 1, 5)], lambda _: new)
