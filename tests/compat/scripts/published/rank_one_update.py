"""u v^T + A, the vectors fetched by work groups: prefetches of vectors, prefetches within tiles."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    "c[i, j] = c0[i, j] + a[i]*b[j]",
    [
        lp.GlobalArg("a,b", np.float32, shape="n"),
        lp.GlobalArg("c0,c", np.float32, shape="n,n"),
        lp.ValueArg("n", np.int32, approximately=1000),
    ],
    name="rank_one",
    assumptions="n >= 64 and n mod 64 = 0",
)
ref_knl = knl


def variant_plain(knl):
    """Tiles of work items without local memory."""
    knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(knl, "j", 16, outer_tag="g.1", inner_tag="l.1")


def variant_prefetch(knl):
    """Both vectors fetched by the group."""
    knl = variant_plain(knl)
    knl = lp.add_prefetch(
        knl,
        "a",
        ["i_inner"],
        default_tag="l.auto",
        fetch_outer_inames="i_outer,j_outer",
        temporary_address_space=lp.AddressSpace.LOCAL,
    )
    knl = lp.add_prefetch(
        knl,
        "b",
        ["j_inner"],
        default_tag="l.auto",
        fetch_outer_inames="i_outer,j_outer",
        temporary_address_space=lp.AddressSpace.LOCAL,
    )
    return lp.add_inames_for_unused_hw_axes(knl)


def variant_larger_tiles(knl):
    """Tiles of 64, each work item with several elements."""
    knl = lp.split_iname(knl, "i", 64, outer_tag="g.0")
    knl = lp.split_iname(knl, "j", 64, outer_tag="g.1")
    knl = lp.add_prefetch(
        knl,
        "a",
        ["i_inner"],
        default_tag="l.auto",
        fetch_outer_inames="i_outer,j_outer",
        temporary_address_space=lp.AddressSpace.LOCAL,
    )
    knl = lp.add_prefetch(
        knl,
        "b",
        ["j_inner"],
        default_tag="l.auto",
        fetch_outer_inames="i_outer,j_outer",
        temporary_address_space=lp.AddressSpace.LOCAL,
    )
    knl = lp.split_iname(knl, "i_inner", 16, inner_tag="l.0")
    knl = lp.split_iname(knl, "j_inner", 16, inner_tag="l.1")
    return lp.add_inames_for_unused_hw_axes(knl)


rng = np.random.default_rng(22)
n = 128
a, b = rng.random((2, n)).astype(np.float32)
c0 = rng.random((n, n)).astype(np.float32)
RESULTS, EXPECTED = {}, {}
for variant in (variant_plain, variant_prefetch, variant_larger_tiles):
    evt, (c,) = variant(ref_knl)(queue, a=a, b=b, c0=c0)
    RESULTS[variant.__name__] = c
    EXPECTED[variant.__name__] = c0 + np.outer(a, b)
