"""`rename_argument`: an argument gets another name, wherever it is."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.errors import InvalidArgument, NameTaken, ReservedName, SizeMismatch, UnknownArgument
from polygen.ir.claims import Injective
from tests.oracle.cases import kernel
from tests.transforms.kernels.outer_sums import KNL, check, names
from tests.transforms.refusals import refused


def test_arrays_are_renamed() -> None:
    new = pg.rename_argument(pg.rename_argument(KNL, "a", "rows"), "out", "result")
    assert names(new) == [{"a": "rows", "out": "result"}.get(n, n) for n in names(KNL)]
    assert new.history[-1].name == "rename_argument"
    assert pg.rename_argument(pg.rename_argument(new, "rows", "a"), "result", "out") == KNL
    check(new, a="rows")


def test_sizes_are_renamed_wherever_they_are() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }",
        """
        twice(x) := n*a[x, n-1]
        out[i] = twice(i)      {id=first}
        out[i] = out[i] + j     {id=second, dep=first, if=j < n-1, inames=i:j}
        """,
        [pg.GlobalArg("a", "float64", "n, n", strides="1, n", offset="2*n"), "..."],
        assumptions="n >= 1",
        loop_priority="i, j",
    )
    new = pg.rename_argument(pg.index_set_split(knl, "i < n-2"), "n", "size")
    assert "n" not in {*new.names, *(p for d in new.domains for p in d.parameters)}
    assert "n " not in str(new).partition("ARGUMENTS")[2].replace("size", "").replace("assign", "")
    assert pg.rename_argument(new, "size", "n") == pg.index_set_split(knl, "i < n-2")
    assert new.assumptions.parameters == ("size",)
    assert pg.parse_kernel(str(new)) == new


def test_claims_and_relations_are_renamed() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "out[idx[i]] = 1  {id=x}\nb[i] = i  {id=y, dep=x[{ [i] -> [i'] : i'=i and i < n }]}",
        pg.GlobalArg("out", shape="n"),
    )
    new = pg.rename_argument(pg.assume_injective(knl, "idx"), "idx", "place")
    assert new.claims == (Injective("place"),)
    (relation,) = pg.rename_argument(knl, "n", "size").instruction("y").happens_after
    assert "n" not in relation.parameters


def test_two_sizes_become_one() -> None:
    new = pg.rename_argument(KNL, "m", "n", existing_ok=True)
    assert names(new) == [name for name in names(KNL) if name != "m"]
    assert all(d.parameters == ("n",) for d in new.domains)
    a, b = np.arange(4.0), np.ones(4)
    for target in ("c", "opencl"):
        _, (found,) = new.executor(target)(a=a, b=b)
        np.testing.assert_array_equal(found, 4 * a[:, None] + b)
    refused(SizeMismatch, "'?b'?", new.executor("c"), a=a, b=np.ones(3))
    typed = pg.add_dtypes(KNL, {"m": "int64"})
    assert str(pg.rename_argument(typed, "m", "n", True).variable("n").dtype) == "int64"


def test_a_bound_with_both_sizes() -> None:
    knl = kernel("{ [i]: 0<=i<n and i<2*m and i<3 }", "out[i] = 1", pg.GlobalArg("out", shape="n"))
    new = pg.rename_argument(knl, "m", "n", existing_ok=True)
    expected = kernel("{ [i]: 0<=i<n and i<3 }", "out[i] = 1", pg.GlobalArg("out", shape="n"))
    assert new.domains[0].set.is_equal(expected.domains[0].set)


def test_names_that_are_refused() -> None:
    rename = pg.rename_argument
    refused(UnknownArgument, "no argument 'aa'.*did you mean 'a'", rename, KNL, "aa", "c")
    refused(NameTaken, "already has a 'b'", rename, KNL, "a", "b")
    refused(NameTaken, "already has a 'i'", rename, KNL, "n", "i", existing_ok=True)
    refused(NameTaken, "only scalar arguments can become one", rename, KNL, "a", "b", True)
    refused(NameTaken, "only scalar arguments can become one", rename, KNL, "n", "a", True)
    typed = pg.add_dtypes(KNL, {"m": "int64", "n": "int32"})
    refused(NameTaken, "'m' is of type int64, 'n' of type int32", rename, typed, "m", "n", True)
    refused(ReservedName, "'for' has a meaning", rename, KNL, "a", "for")
    refused(
        InvalidArgument, "old_name=3, which is not the name of an argument", rename, KNL, 3, "c"
    )
    temporary = kernel("{ [i]: 0<=i<n }", "<> t = a[i]\nout[i] = t")
    refused(UnknownArgument, "no argument 't'", rename, temporary, "t", "u")
    rules = kernel("{ [i]: 0<=i<n }", "f(x) := n*x\nout[i] = f(a[i])")
    refused(NameTaken, "'x' is an argument of the rule 'f'", rename, rules, "n", "x")
    assert rename(KNL, "a", "a") is KNL


def test_names_in_verbatim_c() -> None:
    code = '... code(i) "b[i] = a[i];" reads(a) writes(b) {id=c, inames=i}'
    data = [pg.GlobalArg(name, "float64", "n") for name in ("a", "b")]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", code, [*data, "..."])
    for old in ("a", "b"):
        refused(InvalidArgument, f"instruction 'c' uses '{old}'", pg.rename_argument, knl, old, "d")


def test_the_smaller_of_two_bounds_is_left() -> None:
    out = pg.GlobalArg("out", shape="n")
    knl = kernel("{ [i]: 0<=i<n and 2*i<m }", "out[i] = 1", out)
    new = pg.rename_argument(knl, "m", "n", existing_ok=True)
    assert new.domains[0].set.is_equal(
        kernel("{ [i]: 0<=2*i<n }", "out[i] = 1", out).domains[0].set
    )
