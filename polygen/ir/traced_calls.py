"""Calls that wait: whether calls are traced, and which ones wait.

What records calls stands far above kernels; a call asks here whether it has to ask there.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any

# Whether calls are traced, in this thread or task.
TRACING: ContextVar[bool] = ContextVar(
    "TRACING", default=os.environ.get("POLYGEN_LAZY", "0") not in ("", "0")
)
WAITING: list[Any] = []  # the calls that were made and did not run, of all threads
RUN_NOW = object()  # what is returned for a call that does not wait
