"""The targets by name, with what is true of each before there is any code for it.

A language, a backend and more have tables of their own, in the layers above; each has a row for a
name that stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """Facts about a target that hold without its language.

    Attributes:
        title: what people call its language.
        has_grid: whether it has work items; else all loops are loops.
        sub_group_size: how many work items read each other's registers; 0 if devices differ.
        has_clusters: whether work groups can be clusters of blocks (the option ``clusters``).
        has_tensor_cores: whether sub-groups may multiply small matrices (the tag ``mma``).
    """

    title: str
    has_grid: bool = True
    sub_group_size: int = 0
    has_clusters: bool = False
    has_tensor_cores: bool = False


TARGET_FACTS: Mapping[str, TargetFacts] = {
    "opencl": TargetFacts("OpenCL C"),
    "cuda": TargetFacts("CUDA C++", sub_group_size=32, has_clusters=True, has_tensor_cores=True),
    "c": TargetFacts("C with OpenMP", has_grid=False),
}
_NOT_SAID = TargetFacts("", has_clusters=True)  # what may be, where no target is named


def facts_of(target: str | None) -> TargetFacts:
    """Return what is known of a target by its name; None if it is not known which it is."""
    return TARGET_FACTS.get(target or "", _NOT_SAID)
