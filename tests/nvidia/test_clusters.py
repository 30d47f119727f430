"""Work groups that are clusters of blocks: what is printed compiles; tests/gpu runs it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ClusterNotPossible, DeviceLacks
from polygen.ir.kernel import Kernel
from polygen.runtime.evaluate import value_of
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import compile_for
from tests.oracle.cases import kernel


def sums(blocks: int, items: int = 64) -> Kernel:
    """Return sums of rows, which several blocks share."""
    knl = kernel(
        f"{{ [i,r,j]: 0<=i<n and 0<=r<{blocks} and 0<=j<{items} }}",
        "s[i] = sum(r, sum(j, a[i,r,j]))",
        pg.GlobalArg("a", "float32", f"n, {blocks}, {items}"),
    )
    knl = pg.tag_inames(knl, "i: g.0, r: l.2, j: l.0")
    return pg.set_options(knl, clusters=True)


def test_text() -> None:
    code = pg.generate_code(sums(4), "cuda")
    body = code.source[code.source.index('extern "C"') :]
    assert "__cluster_dims__(4, 1, 1) __launch_bounds__(64)" in body
    assert "int const i = pg_cluster();" in body
    assert "int const r = pg_block();" in body
    assert "__syncthreads" not in body
    # A block's memory is there from the first barrier on, until after the last one.
    barrier = r"pg_wait_for_cluster\(\);"
    assert re.search(rf"pg_shared = pg_of_first\(pg_own\);\n    {barrier}", body)
    assert body.endswith("    pg_leave_cluster();\n}\n")
    (launch,) = code.launches
    assert launch.local_size == (64, 1, 1)
    assert value_of(launch.group_counts[0], {"n": 3}) == 12


def shared(blocks: int) -> Kernel:
    """Return a sum to which the groups of a cluster contribute, in one launch."""
    knl = kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])", pg.GlobalArg("a", "float32", "n"))
    return pg.parallelize_reduction(knl, "insn", blocks=blocks, threads=64, finish="cluster")


@pytest.mark.parametrize("knl", [sums(8, 256), shared(8)])
def test_it_compiles(knl: Kernel) -> None:
    size, log = compile_for("sm_90", pg.generate_code(knl, "cuda").source)
    assert size, log
    assert not log


def test_groups_that_share_a_reduction() -> None:
    code = pg.generate_code(shared(8), "cuda")
    assert "__cluster_dims__(8, 1, 1) __launch_bounds__(64)" in code.source
    assert "atomic" not in code.source
    (launch,) = code.launches
    assert value_of(launch.group_counts[0], {"n": 3}) == 8
    with pytest.raises(ClusterNotPossible, match="here, 9 of 64 work items"):
        pg.generate_code(shared(9), "cuda")


def test_other_targets_and_groups_of_one_block() -> None:
    assert "get_local_id(2)" in pg.generate_code(sums(4), "opencl").source
    plain = pg.set_options(sums(4), clusters=False)
    assert "threadIdx.z" in pg.generate_code(plain, "cuda").source


@pytest.mark.parametrize(("blocks", "items"), [(9, 32), (2, 48)])
def test_what_is_no_cluster_is_refused(blocks: int, items: int) -> None:
    with pytest.raises(ClusterNotPossible, match=f"here, {blocks} of {items} work items"):
        pg.generate_code(sums(blocks, items), "cuda")


def test_a_device_without_clusters(monkeypatch: pytest.MonkeyPatch, host: HostDriver) -> None:
    older = {"COMPUTE_CAPABILITY_MAJOR": 8, "COMPUTE_CAPABILITY_MINOR": 0}
    monkeypatch.setattr(host, "attribute", lambda name, device: older[name])
    with pytest.raises(DeviceLacks, match=r"sm_80.* has no clusters of blocks"):
        sums(4).executor("cuda")(a=np.zeros((3, 4, 64), np.float32))
