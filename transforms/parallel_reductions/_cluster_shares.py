"""Groups of a cluster that share a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.errors import ClusterNotPossible
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag
from polygen.ir.target_facts import facts_of
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import transformation

CLUSTER_TAG = LocalTag(2)  # along which work items are in blocks of their own


@transformation
def launched_in_clusters(kernel: Kernel) -> Kernel:
    """Let work items along ``l.2`` be blocks of a cluster: what is computed does not change."""
    return kernel.copy(options=replace(kernel.options, clusters=True))


def check_cluster(kernel: Kernel, ids: Sequence[str]) -> None:
    """Check that groups which share what instructions reduce may be a cluster.

    Raises:
        ClusterNotPossible: if not.
    """
    why = None
    if not facts_of(kernel.target).has_clusters:
        why = f"target '{kernel.target}' has none"
    tags = {kernel.tags.get(iname) for iname in kernel.instruction(ids[0]).within_inames}
    if CLUSTER_TAG in tags:
        why = f"{CLUSTER_TAG}, along which they would be, is taken"
    if why is not None:
        raise ClusterNotPossible(
            f"groups that share what '{ids[0]}' reduces cannot be a cluster: {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, ids[0]),
            remedy='finish in a second launch (finish="two_pass"), or with one group (blocks=1)',
        )
