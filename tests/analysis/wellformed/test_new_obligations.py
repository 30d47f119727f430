"""What has to hold of the data after a step, and did not have to before."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import NewObligation
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange
from tests.proof.patterns import array, scalar

# k and m have the values of p and q, each of them in some of the iterations.
CHOSEN = """k = p[i] {id=k0, dep=*, if=i<4}
k = q[i] {id=k1, dep=k0, if=i>=4}
m = q[i] {id=m0, dep=*, if=i<4}
m = p[i] {id=m1, dep=m0, if=i>=4}
d[i] = a[2*m] {id=d, dep=m0:m1}"""
DATA = (
    *(array("a", "l"), array("b", "n"), array("c", "n"), array("d", "n"), scalar("t")),
    *(array("p", "n", dtype="int32"), array("q", "n", dtype="int32")),
    *(pg.TemporaryVariable("k", "int32", ()), pg.TemporaryVariable("m", "int32", ())),
)


def test_a_subscript_that_several_instructions_wrote() -> None:
    """That 2*m is inside says nothing of 2*k, which is read where b[i] > 0 alone before."""
    domain = "{ [i]: 0<=i<n }"
    old = kernel(domain, f"{CHOSEN}\nc[i] = a[2*k] {{id=c, dep=k0:k1, if=b[i] > 0}}", *DATA)
    ahead = "t = a[2*k] {id=t, inames=i, dep=k0:k1}\nc[i] = t {id=c, dep=t, if=b[i] > 0}"
    new = kernel(domain, f"{CHOSEN}\n{ahead}", *DATA)
    with pytest.raises(NewObligation, match=r"touched only where b\[i\] > 0"):
        exchange(old, new)


def test_writes_in_no_order_stay_in_none() -> None:
    """That no two i have one idx[i] has to hold before, and after."""
    data = (array("a", "8"), array("b", "n"), array("idx", "n", dtype="int32"))
    direct = "a[idx[i]] = b[i] {id=w}"
    stored = "k = idx[i] {id=k, inames=i}\na[k] = b[i] {id=w, dep=k}"
    with pg.without_proofs():
        both = [
            pg.tag_inames(
                kernel("{ [i]: 0<=i<n }", text, *data, pg.TemporaryVariable("k", "int32", ())),
                {"i": "g.0"},
            )
            for text in (direct, stored)
        ]
    assert all(any(o.kind == "ordered" for o in pg.obligations(knl)) for knl in both)
    old, new = (knl.copy(arguments=both[0].arguments) for knl in both)
    for before, after in ((old, new), (new, old)):
        assert exchange(before, after).history
