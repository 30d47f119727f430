"""Counts, with Loo.py's parameters: for programs of several entry points as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polygen as pg
from polygen.compat._ours import making


@making(pg.MemAccess)
def MemAccess(  # noqa: N802
    mtype: str | None = None,
    dtype: Any = None,
    lid_strides: Mapping[int, Any] | None = None,
    gid_strides: Mapping[int, Any] | None = None,
    direction: str | None = None,
    variable: str | None = None,
    *,
    variable_tags: Any = None,  # noqa: ARG001
    **others: Any,
) -> pg.MemAccess:
    """Return a kind of access; see `polygen.MemAccess`.

    Parameters are those; variables have no tags here, so nothing depends on ``variable_tags``.
    """
    return pg.MemAccess(mtype, dtype, lid_strides, gid_strides, direction, variable, **others)
