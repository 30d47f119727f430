"""The reader itself: it finds faults that are planted in texts, and in what the host is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polygen as pg
from polygen.pipeline import generate_code
from polygen.targets.programs.program import Program
from tests.lower.test_tensor_products import small
from tests.read_back.compare import check
from tests.read_back.run import Differs


def _rows() -> pg.Kernel:
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i, j])", name="k")
    return pg.add_dtypes(knl, {"a": np.int32})


def _row_groups() -> pg.Kernel:
    return pg.split_iname(_rows(), "i", 16, outer_tag="g.0", inner_tag="l.0")


def _prefetched() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i] + a[i+1]", name="k")
    knl = pg.add_dtypes(knl, {"a": np.float32})
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.add_prefetch(knl, "a", "i_inner")


def _choice() -> pg.Kernel:
    text = """
    if x[i] > 1
        b[i] = 1
    else
        b[i] = 2*x[i] - x[i // 2]
    end
    """
    return pg.add_dtypes(
        pg.make_kernel("{ [i]: 0<=i<n }", text, name="k"), {"x": np.float32, "b": np.float32}
    )


def _histogram() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "bin[at[i]] = bin[at[i]] + 1 {atomic}",
        [pg.GlobalArg("bin", np.int32, shape=(5,)), pg.GlobalArg("at", np.int32, shape="n"), "..."],
        name="k",
    )
    return pg.tag_inames(knl, {"i": "g.0"})


def _old_values() -> pg.Kernel:
    text = """
    a[i] = fetch_add(h[at[i]], 1)                       {atomic=any_order}
    b[i] = exchange(h[at[i]], i)                        {atomic=any_order}
    c[i] = compare_exchange(h[at[i]], i, b[i])          {atomic=any_order}
    d[i], h[at[i]] = h[at[i]], 3*h[at[i]] + 1           {atomic=any_order}
    """
    data = [pg.GlobalArg("h", np.int32, shape=(5,)), pg.GlobalArg("at", np.int32, shape="n")]
    data.append(pg.GlobalArg("a, b, c, d", np.int32, shape="n"))
    with pg.without_proofs():
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."], name="k")
        return pg.tag_inames(knl, {"i": "g.0"})


def _largest() -> pg.Kernel:
    text = "<> s = max(i, x[i])\n h[0] = h[0] * s {atomic}"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, name="k")
    return pg.add_dtypes(knl, {"x": np.float64, "h": np.float64})


def _one_place() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "s[0] = s[0] + x[i]", name="k")
    return pg.add_dtypes(knl, {"x": np.float32, "s": np.float32})


def _own_sums() -> pg.Kernel:
    text = """
    t[0] = x[i] {id=first}
    t[0] = t[0] + y[j] {id=add, dep=first, inames=i:j}
    z[i] = t[0] {dep=add}
    """
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        text,
        [pg.TemporaryVariable("t", np.float32, shape=(1,)), "..."],
        name="k",
    )
    return pg.add_dtypes(knl, {"x": np.float32, "y": np.float32})


def _two_loops() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }", "b[i] = 2*x[i]\n c[j] = b[n - 1 - j] {dep=insn}", name="k"
    )
    knl = pg.add_dtypes(knl, {"x": np.float32})
    return pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})


def _vectors() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<4 }", "<> t = 2*x[i, j]\n b[i, j] = t - x[i, j]", name="k"
    )
    return pg.tag_inames(pg.add_dtypes(knl, {"x": np.float32}), {"j": "vec"})


def _two_vectors() -> pg.Kernel:
    """Of which one is written whole, and before the other, though it stands behind it."""
    text = "c[j, i], b[i, j] = 2*x[i, j], x[i, j] + 1 {inames=i:j}"
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<4 }", text, name="k")
    knl = pg.add_dtypes(knl, {"x": np.float32})
    return pg.tag_inames(knl, {"j": "vec"})


def _called_as_events_are() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "call[i] = 2*wait[i]\nverbatim[i] = call[i]", name="k")
    return pg.tag_inames(pg.add_dtypes(knl, {"wait": np.float32}), {"i": "g.0"})


def _unrolled() -> pg.Kernel:
    return pg.tag_inames(_rows(), {"i": "for", "j": "unr"}, force=True)


def _on_cores() -> pg.Kernel:
    return small("float64", 8).copy(name="k")


def _halves_on_cores() -> pg.Kernel:
    return small("float16", 16, right="bn[k,q,t,v]").copy(name="k")


@cache
def _made(make: Callable[[], pg.Kernel], target: str) -> Program:
    return generate_code(make(), target)


# What is made, for which target, and what is changed to what.
_FAULTS: list[tuple[Callable[[], pg.Kernel], str, str, str]] = [
    # loops
    (_rows, "c", "j < m", "j <= m"),
    (_rows, "c", "int j = 0", "int j = 1"),
    (_rows, "c", "++i", "i += 2"),
    (_rows, "c", "acc_j = 0", "acc_j = 1"),
    (_rows, "c", "for (int i = 0; i < n; ++i) {", "for (int i = 0; i < n; ++i) { (void) a; if (i)"),
    (_rows, "c", "i * m + j", "i * m + i"),
    (_rows, "c", "acc_j += ", "acc_j = "),
    (_rows, "c", "    for", "    #pragma omp parallel for\n    for"),
    # arguments
    (_rows, "c", "int const m, int const n", "int const n, int const m"),
    (_rows, "c", "int const *restrict a", "float const *restrict a"),
    (_rows, "c", "int64_t acc_j", "float acc_j"),
    # guards
    (_row_groups, "c", "n - 16 * i_outer)", "n + 1 - 16 * i_outer)"),
    (_row_groups, "c", "pg_min_i32(16, n - 16 * i_outer)", "16"),
    (_choice, "c", "x[i] > 1.0f", "x[i] < 1.0f"),
    (_choice, "c", "else\n", "if (x[i] > 1.0f)\n"),
    (_choice, "c", "i / 2", "i % 2"),
    # threads
    (_row_groups, "c", "simd reduction(+:acc_j)", "simd"),
    (_row_groups, "c", "reduction(+:", "reduction(*:"),
    (_row_groups, "c", "parallel for if", "parallel for collapse(2) if"),
    (_row_groups, "c", "acc_j += ", "acc_j += acc_j * "),
    (_row_groups, "c", "out[16 * i_outer + i_inner]", "out[i_inner]"),
    (_one_place, "c", "    for", "    #pragma omp simd\n    for"),
    (_own_sums, "c", "for (int j", "#pragma omp simd\n        for (int j"),
    (_two_loops, "c", "pg_wait_for_team(pg_team);\n        #", "#"),
    (_two_loops, "c", "omp for simd nowait", "omp for simd"),
    (_largest, "c", "pg_max_f64(s", "pg_min_f64(s"),
    # work items
    (_row_groups, "opencl", "size(16, 1, 1)", "size(1, 16, 1)"),
    (_row_groups, "cuda", "bounds__(16)", "bounds__(32)"),
    (_row_groups, "opencl", "get_group_id(0)", "get_local_id(0)"),
    (_row_groups, "cuda", "threadIdx.x", "threadIdx.y"),
    (_prefetched, "opencl", "barrier(CLK_LOCAL_MEM_FENCE);", ""),
    (_prefetched, "opencl", "CLK_LOCAL", "CLK_GLOBAL"),
    (_prefetched, "cuda", "__syncthreads();", ""),
    (_prefetched, "cuda", "i_inner <= 16", "i_inner < 16"),
    # atomic updates
    (_histogram, "opencl", "atomic_add(&bin[at[i]], 1)", "bin[at[i]] += 1"),
    (_histogram, "cuda", "atomicAdd(&bin[at[i]], 1)", "atomicSub(&bin[at[i]], 1)"),
    (_histogram, "c", "#pragma omp atomic\n", ""),
    (_largest, "opencl", "as_ulong(old", "as_ulong(1 + old"),
    # and what these return
    (_old_values, "c", "h[at[i]] += 1; }", "h[at[i]] -= 1; }"),
    (_old_values, "c", "#pragma omp atomic capture\n", ""),
    (_old_values, "c", "&next, &h_old_0", "&h_old_0, &next"),
    (_old_values, "c", "h_old_1 = i", "h_old_1 = b[i]"),
    (_old_values, "c", "3u * h_old_2", "2u * h_old_2"),
    (_old_values, "opencl", "a[i] = h_old;", "a[i] = h[at[i]];"),
    (_old_values, "opencl", "], i, b[i])", "], b[i], i)"),
    (_old_values, "opencl", "d[i] = h_old_2;", "d[i] = h_old_1;"),
    (_old_values, "cuda", "(i), (unsigned int) (b[i])", "(b[i]), (unsigned int) (i)"),
    (_old_values, "cuda", "b[i] = h_old_0;", ""),
    (_old_values, "cuda", "atomicAdd(", "atomicSub("),
    # vectors
    (_vectors, "c", "(x + 4 * i)", "(x + 4 * i + 1)"),
    (_vectors, "opencl", "vload4(0, x", "vload4(0, b"),
    (_called_as_events_are, "c", "2.0f * wait", "3.0f * wait"),
    (_two_vectors, "c", "c_lanes[1]", "c_lanes[2]"),
    (_two_vectors, "c", "(b + 4 * i) = ", "(b + 4 * i) = 1.0f + "),
    (_vectors, "cuda", "pg_vector<float, 4>>(b", "pg_vector<float, 2>>(b"),
    # tensor cores
    (_on_cores, "cuda", "l_a[16 * i + t]", "l_a[16 * i]"),
    (_on_cores, "cuda", "2 * (i / 2) + i]", "2 * (i / 2) + t]"),
    (_on_cores, "cuda", "&s[2 * q + 1], &s[2 * q + 4]", "&s[2 * q + 4], &s[2 * q + 1]"),
    (
        _on_cores,
        "cuda",
        "{l_a[16 * i + t], l_a[16 * i + t + 8]",
        "{l_a[16 * i + t + 8], l_a[16 * i + t]",
    ),
    (_halves_on_cores, "cuda", "pg_load_matrices<1>", "pg_load_matrices<0>"),
    (_halves_on_cores, "cuda", "64 * i + 16 * t", "64 * i"),
    (_halves_on_cores, "cuda", "l_a_parts[0], l_bn_parts[q]", "l_a_parts[0], l_bn_parts[0]"),
]


@pytest.mark.parametrize(("make", "target", "old", "new"), _FAULTS)
def test_faults(make: Callable[[], pg.Kernel], target: str, old: str, new: str) -> None:
    made = _made(make, target)
    assert check(made) == ""
    before, after = made.source[: made.source.index("k(")], made.source[made.source.index("k(") :]
    if old in after:
        source = before + after.replace(old, new, 1)
    else:
        assert old in before, made.source
        source = before.replace(old, new, 1) + after
    with pytest.raises(Differs):
        check(replace(made, source=source))
