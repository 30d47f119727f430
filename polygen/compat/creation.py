"""Kernels with Loo.py's parameters, as the programs that Loo.py returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import islpy as isl
import numpy as np

import polygen as pg
from polygen import errors
from polygen.compat._table import HERE, NOT_HERE
from polygen.compat.arguments import DisplacedArray, GlobalArg, GuessedTemporary
from polygen.compat.kernel_texts import with_displaced, with_own_shapes, without_surplus
from polygen.compat.loopy_arguments import plain
from polygen.compat.more_steps import register_symbol_manglers
from polygen.compat.options import set_options
from polygen.compat.targets import target_name
from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.ir.verify_extents import settled_later
from polygen.language.arguments import undeclared_numbers
from polygen.language.assumptions import parse_assumptions
from polygen.language.of_nothing import identities
from polygen.language.reduced import counting
from polygen.source import caller_location

# Options that let kernels do what Loo.py's do.
_HABITS: dict[str, Any] = {"convert_stores": True, "fix_group_sizes": True, "trust_data": True}
_PLAIN = frozenset(("name", "assumptions", "loop_priority", "seq_dependencies"))


@public
def make_kernel(
    domains: Any, instructions: Any, kernel_data: Any = (...,), **options: Any
) -> pg.TranslationUnit:
    """Return a program of one kernel.

    Temporaries of which nobody says where they live (``<> t[i] = ...``) are where they have to be.
    What does not depend on an iname that it is reduced over counts once for each of its values.
    Where data decides whether a step is legal, it is taken on your word: the option
    ``trust_data``.
    Stores convert (the option ``convert_stores``), and sizes may decide how many work items a
    group has (``fix_group_sizes``).
    ``a = sum(i, x[i])`` writes an argument of the shape ``()``, unless something declares ``a``.
    A kernel whose result is not determined is made, and may be ordered afterwards: see
    ``well_formed="later"`` of `polygen.make_kernel`.

    Parameters:
        domains: the loop domains.
        instructions: the instructions.
        kernel_data: arguments and temporaries; ``...`` or ``"..."`` has the others guessed.
        options: ``name`` (``"loopy_kernel"``), ``assumptions``, ``target``, ``loop_priority``,
            ``silenced_warnings``, ``seq_dependencies``, ``options``, ``fixed_parameters``,
            ``temporary_variables``, ``substitutions``, ``default_order``, ``preambles``,
            ``preamble_generators``, ``symbol_manglers``.  Sizes have the values of
            ``fixed_parameters`` when shapes are guessed.  Nothing depends on ``lang_version``,
            ``index_dtype``, ``tags`` and ``default_offset``.

    Raises:
        InvalidArgument: if another option is given.
        UserError: as `polygen.make_kernel`.
    """
    return _made(pg.make_kernel, "loopy_kernel", domains, instructions, kernel_data, options)


@public
def make_einsum(spec: str, arg_names: Any, **options: Any) -> pg.TranslationUnit:
    """Return a program of one kernel that sums products of arrays; see `polygen.make_einsum`.

    Parameters:
        spec: as in ``"ij,jk->ik"``.
        arg_names: the names of the arrays.
        options: as those of `make_kernel`.
    """

    def make(_domains: Any, _instructions: Any, kernel_data: Any, **own: Any) -> pg.Kernel:
        return pg.make_einsum(spec, arg_names, kernel_data=kernel_data, **own)

    data = options.pop("kernel_data", ())
    name = f"einsum{spec.count(',') + 1}to{len(spec.partition('->')[2].strip())}_kernel"
    return _made(make, name, (), [*arg_names, "out"], data, options)


@public
def make_function(
    domains: Any, instructions: Any, kernel_data: Any = (...,), **options: Any
) -> pg.TranslationUnit:
    """Return a program of one kernel that others call; parameters are those of `make_kernel`."""
    return _made(pg.make_function, "loopy_kernel", domains, instructions, kernel_data, options)


def _made(
    make: Callable[..., pg.Kernel],
    name: str,
    domains: Any,
    instructions: Any,
    kernel_data: Any,
    options: Mapping[str, Any],
) -> pg.TranslationUnit:
    given: dict[str, Any] = {
        "name": name,
        **{n: v for n, v in options.items() if n not in HERE["make_kernel"].ignored},
    }
    own = {n: v for n, v in given.items() if n in _PLAIN and v is not None}
    if "loop_priority" in own:
        own["loop_priority"] = _priorities(own["loop_priority"])
    if fixed := given.get("fixed_parameters"):
        own["assumptions"] = _with_values(own.get("assumptions", ""), domains, fixed)
    steps = _steps(given)
    instructions = _with_rules(instructions, given.pop("substitutions", None))
    own["silenced_warnings"] = _ours(given.pop("silenced_warnings", ()))
    own["well_formed"] = "later"
    own["target"] = target_name(given.pop("target", None))
    order = _order(given)
    data = _data(kernel_data, given)
    if unknown := sorted(given.keys() - _PLAIN):
        raise InvalidArgument(
            f"make_kernel has no option '{unknown[0]}' here",
            where=caller_location(),
            remedy=NOT_HERE.get(f"make_kernel.{unknown[0]}", "see docs/porting.md"),
        )
    displaced = [d for d in data if isinstance(d, DisplacedArray)]
    data = with_own_shapes([d.plain() if d in displaced else d for d in data], instructions)
    domains = without_surplus(domains)
    with counting(), identities(), settled_later(), undeclared_numbers():
        data = _with_shapes(make, domains, instructions, data, own)
        kernel = _with_spaces(make, domains, instructions, data, own)
    kernel = kernel.copy(options=replace(kernel.options, **_HABITS))
    for array in displaced:
        kernel = with_displaced(kernel, array)
    if order == "F":
        kernel = _in_columns(kernel)
    for step, argument in steps:
        kernel = step(kernel, argument)
    return pg.merge([kernel])


def _with_values(assumptions: Any, domains: Any, fixed: Mapping[str, Any]) -> isl.Set:
    """Return assumptions by which sizes have the values that they are fixed to: shapes need them.

    Parameters:
        assumptions: what is assumed besides.
        domains: mention what is a size.
        fixed: the values of scalar arguments.
    """
    known = parse_assumptions(assumptions).set
    mentioned = re.findall(r"\w+", str(domains))
    for name, value in fixed.items():
        if name in mentioned and isinstance(value, int | np.integer):
            known = known.intersect(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
    return known


def _steps(given: dict[str, Any]) -> list[tuple[Callable[[pg.Kernel, Any], pg.Kernel], Any]]:
    """Return what is done with the kernel once it is made."""
    taken: dict[str, Callable[[pg.Kernel, Any], pg.Kernel]] = {
        "fixed_parameters": lambda knl, values: pg.fix_parameters(knl, **values),
        "options": set_options,
        "preambles": _with_preambles,
        "preamble_generators": pg.register_preamble_generators,
        "symbol_manglers": register_symbol_manglers,
    }
    wanted = [(step, given.pop(name, None)) for name, step in taken.items()]
    return [(step, argument) for step, argument in wanted if argument]


def _with_preambles(kernel: pg.Kernel, preambles: Iterable[tuple[str, str]]) -> pg.Kernel:
    pairs = list(preambles)
    return pg.register_preamble_generators(kernel, [lambda _info: pairs])


def _priorities(given: Any) -> Any:
    """Return priorities as texts: Loo.py has a set of tuples."""
    if isinstance(given, (frozenset, set)):
        return sorted(p if isinstance(p, str) else ", ".join(p) for p in cast("set[Any]", given))
    return given


def _with_rules(instructions: Any, rules: Mapping[str, Any] | None) -> Any:
    """Return the instructions after rules that are given beside them."""
    if not rules:
        return instructions
    listed: list[Any] = [instructions] if isinstance(instructions, str) else list(instructions)
    return [*rules.values(), *listed]


def _order(given: dict[str, Any]) -> str:
    """Return how arrays lie of which nobody says it."""
    order = given.pop("default_order", None) or "C"
    order = "C" if order is pg.auto else order
    if order not in ("C", "c", "F", "f"):
        raise InvalidArgument(
            f"default_order={order!r} is none",
            where=caller_location(),
            remedy='say "C" or "F"',
        )
    return str(order).upper()


def _in_columns(kernel: pg.Kernel) -> pg.Kernel:
    """Return the kernel with arrays column by column of which nobody says how they lie."""
    kernel = kernel.copy(arguments=tuple(map(_in_columns_later, kernel.arguments)))
    arrays = [a for a in (*kernel.arguments, *kernel.temporaries) if not isinstance(a, pg.ValueArg)]
    names = [a.name for a in arrays if a.dim_tags is None and len(a.shape or ()) > 1]
    return pg.tag_array_axes(kernel, names, "F") if names else kernel


def _in_columns_later(argument: Any) -> Any:
    """Return an array as one that is column by column once its shape is known."""
    is_open = isinstance(argument, pg.GlobalArg) and argument.shape is None
    if not is_open or argument.dim_tags is not None or argument.order is not None:
        return argument
    return replace(argument, order="F")


def _data(kernel_data: Any, given: dict[str, Any]) -> list[Any]:
    """Return what is said of arguments and temporaries."""
    more = given.pop("temporary_variables", None) or ()
    more = cast("Mapping[str, Any]", more).values() if isinstance(more, Mapping) else more
    is_one = isinstance(kernel_data, str) or not isinstance(kernel_data, Iterable | None)
    data = cast("Iterable[Any]", [kernel_data] if is_one else kernel_data or ())
    return [*more, *("..." if d is ... else plain(d) for d in data)]


def _with_shapes(
    make: Callable[..., pg.Kernel], domains: Any, instructions: Any, data: list[Any], own: Any
) -> list[Any]:
    """Return the data with shapes for the temporaries that have none."""
    if not any(isinstance(d, GuessedTemporary) for d in data):
        return data
    # An array argument's shape would be guessed from the same accesses.
    guess = [GlobalArg(d.name, d.dtype) if isinstance(d, GuessedTemporary) else d for d in data]
    with pg.without_proofs():
        kernel = make(domains, instructions, guess, **own)
    shapes = {a.name: a.shape or () for a in kernel.arguments if isinstance(a, pg.GlobalArg)}
    return [d.of_shape(shapes[d.name]) if isinstance(d, GuessedTemporary) else d for d in data]


def _with_spaces(
    make: Callable[..., pg.Kernel], domains: Any, instructions: Any, data: list[Any], own: Any
) -> pg.Kernel:
    """Return the kernel with arrays of which nobody says where they live where they have to be."""
    kernel = make(domains, instructions, data, **own)
    said = {d.name for d in data if isinstance(d, pg.TemporaryVariable)}
    arrays = [t.name for t in kernel.temporaries if t.shape and t.name not in said]
    return pg.set_temporary_address_space(kernel, arrays, "auto") if arrays else kernel


def _ours(names: object) -> list[str]:
    """Return those names of warnings that are polygen's: Loo.py's are not issued here anyway."""
    listed = names.split(",") if isinstance(names, str) else cast("Iterable[str]", names or ())
    known = {n for n, k in vars(errors).items() if isinstance(k, type) and issubclass(k, Warning)}
    return [name for name in listed if name in known]
