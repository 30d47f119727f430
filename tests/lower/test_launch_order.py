"""Launches end between nests, and not within one."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel


def interleaved() -> Kernel:
    """Return two chains whose instructions take turns: only one of them needs all groups."""
    knl = pg.make_kernel(
        "{ [i,j,m,k,l,p,q]: 0<=i,k,p<4 and 0<=j,m,l,q<8 }",
        """
        s[j] = a[i,j]    {id=first,inames=i:j}
        t[k,l] = 2*a[k,l]
        b[i,m] = s[7-m]  {inames=i:m,dep=first}
        c[p,q] = t[3-p,q]
        """,
        [
            pg.TemporaryVariable("s", np.float32, 8, pg.AddressSpace.LOCAL),
            pg.TemporaryVariable("t", np.float32, (4, 8), pg.AddressSpace.GLOBAL),
            pg.GlobalArg("a", np.float32, (4, 8)),
            "...",
        ],
        name="chains",
    )
    groups, items = dict.fromkeys("ikp", "g.0"), dict.fromkeys("jmlq", "l.0")
    return pg.tag_inames(knl, groups | items)


def test_a_chain_in_local_memory_stays_in_one_launch() -> None:
    source = str(pg.generate_code(interleaved(), "cuda").source)
    first, second = source.split("__global__")[1:]
    assert "__shared__ float s[8]" in first
    assert "s[" not in second.replace("blockIdx", "")
    a = np.random.default_rng(1).random((4, 8), np.float32)
    found = interleaved().executor("c")(a=a)[1]
    np.testing.assert_array_equal(found[0], a[:, ::-1])
    np.testing.assert_array_equal(found[1], 2 * a[::-1])
