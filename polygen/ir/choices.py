"""Decisions about instructions of a kernel, and why: notes for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A decision about how instructions are executed.

    Attributes:
        ids: the instructions, as they were called when it was made.
        what: what was to be done, as "threads along 'i'".
        why: the numbers that it rests on, or what forbids it.
        is_taken: whether it was done.
        seconds: how long a call of the kernel takes that has it; None if that was not measured.
    """

    ids: tuple[str, ...]
    what: str
    why: str
    is_taken: bool
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"
