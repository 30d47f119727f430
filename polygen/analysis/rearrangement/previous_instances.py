"""The instances of the kernel before a step that instances of the kernel after it are.

A step that gives an old name other values, as ``reverse`` does, makes instances of which nobody
knows which they are: `s[i=2]` is another one in each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Before:
    """Tells which instances they were.

    Attributes:
        old: the kernel before a step.
        new: the kernel after it.
        instances: which old instance each new one computes.
    """

    old: Kernel
    new: Kernel
    instances: InstanceMap

    def is_ambiguous(self, insn_id: str) -> bool:
        """Tell whether a name of an iname of an instruction has other values than before."""
        if insn_id not in self.old.instructions_by_id:
            return False
        insn = self.new.instruction(insn_id)
        around = insn.within_inames | insn.reduction_inames
        return self.instances.moves(insn_id, around)

    def values(self, insn_id: str, point: Mapping[str, int]) -> dict[str, int] | None:
        """Return the values of the inames of an old instance; None if they are not affine.

        Parameters:
            insn_id: an instruction of both kernels.
            point: values of the inames of the new instance, and of the parameters.
        """
        insn = self.old.instruction(insn_id)
        around = insn.within_inames | insn.reduction_inames
        found: dict[str, int] = {}
        for iname in self.old.inames:
            form = linear_form(self.instances.value(insn_id, iname)) if iname in around else None
            if form is not None and form.names() <= point.keys():
                found[iname] = form.evaluate(point)
        return found if insn.within_inames <= found.keys() else None
