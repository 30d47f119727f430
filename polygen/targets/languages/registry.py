"""The targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.ir.options import unknown_target
from polygen.targets.languages.c_openmp import C_OPENMP
from polygen.targets.languages.cuda import CUDA
from polygen.targets.languages.cuda_clusters import CUDA_CLUSTERS
from polygen.targets.languages.opencl import OPENCL
from polygen.targets.languages.target import Target

TARGETS: Mapping[str, Target] = {t.name: t for t in (OPENCL, CUDA, C_OPENMP)}
# The same for kernels with the option `clusters`, where that makes a difference.
IN_CLUSTERS: Mapping[str, Target] = {t.name: t for t in (CUDA_CLUSTERS,)}


def get_target(name: str, *, clusters: bool = False) -> Target:
    """Return the target that users call `name`.

    Parameters:
        name: its name.
        clusters: whether work groups are clusters of blocks, if it has any.

    Raises:
        UnknownTarget: if there is none.

    >>> get_target("opencl").type_names["int64"]
    'long'
    """
    target = TARGETS.get(name)
    if target is None:
        raise unknown_target(name)
    return IN_CLUSTERS.get(name, target) if clusters else target
