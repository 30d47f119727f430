"""What two kernels do not compute alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.instruction import Assigning, Assignment

# Reads all arrays after everything else.
END = Assignment("__end", ex.Variable("__end"), 0)


@dataclass(frozen=True)
class At:
    """An instance: an instruction, and where its inames are in the witness.

    Attributes:
        insn_id: the instruction; None stands for what was there before the kernel.
        names: for each iname, the name of its value in the witness.
    """

    insn_id: str | None
    names: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """Something that the new kernel does not compute as the old one does.

    Attributes:
        insn_id: the instruction that computes something else, or `END`'s.
        name: the variable whose value is another, if it is one.
        what: what is wrong, where it is not that a value comes from elsewhere.
        certain: whether this is so for certain; otherwise it cannot be decided.
        reader: the instance that sees another value.
        before: where the value came from.
        now: where it comes from after the step.
        point: the values of all names for which this is so.
    """

    insn_id: str
    name: str | None = None
    what: str = ""
    certain: bool = True
    reader: At | None = None
    before: At | None = None
    now: At | None = None
    point: Mapping[str, int] | None = None

    @property
    def is_work(self) -> bool:
        """Whether an expression is another, not only what its values come from."""
        return self.certain and self.reader is None


def undecided(insn: Assigning, name: str | None, what: str) -> Difference:
    """Return that nobody can tell whether an instruction computes the same."""
    return Difference(insn.id, name, what=what, certain=False)
