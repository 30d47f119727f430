"""`recompute_temporaries`: values are computed anew where they are read, in scalars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NotARule,
    NotRecomputable,
    UnknownArgument,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged, prove
from tests.oracle.cases import SIZES, agree, agree_in_arrays, kernel

GLOBAL = pg.AddressSpace.GLOBAL


def nest(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return nests one after the other, with temporaries `t` and `u`."""
    names = [name for name in ("t", "u") if f"{name}[" in text]
    own = [pg.TemporaryVariable(n, np.float64, "n+3", address_space=GLOBAL) for n in names]
    return kernel(domains, text, *own, *data, seq_dependencies=True, **options)


BLUR = nest(
    "{ [i,k,l]: 0<=i<n and 0<=k<n+2 and 0<=l<n+1 }",
    """
    t[k] = a[k] + a[k+1]                  {id=t}
    u[l] = t[l] - t[l+1]                  {id=u}
    out[i] = u[i]*u[i+1] + u[i] + t[i+1]  {id=out}
    """,
)
SCALAR = nest(
    "{ [i,k]: 0<=i<n and 0<=k<n+1 }",
    """
    for k
        <> d = a[k+1] - a[k]  {id=d}
        t[k] = if(d*a[k] > 0, d, 0)     {id=t}
    end
    for i
        out[i] = t[i+1] - t[i]  {id=out}
    end
    """,
)
IN_TIME = nest(
    "{ [s,i,k]: 0<=s<3 and 0<=i<n and 0<=k<n+1 }",
    """
    for s
        t[k] = a[s,k+1] - a[s,k] + s  {id=t}
        out[s,i] = t[i+1]*t[i]         {id=out}
    end
    """,
)


def expected(a: Any) -> Any:
    t = a[:-1] + a[1:]
    u = t[:-1] - t[1:]
    return u[:-1] * u[1:] + u[:-1] + t[1 : len(u)]


@pytest.mark.parametrize(
    ("names", "scalars"),
    [
        ("u", ["u_0", "u_1"]),
        ("t, u", ["t_0", "t_1", "u_0", "t_2", "u_1"]),  # of t: i, i+1 and i+2, each once
        (["u", "t"], ["t_0", "t_1", "u_0", "t_2", "u_1"]),
    ],
)
def test_each_element_is_computed_once(names: Any, scalars: list[str]) -> None:
    new = pg.recompute_temporaries(BLUR, names)
    made = [insn.id for insn in new.instructions if insn.id not in BLUR.instructions_by_id]
    assert made == scalars
    assert {t.name for t in new.temporaries if not t.shape} == {*scalars}
    for n in (1, 2, 7):
        a = np.random.default_rng(n).random(n + 3)
        _, (out,) = new.executor("c")(a=a, n=n)
        np.testing.assert_allclose(out, expected(a))
    agree_in_arrays(BLUR, SIZES[:3], lambda k: pg.recompute_temporaries(k, names))


def test_scalars_of_the_iteration_go_along() -> None:
    new = pg.recompute_temporaries(SCALAR, "t, d")
    assert [insn.id for insn in new.instructions] == ["d_0", "t_0", "d_1", "t_1", "out"]
    agree_in_arrays(SCALAR, SIZES[:3], lambda k: pg.recompute_temporaries(k, "t, d"))
    # Alone, it would need the scalar of another iteration.
    with pytest.raises(UserError) as caught:
        pg.recompute_temporaries(SCALAR, "t")
    assert isinstance(caught.value, IllegalStep | CannotProve)


def test_loops_around_both_stay() -> None:
    new = pg.recompute_temporaries(IN_TIME, "t")
    assert all(insn.within_inames == {"s", "i"} for insn in new.instructions)
    agree_in_arrays(IN_TIME, SIZES[:3], lambda k: pg.recompute_temporaries(k, "t"))


def test_a_condition_of_the_reader_is_one_of_its_scalars() -> None:
    knl = nest(
        "{ [i,k]: 0<=i<n and 0<=k<n }",
        "t[k] = 2*a[k] {id=t}\nif i < 2\nout[i] = t[i] + t[i]  {id=out}\nend",
        pg.GlobalArg("out", np.float64, shape="n"),
    )
    new = pg.recompute_temporaries(knl, "t")
    first, last = new.instructions
    assert first.predicates == last.predicates != ()
    agree_in_arrays(knl, SIZES[:3], lambda k: pg.recompute_temporaries(k, "t"))


def test_what_is_stored_is_rounded_still() -> None:
    knl = kernel(
        "{ [i,k]: 0<=i,k<n }",
        "t[k] = a[k]/3\nout[i] = t[i] + t[n-1-i]",
        pg.TemporaryVariable("t", np.float32, "n", address_space=GLOBAL),
        pg.GlobalArg("a, out", np.float64, shape="n"),
    )
    new = pg.recompute_temporaries(knl, "t")
    assert {t.dtype for t in new.temporaries} == {np.dtype(np.float32)}
    a = np.random.default_rng(1).random(9)
    t = (a / 3).astype(np.float32)
    _, (out,) = new.executor("c")(a=a)
    np.testing.assert_allclose(out, t + t[::-1], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_proof_asks_for_the_type_of_what_is_stored(dtype: type) -> None:
    knl = nest("{ [i,k]: 0<=i,k<n }", "t[k] = a[k]/3\nout[i] = t[i] + t[n-1-i]")
    new = pg.recompute_temporaries(knl, "t")
    scalars = tuple([replace(t, dtype=np.dtype(dtype)) for t in new.temporaries])
    if dtype is np.float64:
        assert new.copy(temporaries=scalars) == new
        return
    with pytest.raises(CannotProve):
        prove("other_type", knl, Rearranged(new.copy(temporaries=scalars)))


def test_rules_that_mention_it() -> None:
    knl = nest(
        "{ [i,k]: 0<=i<n and 0<=k<n+1 }",
        "near(x) := t[x] + t[x+1]\nt[k] = 2*a[k]  {id=t}\nout[i] = near(i)*2  {id=out}",
    )
    new = pg.recompute_temporaries(knl, "t")
    assert not new.substitutions
    assert [insn.id for insn in new.instructions] == ["t_0", "t_1", "out"]
    agree_in_arrays(knl, SIZES[:3], lambda k: pg.recompute_temporaries(k, "t"))


ONE = "{ [i,k]: 0<=i,k<n }"


@pytest.mark.parametrize(
    ("domains", "text", "names", "kind", "what"),
    [
        (ONE, "t[k] = a[k]\nt[i] = 0\nout[i] = t[i]", "t", NotARule, "more than one instruction"),
        (ONE, "if a[k] > 0\nt[k] = 1\nend\nout[i] = a[i]", "t", NotARule, "under a condition"),
        (ONE, "t[i] = sum(k, a[k])\nout[i] = t[i]", "t", NotARule, "it is a reduction"),
        (ONE, "t[n-1-k] = a[k]\nout[i] = t[i]", "t", NotARule, "not inames, each once"),
        (
            ONE,
            "t[k] = a[k] + if(k > 0, t[k-1], 0)\nout[i] = t[i]",
            "t",
            NotARule,
            "it is computed of itself",
        ),
        (ONE, "t[k] = a[k]\nout[i] = sum(k, t[k])", "t", NotRecomputable, "a reduction over 'k_0'"),
        (ONE, "t[k] = a[k]\nif t[i] > 0\nout[i] = 1\nend", "t", NotRecomputable, "its condition"),
        (
            ONE,
            "for k\n<> s = a[k]  {id=s}\nend\nout[i] = s + i  {inames=i}",
            "s",
            NotRecomputable,
            "not in the loop of 'k'",
        ),
        (ONE, "t[k] = a[k]\na[i] = t[n-1-i] + 1", "t", IllegalStep, "would change"),
        (ONE, "t[k] = a[k]\nout[i] = t[i]", "q", UnknownArgument, "'q'"),
        (ONE, "t[k] = a[k]\nout[i] = t[i]", "a", InvalidArgument, "temporaries"),
    ],
)
def test_refused(domains: str, text: str, names: str, kind: type[UserError], what: str) -> None:
    knl = nest(domains, text, pg.GlobalArg("a, out", np.float64, shape="n"), assumptions="n >= 2")
    with pytest.raises(kind) as caught:
        pg.recompute_temporaries(knl, names)
    assert what in str(caught.value)


def test_a_bound_is_read_where_it_is() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        "<> m = c[i]  {id=m}\nout[i,j] = 1  {inames=i:j, dep=m}",
        pg.GlobalArg("c", np.int32, shape="n"),
        pg.GlobalArg("out", np.float64, shape="n, 9"),
    )
    with pytest.raises(NotRecomputable, match="'m' is a bound"):
        pg.recompute_temporaries(knl, "m")


def test_two_outputs_have_scalars_of_their_own() -> None:
    knl = nest(
        "{ [i,k]: 0<=i<n and 0<=k<n+1 }",
        "t[k] = 2*a[k]  {id=t}\nfor i\nout[i] = t[i]  {id=o}\nmore[i] = t[i+1] + t[i]  {id=p}\nend",
    )
    new = pg.recompute_temporaries(knl, "t")
    assert [insn.id for insn in new.instructions] == ["t_0", "o", "t_1", "t_2", "p"]
    agree(pg.remove_unused_inames(new), SIZES[:3], lambda k: pg.reverse(k, "i"))
    agree_in_arrays(knl, SIZES[:3], lambda k: pg.recompute_temporaries(k, "t"))
