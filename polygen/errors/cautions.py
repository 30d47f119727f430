"""Warnings: what polygen does, and may not be what is wanted."""

from __future__ import annotations

from polygen.errors.families import PolygenWarning


class AmbiguousNesting(PolygenWarning):
    """Several loops could stand outside: one was picked, always the same."""


class ComputedAnew(PolygenWarning):
    """A reduction that would be a scan, were it not for a hardware axis, or for loops inside."""


class SeparationIgnored(PolygenWarning):
    """A condition by which code is to be separated, and cannot be as the kernel is now."""


class NotVectorized(PolygenWarning):
    """An instruction in lanes tagged ``vec`` that is executed for one after the other."""


class NotParallel(PolygenWarning):
    """Work on a GPU that one work item does alone: no loop around it is on an axis of the grid."""


class PriorityIgnored(PolygenWarning):
    """A loop priority that contradicts what the kernel's structure requires."""


class UnusedIname(PolygenWarning):
    """An iname that no instruction is in: what was meant to be repeated runs once."""


class UnusedGroup(PolygenWarning):
    """A group of instructions that no instruction conflicts with: it orders nothing."""


class NotValidated(PolygenWarning):
    """A loop program that was not compared with its kernel: that takes too much work."""


class NotOptimized(PolygenWarning):
    """A reduction, or a nest beside it, that is left as it is, and why.

    `optimize_reductions` and `order_sums` warn of it.
    """


class SeveralLaunches(PolygenWarning):
    """Reductions that were to be in one launch, and stay in several: one waits for all groups."""


class TakenOnTrust(PolygenWarning):
    """A step that is not proved, since data decides: you vouch for it (option ``trust_data``)."""


class ChangedMeaning(PolygenWarning):
    """A step of a script written for Loo.py that changes what a kernel computes."""
