"""`privatize_temporaries_with_inames`: elements for each iteration of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    NotPrivatizable,
    NotTheSame,
    UnknownIname,
    UserError,
)
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_instruction
from tests.oracle.cases import Step, agree_in_arrays, kernel, prior, split, steps, tag

SIZES = tuple({"n": n} for n in (0, 1, 5))


def _lines(knl: Kernel) -> list[str]:
    return [show_instruction(insn, knl.inames) for insn in knl.instructions]


def _privatize(*args: Any, **kwargs: Any) -> Step:
    return lambda knl: pg.privatize_temporaries_with_inames(knl, *args, **kwargs)


# Loo.py's example: rows of several matrices times a vector
PRODUCTS = kernel(
    ("{ [m,i]: 0<=m<3 and 0<=i<n }", "{ [k]: 0<=k<n }"),
    """
    acc = 0                    {id=init, inames=m:i}
    acc = acc + a[m,i,k]*v[k]  {id=update, inames=m:i:k, dep=init}
    out[m,i] = acc             {id=out, dep=update}
    """,
    pg.TemporaryVariable("acc", np.float64),
    loop_priority="i, m",
)


def test_an_accumulator_for_each_iteration() -> None:
    new = pg.privatize_temporaries_with_inames(PRODUCTS, "m")
    assert _lines(new) == [
        "[m, i] acc[m] = 0  {id=init}",
        "[m, i, k] acc[m] = acc[m] + a[m, i, k]*v[k]  {id=update, dep=init}",
        "[m, i] out[m, i] = acc[m]  {id=out, dep=update}",
    ]
    assert new.temporaries == (pg.TemporaryVariable("acc", np.dtype("float64"), (3,)),)
    assert pg.replay(PRODUCTS, new.history) == new
    # now the loop over m may move into that over k, which was illegal
    apart = steps(
        lambda knl: pg.duplicate_inames(knl, "m", "init"),
        lambda knl: pg.duplicate_inames(knl, "m", "out"),
    )
    with pytest.raises(UserError):
        apart(PRODUCTS)
    agree_in_arrays(PRODUCTS, SIZES, _privatize("m"), steps(_privatize("m"), apart))


def test_a_histogram_for_each_iteration() -> None:
    """Which elements are touched is data, the same in each iteration before and after."""
    text = """
    h[p] = 0                          {id=z, inames=m:p}
    h[b[m, i]] = h[b[m, i]] + w[i]    {id=u, inames=m:i, dep=z}
    out[m, q] = h[q] + h[b[m, 0]]     {id=o, inames=m:q, dep=u}
    """
    data = [pg.TemporaryVariable("h", np.int32, 3), pg.GlobalArg("b", np.int32, "4, n")]
    data += [pg.GlobalArg("w", np.int32, "n"), pg.GlobalArg("out", np.int32, "4, 3")]
    loops = "{ [m, i, p, q]: 0<=m<4 and 0<=i<n and 0<=p,q<3 }"
    order = ("m, p", "m, i", "m, q")
    more: dict[str, Any] = {"loop_priority": order, "assumptions": "n >= 1"}
    knl = kernel(loops, text, *data, **more)
    new = pg.privatize_temporaries_with_inames(knl, "m")
    assert "h[b[m, i], m] = h[b[m, i], m] + w[i]" in str(new)
    assert pg.unprivatize_temporaries_with_inames(new, "m") == knl
    apart = pg.duplicate_inames(new, "m", within="id:z")
    for n in (1, 7, 8):
        b = np.random.default_rng(n).integers(0, 3, (4, n), dtype=np.int32)
        w = np.arange(1, n + 1, dtype=np.int32)
        h = np.array([np.bincount(row, w, 3) for row in b])
        for target, given in (("c", new), ("opencl", apart), ("c", apart)):
            _, (out,) = given.executor(target)(b=b, w=w)
            np.testing.assert_array_equal(out, h + h[np.arange(4), b[:, 0]][:, None])
    # one for all iterations: what is there at the start is that of the iteration before
    kept = kernel(loops, text.replace("id=z", "id=z, if=m<1"), *data, **more)
    with pytest.raises(NotTheSame, match="instead of"):
        pg.privatize_temporaries_with_inames(kept, "m")


def test_several_axes() -> None:
    knl = kernel("{ [i,j]: 0<=i<2 and 3<=j<6 }", "<> t = a[i,j]  {id=t}\nout[i,j] = t*t")
    new = pg.privatize_temporaries_with_inames(knl, "j, i")
    assert _lines(new) == [
        "[i, j] t[j - 3, i] = a[i, j]  {id=t}",
        "[i, j] out[i, j] = t[j - 3, i]*t[j - 3, i]  {id=insn, dep=t}",
    ]
    assert new.temporaries[0].shape == (3, 2)
    agree_in_arrays(knl, [{}], _privatize("j, i"), _privatize("i"), _privatize(["i", "j"]))


def test_an_iname_that_begins_elsewhere_each_time() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and i<=j<i+4 }", "<> t = a[i,j]  {id=t}\nout[i,j] = t + 1")
    new = pg.privatize_temporaries_with_inames(knl, "j")
    assert _lines(new)[0] == "[i, j] t[j - i] = a[i, j]  {id=t}"
    agree_in_arrays(knl, SIZES, _privatize("j"))


def test_the_inner_part_of_a_split() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> t = a[i]  {id=t}\nout[i] = t*t")
    step = steps(split("i", 4), _privatize("i_inner"), tag(i_inner="unr"))
    assert step(knl).temporaries[0].shape == (4,)
    agree_in_arrays(knl, SIZES, step)


def test_temporaries_with_axes_get_one_more() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<3 }", "{ [k]: 0<=k<4 }", "{ [l]: 0<=l<4 }"),
        "t[k] = a[i,k]  {id=t, inames=i:k}\nout[i,l] = t[3-l]  {dep=t}",
        pg.TemporaryVariable("t", shape=4),
    )
    new = pg.privatize_temporaries_with_inames(knl, "i")
    assert _lines(new)[0] == "[i, k] t[k, i] = a[i, k]  {id=t}"
    agree_in_arrays(knl, [{}], _privatize("i"))


def test_reads_in_a_reduction() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<3 }", "{ [k]: 0<=k<n }"),
        "<> t = 2*a[i]  {id=t}\nout[i] = sum(k, t*b[i,k])",
        loop_priority="i, k",
    )
    new = pg.privatize_temporaries_with_inames(knl, "i")
    assert _lines(new)[1].startswith("[i] out[i] = sum(k, t[i]*b[i, k])")
    agree_in_arrays(knl, SIZES, _privatize("i"))


def test_reads_in_rules() -> None:
    knl = kernel("{ [i]: 0<=i<3 }", "f(x) := t + x\n<> t = 2*a[i] {id=t}\nout[i] = f(i) + f(2)")
    new = pg.privatize_temporaries_with_inames(knl, "i")
    assert _lines(new)[1].startswith("[i] out[i] = (t[i] + i) + (t[i] + 2)")
    assert new.substitutions == ()
    agree_in_arrays(knl, [{}], _privatize("i"))


def test_only_some() -> None:
    knl = kernel("{ [i]: 0<=i<3 }", "<> t = a[i] {id=t}\n<> s = b[i] {id=s}\nout[i] = t + s")
    new = pg.privatize_temporaries_with_inames(knl, "i", only_var_names="s")
    assert _lines(new)[2].startswith("[i] out[i] = t + s[i]")
    both = pg.privatize_temporaries_with_inames(knl, "i", only_var_names=["s", "t"])
    assert both == pg.privatize_temporaries_with_inames(knl, "i")
    agree_in_arrays(knl, [{}], _privatize("i", only_var_names="s"))


def test_nothing_to_do() -> None:
    knl = kernel("{ [i]: 0<=i<3 }", "out[i] = 1")
    assert pg.privatize_temporaries_with_inames(knl, "i") is knl


@pytest.mark.parametrize(
    ("text", "arguments", "error", "message"),
    [
        ("<> t = a[i] {id=t}\nout[i] = t", ("q",), UnknownIname, "no iname 'q'"),
        ("<> t = a[i] {id=t}\nout[i] = t", ("i", "s"), InvalidArgument, "'s' is no temporary"),
        ("<> t = a[i] {id=t}\nout[i] = t", ("j", "t"), InvalidArgument, "written in a loop over j"),
        ("<> t = c[k] {id=t}\nout[k] = t", ("k",), NotPrivatizable, "no constant number of iter"),
        (
            "t = a[i] {id=t}\nout[j] = t  {inames=j, dep=t}",
            ("i",),
            NotPrivatizable,
            "'insn' uses 't', but not in the loop of 'i'",
        ),
        (
            "<int32> stop = ix[i] {id=s}\nout[i,l] = 1  {dep=s}",
            ("i",),
            NotPrivatizable,
            "'stop' is a bound in",
        ),
    ],
)
def test_refused(
    text: str, arguments: tuple[str, ...], error: type[UserError], message: str
) -> None:
    domains = ["{ [i]: 0<=i<3 }", "{ [j]: 0<=j<3 }", "{ [k]: 0<=k<n }"]
    data: list[Any] = [pg.TemporaryVariable("t")] if text.startswith("t =") else []
    if "stop" in text:
        domains.append("{ [l]: 0<=l<stop }")
        data.append(pg.GlobalArg("ix", np.int32))
        data.append(pg.GlobalArg("out", shape="3, 100"))
    with pg.without_proofs():
        knl = kernel(domains, text, *data)
    with pytest.raises(error, match=message):
        pg.privatize_temporaries_with_inames(knl, *arguments)


def test_what_iterations_pass_on_is_refused() -> None:
    knl = kernel(
        "{ [i]: 0<=i<4 }",
        "t = 0  {id=start}\nt = t + a[i]  {id=add, dep=start}\nout[i] = t  {id=out, dep=add}",
        pg.TemporaryVariable("t", np.float64),
    )
    with pytest.raises(NotPrivatizable, match="'start' uses 't', but not in the loop of 'i'"):
        pg.privatize_temporaries_with_inames(knl, "i")
    knl = kernel(
        "{ [i]: 0<=i<4 }",
        "t = t + a[i]  {id=add, if=i > 0}\nt = a[i] {id=start, if=i < 1, dep=*}\n"
        "out[i] = t  {id=out, dep=add:start}",
        pg.TemporaryVariable("t", np.float64),
    )
    with pytest.raises(UserError):
        pg.privatize_temporaries_with_inames(knl, "i")


def test_interchanged() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "<> t = a[i,j]  {id=t}\nout[i,j] = t*t")
    agree_in_arrays(
        knl, SIZES, steps(_privatize("j"), prior("j, i")), steps(_privatize("j"), prior("i, j"))
    )


# --- as many iterations as sizes say


def _rows(layout: str | None = None, length: int | str = "n") -> Kernel:
    """Return a kernel whose iterations of i overwrite a global row."""
    row = pg.TemporaryVariable(
        "row", np.float64, length, address_space=pg.AddressSpace.GLOBAL, dim_tags=layout
    )
    return kernel(
        "{ [i,j,k]: 0<=i<m and 0<=j,k<n }",
        """
        for i
            row[j] = 2*a[i,j]              {id=row}
            out[i,k] = row[k] + row[n-1-k] {id=out, dep=row}
        end
        """,
        row,
        pg.GlobalArg("a, out", np.float64, "m, n"),
        loop_priority=["i, j", "i, k"],
        assumptions=f"n <= {length}",
    )


def test_global_temporaries_have_as_many_elements_as_sizes_say() -> None:
    knl = _rows()
    new = pg.privatize_temporaries_with_inames(knl, "i")
    assert [str(t.shape) for t in new.temporaries] == [
        str((ex.Variable("n"), ex.Variable("m"))),
    ]
    assert "row[k, i] + row[n - 1 - k, i]" in str(new)
    assert pg.replay(knl, new.history) == new
    sizes = tuple({"n": n, "m": m} for n, m in ((0, 2), (1, 1), (4, 3), (3, 0)))
    agree_in_arrays(knl, sizes, _privatize("i"), steps(_privatize("i"), tag(i="g.0")))


def test_a_loop_that_begins_where_sizes_say() -> None:
    knl = kernel(
        ["{ [i]: 2<=i<m }", "{ [j,k]: 0<=j,k<n }"],
        "row[j] = a[i,j]  {id=row, inames=i:j}\nout[i,k] = row[k]  {id=out, dep=row, inames=i:k}",
        pg.TemporaryVariable("row", np.float64, "n", address_space=pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a, out", np.float64, "m, n"),
        loop_priority=["i, j", "i, k"],
    )
    new = pg.privatize_temporaries_with_inames(knl, "i")
    assert "row[j, i - 2]" in str(new)
    sizes = tuple({"n": 3, "m": m} for m in (0, 1, 2, 3, 6))
    agree_in_arrays(knl, sizes, _privatize("i"), steps(_privatize("i"), tag(i="g.0")))


def test_private_temporaries_have_constant_sizes() -> None:
    private = pg.set_temporary_address_space(pg.fix_parameters(_rows(), n=4), "row", "private")
    with pytest.raises(NotPrivatizable, match="no constant number of iterations") as error:
        pg.privatize_temporaries_with_inames(private, "i")
    assert "set_temporary_address_space" in str(error.value)


def test_strides_are_numbers() -> None:
    with pytest.raises(NotPrivatizable, match="would be no numbers") as error:
        pg.privatize_temporaries_with_inames(pg.fix_parameters(_rows("stride:1", 4), n=4), "i")
    assert "tag_array_axes" in str(error.value)
    levels = pg.privatize_temporaries_with_inames(_rows("N0"), "i")
    assert 'dim_tags: "N0, N1"' in str(levels)
