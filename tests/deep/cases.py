"""Kernels, with sizes, for the tools that watch generated code run.  All sizes are small."""

from __future__ import annotations

import polygen as pg

# Importing them puts their kernels into the table.
from tests.deep import plain_cases, shared_cases  # noqa: F401
from tests.deep.case_table import MAKERS, Case


def all_cases() -> list[Case]:
    """Return all cases."""
    found: list[Case] = []
    for name, (make, several) in MAKERS.items():
        with pg.without_proofs():  # what matters here is what the code does, not what it means
            made = make()
        kernel, given = made if isinstance(made, tuple) else (made, {})
        for sizes in several or ({},):
            shown = "_".join(f"{n}{int(v)}" for n, v in sizes.items())
            found.append(Case(f"{name}_{shown}" if shown else name, kernel, sizes, given))
    return found


def case(name: str) -> Case:
    """Return the case of a name."""
    return next(each for each in all_cases() if each.name == name)
