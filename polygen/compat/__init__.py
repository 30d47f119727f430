"""Loo.py's names: ``import polygen.compat as lp`` in the place of ``import loopy as lp``.

All of polygen's names are here, and those of Loo.py's that differ: other names, other defaults,
other arguments.  ``names.table`` has a row for each of these.  What polygen does without, and where
scripts have to change, docs/porting.md says.
"""

from typing import Any

import polygen
from polygen.compat._modules import offer_modules
from polygen.compat._table import HERE, NOT_HERE
from polygen.compat.kernels import offer_attributes

__all__ = sorted(HERE)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]

offer_attributes()
offer_modules(__name__)


def __getattr__(name: str) -> Any:
    """Return what the table has, or polygen; say of what Loo.py alone has what to use instead."""
    if name in HERE:
        return globals().setdefault(name, HERE[name].find(name))
    if name in polygen.__all__:
        return getattr(polygen, name)
    hint = NOT_HERE.get(name, "" if name.startswith("_") else "see docs/porting.md")
    raise AttributeError(f"polygen.compat has no '{name}'" + (f": {hint}" if hint else ""))


def __dir__() -> list[str]:
    return sorted({*__all__, *polygen.__all__})
