"""Loo.py's modules: scripts import from them what `polygen.compat` has."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from polygen.compat._table import NOT_HERE

_MODULES = """
auto_test codegen isl_helpers kernel.array kernel.creation kernel.instruction kernel.tools
kernel.function_interface library library.function library.reduction schedule statistics
tools transform transform.add_barrier transform.arithmetic transform.batch transform.buffer
transform.callable transform.concatenate transform.data transform.diff transform.fusion
transform.iname transform.instruction transform.loop_fusion transform.padding transform.parameter
transform.precompute transform.privatize transform.realize_reduction transform.save transform.subst
translation_unit typing
"""
# These are files here.
_OWN = "diagnostic kernel.data match symbolic target.c target.opencl target.pyopencl types version"


def imported(name: str) -> Any:
    """Return a name that a script imports from one of Loo.py's modules: all are in one place.

    Raises:
        ImportError: if Loo.py alone has it, with what to use instead.
        AttributeError: if there is no such name.
    """
    if name.startswith("_"):
        raise AttributeError(f"there is no '{name}'")
    whole = importlib.import_module("polygen.compat")
    try:
        return getattr(whole, name)
    except AttributeError as error:
        if name not in NOT_HERE:
            raise
        raise ImportError(f"{error}") from None


def offer_modules(package: str) -> None:
    """Let scripts import from Loo.py's modules what polygen.compat has."""
    for name in _MODULES.split():
        module = ModuleType(f"{package}.{name}", f"What scripts import from ``loopy.{name}``.")
        module.__path__ = []
        module.__dict__["__getattr__"] = imported
        sys.modules[module.__name__] = module
        parent, _, last = module.__name__.rpartition(".")
        setattr(importlib.import_module(parent), last, module)
    for name in _OWN.split():
        importlib.import_module(f"{package}.{name}")
