"""Transformations whose names, arguments or defaults differ from polygen's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import islpy as isl

import polygen as pg
from polygen.compat._table import entry
from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.source import caller_location

_T = TypeVar("_T", pg.Kernel, pg.TranslationUnit)


@public
def add_and_infer_dtypes(
    prog: _T,
    dtype_dict: Mapping[str, Any],
    expect_completion: bool = False,
    kernel_name: str | None = None,
) -> _T:
    """Say types, and find out the others: `add_dtypes`, then `infer_unknown_types`.

    Parameters:
        prog: the kernel or program.
        dtype_dict: the types by name, or by names with commas.
        expect_completion: whether all types have to be known then.
        kernel_name: whose variables these are; those of the only entry point if not given.
    """
    if kernel_name is None or isinstance(prog, pg.Kernel):
        return pg.infer_unknown_types(pg.add_dtypes(prog, dtype_dict), expect_completion)
    one = add_and_infer_dtypes(prog[kernel_name], dtype_dict, expect_completion)
    return prog.with_kernel(one)


@public
def diff_kernel(
    kernel: _T,
    diff_outputs: Any,
    by: str,
    diff_iname_prefix: str = "diff_i",
    batch_axes_in_by: Any = frozenset(),
    copy_outputs: Any = frozenset(),
) -> tuple[_T, str]:
    """Return the kernel of Jacobians, and the name of that of the last output.

    Loo.py has it in ``loopy.transform.diff``; see `polygen.diff_kernel`.
    """
    options = (diff_iname_prefix, batch_axes_in_by, copy_outputs)
    several = diff_outputs.split(",") if isinstance(diff_outputs, str) else diff_outputs
    outputs = [name.strip() for name in several]
    new = pg.diff_kernel(kernel, outputs, by, *options)
    old, made = map(entry, (kernel, new))
    wanted = f"{outputs[-1]}_d{by}"
    names = [a.name for a in made.arguments if a.name not in old.variables]
    return new, next(name for name in names if name.startswith(wanted))


@public
def rename_iname(
    kernel: _T,
    old_iname: str,
    new_iname: str,
    existing_ok: bool = False,
    within: Any = None,
    preserve_tags: bool = True,
    raise_on_domain_mismatch: bool | None = None,  # noqa: ARG001  (it is always refused)
) -> _T:
    """Give an iname another name; see `polygen.rename_iname`.

    Parameters:
        kernel, old_iname, new_iname, existing_ok, within: as there.
        preserve_tags: whether the new iname has the tag of the old one.
        raise_on_domain_mismatch: values that differ are always refused.
    """
    renamed = pg.rename_iname(kernel, old_iname, new_iname, existing_ok, within)
    return renamed if preserve_tags else pg.untag_inames(renamed, new_iname)


@public
def assume(kernel: _T, assumptions: str | isl.BasicSet | isl.Set) -> _T:
    """Say what is known of sizes, as a text or a set of isl's; see `polygen.assume`."""
    return pg.assume(kernel, str(assumptions))


@public
def fix_parameters(kernel: _T, *, within: Any = None, **value_dict: Any) -> _T:
    """Let scalar arguments be numbers; see `polygen.fix_parameters`.

    Raises:
        InvalidArgument: if `within` is given: a number is one everywhere.
    """
    if within is not None:
        raise InvalidArgument(
            "fix_parameters was given within=: a parameter is fixed everywhere, or nowhere",
            where=caller_location(),
            remedy="leave out within=",
        )
    return pg.fix_parameters(kernel, **value_dict)


@public
def add_prefetch(
    t_unit: _T,
    var_name: str,
    sweep_inames: Any = None,
    dim_arg_names: Any = None,
    default_tag: Any = None,
    rule_name: str | None = None,
    temporary_name: str | None = None,
    temporary_address_space: Any = None,
    **others: Any,
) -> _T:
    """Copy what is read of an array ahead; see `polygen.add_prefetch`.

    Parameters are those; the loops that copy have no tag unless `default_tag` says one, and
    ``temporary_scope`` is an old name of `temporary_address_space`.
    """
    space = others.pop("temporary_scope", temporary_address_space)
    new = pg.add_prefetch(
        t_unit,
        var_name,
        () if sweep_inames is None else sweep_inames,
        dim_arg_names,
        default_tag,
        rule_name,
        temporary_name,
        None if space is pg.auto else space,
        **others,
    )
    return _with_spaces_to_find(t_unit, new) if space in (None, pg.auto) else new


def _with_spaces_to_find(old: _T, new: _T) -> _T:
    """Return a result in which new arrays that each work item has are where they have to be.

    Later steps may share the loops around them among work items.
    """
    before, after = map(entry, (old, new))
    names = [
        t.name
        for t in after.temporaries
        if t.shape and t.name not in before.variables and t.address_space is _PRIVATE
    ]
    return pg.set_temporary_address_space(new, names, "auto") if names else new


_PRIVATE = pg.AddressSpace.PRIVATE


@public
def precompute(
    program: _T, subst_use: Any, sweep_inames: Any = None, within: Any = None, **others: Any
) -> _T:
    """Compute the values of a rule ahead; see `polygen.precompute`.

    Parameters are those; the loops that compute have no tag unless ``default_tag`` says one.
    """
    given: dict[str, Any] = {"default_tag": None, **others}
    if given.get("temporary_address_space") is pg.auto:
        del given["temporary_address_space"]
    swept = () if sweep_inames is None else sweep_inames
    return pg.precompute(program, subst_use, swept, within, **given)
