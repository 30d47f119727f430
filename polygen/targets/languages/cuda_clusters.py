"""CUDA C++ in which a work group is a cluster of blocks: work items along ``l.2`` are its blocks.

A cluster is launched at once, on multiprocessors that reach each other's shared memory.  So what
a group keeps in local memory is in the shared memory of the first block, where all find it, and a
barrier is that of the cluster.  Before any of that memory is touched there is one, for memory of a
block that has not begun must not be; it is reached at the beginning, and waited for as late as that
(`BlocksBegun`).  At the end there is another, at which the first block waits for the others:
a block's memory ends with it.  What work items of one block use alone is in its own memory
(`in_blocks`).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from polygen.errors import ClusterNotPossible
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import MemoryScope
from polygen.ir.target_facts import facts_of
from polygen.source import caller_location
from polygen.targets.languages.cuda import CUDA
from polygen.targets.languages.target import Target
from polygen.targets.texts.named_texts import Texts, texts_of

AXIS = 2  # along which work items are in blocks of their own
MOST_BLOCKS = 8  # of a cluster, on every device that has clusters

_TEXTS = texts_of("cuda_clusters.cu")


def _lines() -> dict[str, str]:
    return {**CUDA.type_lines, "always": _TEXTS["clusters"]}


_POOL = "extern __shared__ __attribute__((aligned(16))) unsigned char pg_own[];"
_BEGIN = "unsigned char *const pg_shared = pg_of_first(pg_own);"


def _head(local_size: tuple[int, ...], resident_groups: int) -> str:
    size = (*local_size, 1, 1, 1)
    items = prod(size[:AXIS])
    if size[AXIS] > MOST_BLOCKS or (size[AXIS] > 1 and items % facts_of(CUDA.name).sub_group_size):
        raise ClusterNotPossible(
            f"work groups of {' x '.join(map(str, local_size))} cannot be clusters: these have at "
            f"most {MOST_BLOCKS} blocks, along l.{AXIS}, of whole warps; here, {size[AXIS]} of "
            f"{items} work items",
            where=caller_location(),
            remedy="split the inames tagged l.* otherwise, or leave out the option 'clusters'",
        )
    head = CUDA.function_head(size[:AXIS], resident_groups)
    return head.replace("__launch", f"__cluster_dims__({size[AXIS]}, 1, 1) __launch")


def _index(letter: str, axis: int) -> str:
    assert CUDA.hardware_index is not None
    if (letter, axis) == ("g", 0):
        return "pg_cluster()"
    return "pg_block()" if (letter, axis) == ("l", AXIS) else CUDA.hardware_index(letter, axis)


def _barrier(_address_spaces: frozenset[AddressSpace]) -> str:
    return "pg_wait_for_cluster();"


assert CUDA.atomics is not None
assert CUDA.barrier is not None
CUDA_CLUSTERS: Target = replace(
    CUDA,
    type_lines=Texts(_lines),
    function_head=_head,
    blocks_along=AXIS,
    hardware_index=_index,
    barrier=_barrier,
    block_barrier=CUDA.barrier(frozenset()),
    shared_pool=_POOL,
    blocks_begin="pg_begin_cluster();",
    blocks_begun="pg_begun_cluster();",
    shared_begin=_BEGIN,
    store_in_blocks="pg_in_blocks<{0}>({1}, {2})",
    own_pool="pg_own",
    most_shared=0,
    shared_end="pg_leave_cluster();",
    # A group's scope is more than that of a block.
    atomics=replace(
        CUDA.atomics, scopes={**CUDA.atomics.scopes, MemoryScope.WORK_GROUP: {"scope": ""}}
    ),
    copies=None,  # to the memory of the block itself
    tensor_cores=None,  # blocks' own memory is looked for in assignments
)
