"""Loo.py's options of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, cast

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.source import caller_location

_T = TypeVar("_T", pg.Kernel, pg.TranslationUnit)

# Names that differ; and what nothing depends on here: how output looks, and checks that are proofs.
_OPTIONS = {"write_cl": "write_code", "allow_fp_reordering": "allow_reassociation"}
_LEFT_OUT = frozenset(
    (
        "allow_terminal_colors",
        "annotate_inames",
        "check_dep_resolution",
        "cl_exec_manage_array_events",
        "enforce_array_accesses_within_bounds",
        "enforce_variable_access_ordered",
        "insert_gbarriers",
        "no_numpy",
    )
)
_EDIT = "write what print(generate_code(knl)) shows into a file, and compile that"
_TRACE = "print(polygen.lower_kernel(knl)) shows what is executed when"
_ABSENT = {
    "disable_global_barriers": "boundaries between launches are found: leave it out",
    "edit_cl": _EDIT,
    "edit_code": _EDIT,
    "trace_assignment_values": _TRACE,
    "trace_assignments": _TRACE,
}


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
        if name in _ABSENT and given[name]:
            _refuse(f"there is no option '{name}' here", _ABSENT[name])
    left_out = _LEFT_OUT | _ABSENT.keys()
    return pg.set_options(
        kernel, **{_OPTIONS.get(n, n): v for n, v in given.items() if n not in left_out}
    )


def _names(text: object) -> list[str]:
    if not isinstance(text, str):
        _refuse(
            f"set_options was given {text!r}, which is no name of options",
            'write set_options(knl, write_code=True), or set_options(knl, "write_code")',
        )
    return [name.strip() for name in text.split(",") if name.strip()]


def _refuse(what: str, remedy: str) -> NoReturn:
    raise InvalidArgument(what, where=caller_location(), remedy=remedy)
