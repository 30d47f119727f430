"""`parallelize_reduction` on CUDA, on the host's processor: vectors, shuffles, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.nvidia.host_driver import HostDriver
from tests.oracle.cases import kernel
from tests.properties.together import run_together

pytestmark = pytest.mark.more  # CUDA on the processor of the host


def test_vectors_of_aligned_arrays(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """On CUDA: vectors where all begins where they do, shuffles, and tails of all lengths."""
    cases: list[tuple[Kernel, dict[str, Any]]] = []
    expected: list[Any] = []
    rng = np.random.default_rng(3)
    for name, step, alignment in (("a[p,r]", 1, 16), ("a[p,r]", 4, 16), ("a[r,p]", 1, None)):
        axes = "m, n" if name == "a[p,r]" else "n, m"
        data = pg.GlobalArg("a", "float32", axes, alignment=alignment)
        knl = kernel("{ [p,r]: 0<=p<m and 0<=r<n }", f"s[p] = sum(r, {name})  {{id=s}}", data)
        knl = pg.assume(knl, f"n mod {step} = 0")
        knl = pg.parallelize_reduction(knl, "s", blocks=2, threads=64, items=8, across=2)
        text = str(pg.generate_code(knl, "cuda"))
        assert ("pg_vector<float, 4>" in text) == (step == 4)
        for n in (step, 4 * 257) if step == 4 else (1001,):
            a = rng.integers(-9, 9, (3, n)).astype(np.float32)
            cases.append((knl, {"a": a if name == "a[p,r]" else np.ascontiguousarray(a.T)}))
            cases[-1][1]["s"] = np.zeros(3, np.float32)
            expected.append(a.sum(1))
    for found, wanted in zip(run_together(cases, "cuda", monkeypatch, ()), expected, strict=True):
        assert found is not None
        np.testing.assert_array_equal(found["s"], wanted)


SAME = """
    s[p] = sum(r, a[p,r])
    t[q] = product(k, b[q,k])
    """


def test_the_same_bits_on_all_targets(host: HostDriver) -> None:
    """Whatever shares the work: which number is combined with which, the kernel says."""
    knl = kernel("{ [p,r,q,k]: 0<=p,q<3 and 0<=r,k<5001 }", SAME)
    knl = pg.set_options(pg.add_dtypes(knl, {"a, b": "float32"}), sub_group_size=0)
    knl = pg.parallelize_reduction(knl, "insn", blocks=3, threads=64, items=4)
    knl = pg.parallelize_reduction(knl, "insn_0", threads=96, items=2)
    a = np.random.default_rng(8).normal(size=(3, 5001)).astype(np.float32)
    b = (1 + 0.001 * a).astype(np.float32)
    run = [knl.executor(target) for target in ("c", "cuda", "opencl")]
    found = [call(a=a, b=b)[1] for call in run for _ in range(2)]
    assert np.abs(found[0][0] - a.sum(1, dtype=np.float64)).max() < 1e-2
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one.view(np.uint32), same.view(np.uint32))
