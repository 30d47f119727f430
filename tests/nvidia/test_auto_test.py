"""`auto_test_vs_ref` on a GPU, whose part the host's processor plays."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import AutomaticTestFailure
from tests.nvidia.host_driver import HostDriver


def test_kernels_are_compared_on_a_gpu(host: HostDriver) -> None:
    ref = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]"), {"a": "float32"})
    knl = pg.split_iname(ref, "i", 8, outer_tag="g.0", inner_tag="l.0")
    found = pg.auto_test_vs_ref(ref, knl, "cuda", {"n": 21})
    assert (found.bytes, found.operations) == (2 * 4 * 21, 21)
    assert not host.live  # all memory is given back
    other = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i]"), {"a": "float32"})
    with pytest.raises(AutomaticTestFailure, match=r"21 of 21 elements differ; \[0\] is"):
        pg.auto_test_vs_ref(other, knl, "cuda", {"n": 21})
