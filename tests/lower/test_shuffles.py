"""Reductions of which sub-groups of work items do parts, by reading each other's registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MalformedText, SubGroupTooLarge
from polygen.ir.kernel import Kernel

ROWS = "{ [i,j]: 0<=i<n and 0<=j<64 }"


def rows(text: str = "b[i] = sum(j, a[i,j])", **options: Any) -> Kernel:
    """Return a kernel with a group of 64 work items for each row."""
    knl = pg.make_kernel(ROWS, text, **options)
    return pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "g.0", "j": "l.0"})


def code(knl: Kernel, target: str) -> str:
    return str(pg.generate_code(knl, target))


def test_the_text() -> None:
    text = code(rows(), "cuda")
    assert (
        """
    float acc_j = a[64 * i + j];
    float const acc_j_other = __shfl_down_sync(0xffffffffu, acc_j, 16);
    if (j % 32 < 16)
        acc_j += acc_j_other;
"""
        in text
    )
    assert text.count("__shfl_down_sync") == 5 + 1  # in warps of 32, and of the sums of two
    assert text.count("__syncthreads") == 1
    assert "__shared__ float acc_j_0[2]" in text
    assert text.count("__shared__") == 1


def test_the_option() -> None:
    knl = rows()
    for target in ("opencl", "c"):
        assert "sub_group" not in code(knl, target)
        assert code(knl, target) == code(pg.set_options(knl, sub_group_size=0), target)
    alone = pg.set_options(knl, sub_group_size=0)
    assert "__shfl" not in code(alone, "cuda")
    assert "sub_group_size: 0" in str(alone)
    assert pg.parse_kernel(str(alone)) == alone
    assert code(pg.set_options(knl, sub_group_size=32), "cuda") == code(knl, "cuda")
    assert code(pg.set_options(knl, sub_group_size=32), "c") == code(knl, "c")
    smaller = code(pg.set_options(knl, sub_group_size=8), "cuda")
    assert "acc_j, 4)" in smaller
    assert "acc_j, 8)" not in smaller
    assert pg.set_options(alone, sub_group_size=None) == knl


def test_sub_groups_of_opencl() -> None:
    text = code(pg.set_options(rows(), sub_group_size=64), "opencl")
    assert "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable" in text
    assert (
        "float const acc_j_other = sub_group_shuffle(acc_j, get_sub_group_local_id() + 32u);"
        in text
    )
    assert "barrier" not in text
    assert "__local" not in text


@pytest.mark.parametrize("value", [3, -1, 256, True, 2.0, "32"])
def test_values_that_it_has_not(value: object) -> None:
    with pytest.raises(InvalidArgument, match="is 0, a power of two up to 128, or None"):
        pg.set_options(rows(), sub_group_size=value)
    text = str(pg.set_options(rows(), sub_group_size=4)).replace("size: 4", f"size: {value!r}")
    with pytest.raises(MalformedText, match="'sub_group_size' does not have this value"):
        pg.parse_kernel(text)


def test_more_than_a_warp() -> None:
    with pytest.raises(SubGroupTooLarge, match="is 64, and with target 'cuda', 32 work items"):
        pg.generate_code(pg.set_options(rows(), sub_group_size=64), "cuda")


def test_what_all_use_is_in_local_memory() -> None:
    text = code(rows("<> t = sum(j, a[i,j])\nb[i] = t*t"), "cuda")
    assert text.count("__syncthreads") == 2
    assert "float const t = acc_j_2[0];" in text


def test_as_instructions() -> None:
    knl = pg.set_options(rows(), sub_group_size=32)
    new = pg.realize_reduction(knl)
    assert "acc_j: type: float32, shape: (64), aspace: local, shuffled" in str(new)
    assert pg.parse_kernel(str(new)) == new
    assert code(new, "cuda") == code(knl, "cuda")
    a = np.random.default_rng(1).integers(-9, 9, (3, 64)).astype(np.float32)
    in_memory = pg.set_options(new, sub_group_size=0)
    for target in ("c", "opencl"):
        assert np.array_equal(in_memory.executor(target)(a=a)[1][0], a.sum(1))
    of_cuda = rows(target="cuda")
    assert pg.parse_kernel(str(of_cuda)) == of_cuda
    assert code(pg.realize_reduction(of_cuda), "cuda") == code(knl, "cuda")


def test_barriers_are_counted_where_they_are() -> None:
    for target, count in ("cuda", 1), ("opencl", 6):
        found = str(pg.get_synchronization_map(rows(target=target)))
        assert f"Sync(barrier_local, polygen_kernel): {{ {count} }}" in found


def test_one_atomic_update_for_each_group() -> None:
    knl = pg.make_kernel(
        "{ [i,k,j]: 0<=i<n and 0<=k<8 and 0<=j<64 }",
        "s[0] = s[0] + sum((k,j), a[512*i + 64*k + j])  {atomic}",
        [pg.GlobalArg("s", "float32", 1), pg.GlobalArg("a", "float32", "512*n"), "..."],
    )
    text = code(pg.tag_inames(knl, {"i": "g.0", "j": "l.0"}), "cuda")
    assert text.count("atomicAdd(&s[0], acc_k_j_1);") == 1
    assert text.count("__shared__") == 1


def exchange(text: str, *, size: int = 64) -> str:
    """Return the code for a kernel whose work items read what others have written."""
    knl = pg.make_kernel(
        f"{{ [i,j,k]: 0<=i<n and 0<=j,k<{size} }}",
        f"t[j] = 2*a[i,j]  {{inames=i:j}}\n{text}",
        [
            pg.TemporaryVariable("t", np.float32, size, pg.AddressSpace.LOCAL, shuffled=True),
            pg.GlobalArg("a, b", np.float32, f"n, {size}"),
            "...",
        ],
        seq_dependencies=True,
    )
    return code(pg.tag_inames(knl, {"i": "g.0", "j": "l.0", "k": "l.0"}), "cuda")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b[i,k] = t[k] - t[k+1]  {if=k < 31}", "__shfl_down_sync(0xffffffffu, t, 1)"),
        ("b[i,k] = t[k-2]  {if=k % 32 >= 2}", "__shfl_up_sync(0xffffffffu, t, 2)"),
        ("b[i,k] = t[k] + 1", "b[64 * i + j] = t + 1.0f"),
    ],
)
def test_arrays_of_ones_own(text: str, expected: str) -> None:
    found = exchange(text)
    assert expected in found
    assert "__syncthreads" not in found


@pytest.mark.parametrize(
    "text",
    [
        "b[i,k] = t[k+1]  {if=k < 63}",  # from another warp
        "b[i,k] = t[63-k]",
        "b[i,k] = t[0]",
        "b[i,k] = a[i,k]  {if=t[k] > 0}",
        "t[k] = t[k] + 1  {atomic}\nb[i,k] = t[k]",
    ],
)
def test_arrays_that_stay_in_memory(text: str) -> None:
    found = exchange(text)
    assert "__shared__ float t[64]" in found
    assert "__shfl" not in found


def test_a_scan() -> None:
    knl = pg.make_kernel(
        ["{ [r,i]: 0<=r<m and 0<=i<100 }", "{ [j]: 0<=j<=i }"],
        "b[r,i] = sum(j, a[r,j])",
        [pg.GlobalArg("a", "float32", "m, 100"), "..."],
    )
    knl = pg.tag_inames(knl, {"r": "g.0", "i": "l.0"})
    text = code(knl, "cuda")
    assert text.count("__shfl_up_sync") == 5 + 2  # in warps of 32, and of the sums of three
    assert text.count("__syncthreads") == 2
    assert "__shfl" not in code(pg.set_options(knl, sub_group_size=0), "cuda")
    # Of more sub-groups than one has work items, there is no second step.
    assert "__shfl" not in code(pg.set_options(knl, sub_group_size=4), "cuda")
