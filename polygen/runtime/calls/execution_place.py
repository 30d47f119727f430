"""The place of execution: a target, a queue or a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """The place of execution of a call.

    Attributes:
        target: the name of the target, or None if the arguments of each call decide.
        context: the only context of OpenCL's, or None for any.
        queue: where to enqueue if a call does not say, or None.
    """

    target: str | None = None
    context: Any = None
    queue: Any = None
