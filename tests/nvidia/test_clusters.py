"""Work groups that are clusters of blocks: what is printed compiles; tests/gpu runs it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ClusterNotPossible, DeviceLacks
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.expression_values import value_of
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
    # What the work items of a block exchange is in its own memory, and they alone wait for it.
    assert "float *acc_j_0 = (float *) pg_own;" in body
    assert body.count("__syncthreads") == 1
    # What all blocks read is stored in the memory of each, when all have begun, ahead of a barrier.
    ends = [body.index(f"pg_{what}_cluster();") for what in ("begin", "begun", "wait_for")]
    assert ends == sorted(ends)
    assert body.index("__syncthreads") < ends[1] < body.index("pg_in_blocks<4>(&acc_r[r]") < ends[2]
    assert "pg_shared" not in body
    # It ends with no store that another block's memory would have to outlast.
    assert body.rindex("pg_in_blocks") < body.rindex("pg_wait_for_cluster")
    (launch,) = code.launches
    assert launch.local_size == (64, 1, 1)
    assert value_of(launch.group_counts[0], {"n": 3}) == 12


def test_what_is_updated_is_in_the_first_block() -> None:
    """Of what blocks update atomically, there is one: it has to be there until all are done."""
    knl = kernel(
        "{ [g,b,i,j,k]: 0<=g<n and 0<=b<2 and 0<=i,j,k<64 }",
        """
        c[j] = 0              {id=clear, inames=g:j}
        c[data[g,b,i]] += 1   {id=count, dep=clear, atomic}
        out[g,k] = c[k]       {dep=count}
        """,
        pg.TemporaryVariable("c", "int32", (64,), pg.AddressSpace.LOCAL),
        pg.GlobalArg("data", "int32", "n, 2, 64"),
        pg.GlobalArg("out", "int32", "n, 64"),
    )
    knl = pg.tag_inames(knl, "g: g.0, b: l.2, i: l.0, j: l.0, k: l.0")
    source = pg.generate_code(pg.set_options(knl, clusters=True), "cuda").source
    body = source[source.index('extern "C"') :]
    assert "int *c = (int *) pg_shared;" in body
    assert body.count("pg_wait_for_cluster") == 2
    assert "__syncthreads" not in body
    assert body.endswith("    pg_leave_cluster();\n}\n")
    assert compile_for("sm_90", source)[0]


def test_barriers_in_a_loop() -> None:
    """Between what blocks read and what they write in the next iteration, all of them wait."""
    knl = kernel(
        "{ [i,t,r,j]: 0<=i<n and 0<=t<m and 0<=r<4 and 0<=j<64 }",
        "s[i,t] = sum(r, sum(j, a[i,t,r,j]))",
        pg.GlobalArg("a", "float32", "n, m, 4, 64"),
    )
    knl = pg.set_options(pg.tag_inames(knl, "i: g.0, r: l.2, j: l.0"), clusters=True)
    body = pg.generate_code(knl, "cuda").source.partition("for (int t")[2]
    lines = [
        r"acc_j_0\[j / 32\] =",
        r"pg_wait_for",
        r"pg_in_blocks<4>\(&acc_r\[r\]",
        r"pg_wait_for",
        r"= acc_r\[0\]",
    ]
    assert re.search(".*".join(lines), body, re.DOTALL)
    assert "__syncthreads" not in body


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
