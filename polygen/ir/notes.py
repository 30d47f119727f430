"""Notes on a kernel from when it was made, which looking at it alone could not find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

_Kernel = TypeVar("_Kernel")


@dataclass(slots=True)
class Notes(Generic[_Kernel]):
    """Notes on one kernel; what is copied from it, or pickled, has none.

    Attributes:
        sound: whether its accesses are known to be sound
        (`polygen.analysis.values.sound_accesses`). before: the kernel before the step that it came
        by, if that one was proved, or vouched for. parts_of_calls: the ids of the instructions
        that each call stands for, by the call's id;
            None until the calls are inlined.
        verified: whether its parts are known to fit together (`polygen.ir.verify`).
    """

    sound: bool = False
    verified: bool = False
    before: _Kernel | None = None
    parts_of_calls: Mapping[str, tuple[str, ...]] | None = None
