"""Results that are right by the way they are made, and may leave open what was open before."""

from __future__ import annotations

from polygen.analysis.sound import is_sound, note_sound
from polygen.analysis.wellformed import check_well_formed
from polygen.errors import NestingDecides
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import check_made


def check_as_before(old: Kernel, new: Kernel) -> None:
    """Check that the result of a step is well formed, if the kernel before is.

    Steps may leave open how loops are nested, although that matters: then one nest is taken, in
    which the kernel is known to be sound.

    Parameters:
        old: the kernel before.
        new: the kernel after, which is sound in that nest if the old one is.

    Raises:
        IllFormedKernel: if it is not.
    """
    try:
        check_made(new)
    except NestingDecides:
        if not (is_sound(old.expanded) and _leaves_nests_open(old)):
            raise
        note_sound(new.expanded)


def _leaves_nests_open(kernel: Kernel) -> bool:
    try:
        check_well_formed(kernel)
    except NestingDecides:
        return True
    return False
