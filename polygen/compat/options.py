"""Loo.py's options of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, cast

import polygen as pg
from polygen.compat._table import HERE, NOT_HERE, OTHERWISE, warn_otherwise
from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.source import caller_location

_T = TypeVar("_T", pg.Kernel, pg.TranslationUnit)

_OPTIONS = {"write_cl": "write_code", "allow_fp_reordering": "allow_reassociation"}


class Options(dict[str, Any]):
    """``Options(return_dict=True)``: options of `set_options` by name."""


@public
def set_options(kernel: _T, *args: Any, **kwargs: Any) -> _T:
    """Change how a kernel is compiled and called; see `polygen.set_options`.

    Parameters:
        kernel: the kernel or program.
        args: names with commas, ``"write_code, return_dict"``, or a dictionary, or `Options`.
        kwargs: options by name.  ``write_cl`` is ``write_code``, ``allow_fp_reordering`` is
            ``allow_reassociation``.  Nothing depends on ``allow_terminal_colors``,
            ``annotate_inames``, ``check_dep_resolution``, ``cl_exec_manage_array_events``,
            ``enforce_...``, ``insert_gbarriers`` and ``no_numpy``.

    Raises:
        InvalidArgument: if there is no such option.
    """
    given: dict[str, Any] = {}
    for part in args:
        if isinstance(part, Mapping):
            given |= cast("Mapping[str, Any]", part)
        else:
            given |= dict.fromkeys(_names(part), True)
    given |= kwargs
    for name in given:
        if given[name] and (remedy := NOT_HERE.get(f"set_options.{name}")):
            _refuse(f"there is no option '{name}' here", remedy)
    for name in given:
        if given[name] and f"set_options.{name}" in OTHERWISE:
            warn_otherwise(f"set_options.{name}")
    ours = {
        _OPTIONS.get(n, n): value
        for n, value in given.items()
        if n not in HERE["set_options"].ignored
        and f"set_options.{n}" not in {*NOT_HERE, *OTHERWISE}
    }
    return pg.set_options(kernel, **ours)


def _names(text: object) -> list[str]:
    if not isinstance(text, str):
        _refuse(
            f"set_options was given {text!r}, which is no name of options",
            'write set_options(knl, write_code=True), or set_options(knl, "write_code")',
        )
    return [name.strip() for name in text.split(",") if name.strip()]


def _refuse(what: str, remedy: str) -> NoReturn:
    raise InvalidArgument(what, where=caller_location(), remedy=remedy)
