"""Transformations that take more arguments in Loo.py, and those that only Loo.py has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import polygen as pg
from polygen.compat._table import entry
from polygen.compat.scans import as_scans
from polygen.errors import InvalidArgument, TypeNotFound
from polygen.ir.public import is_a, public
from polygen.ir.show_expression import show_expression
from polygen.language.within import matching
from polygen.source import caller_location, warn

_T = TypeVar("_T", pg.Kernel, pg.TranslationUnit)


def _refuse(step: str, argument: str, why: str, remedy: str) -> None:
    raise InvalidArgument(
        f"{step} was given {argument}: {why}", where=caller_location(), remedy=remedy
    )


@public
def assignment_to_subst(
    kernel: _T,
    lhs_name: str,
    extra_arguments: Sequence[str] = (),
    within: Any = None,
    force_retain_argument: bool = False,
) -> _T:
    """Make a rule of an assignment; see `polygen.assignment_to_subst`.

    An argument that nothing reads any more is none any more, unless `force_retain_argument` is on:
    then it is written as before.

    Raises:
        InvalidArgument: if the rule is to have further arguments: what else it mentions is found
            where it is used.
    """
    if extra_arguments:
        _refuse("assignment_to_subst", "extra_arguments=", "rules find these", "leave it out")
    if not force_retain_argument and any(a.name == lhs_name for a in entry(kernel).arguments):
        own = pg.change_arg_to_temporary(kernel, lhs_name)
        new = pg.assignment_to_subst(own, lhs_name, within)
        if lhs_name not in entry(new).variables:
            return new
    return pg.assignment_to_subst(kernel, lhs_name, within)


@public
def rename_inames_in_batch(
    kernel: _T, batches: Mapping[str, Sequence[str] | AbstractSet[str]]
) -> _T:
    """Give several sets of inames one name each: `rename_inames` for each."""
    for new_iname, old_inames in batches.items():
        kernel = pg.rename_inames(kernel, old_inames, new_iname)
    return kernel


@public
def join_inames(
    kernel: _T,
    inames: str | Sequence[str],
    new_iname: str | None = None,
    tag: Any = None,
    within: Any = None,
) -> _T:
    """Make one loop of several; see `polygen.join_inames`.  ``i, j`` become ``j_and_i``."""
    given = [i.strip() for i in inames.split(",")] if isinstance(inames, str) else list(inames)
    name = new_iname or entry(kernel).new_name("_and_".join(map(str, given[::-1])))
    return pg.join_inames(kernel, given, name, tag, within)


@public
def remove_unused_inames(
    kernel: _T, inames: str | Sequence[str] | AbstractSet[str] | None = None
) -> _T:
    """Leave out inames that nothing uses, and no others; see `polygen.remove_unused_inames`."""
    if inames is None:
        return pg.remove_unused_inames(kernel)
    given = [i.strip() for i in inames.split(",")] if isinstance(inames, str) else inames
    known = sorted(set(given).intersection(entry(kernel).inames))
    return pg.remove_unused_inames(kernel, known) if known else kernel


@public
def remove_predicates_from_insn(
    kernel: _T, predicates: Sequence[Any] | AbstractSet[Any], insn_match: Any
) -> _T:
    """Leave out conditions of instructions; see `map_instructions`.

    Parameters:
        kernel: the kernel or program.
        predicates: the conditions, as texts or as instructions have them.
        insn_match: the instructions.
    """
    gone = {_shown(p) for p in predicates}

    def without(insn: pg.Instruction) -> pg.Instruction:
        return insn.copy(predicates=tuple(p for p in insn.predicates if _shown(p) not in gone))

    return map_instructions(kernel, insn_match, without)


@public
def map_instructions(
    kernel: _T, insn_match: Any, f: Callable[[pg.Instruction], pg.Instruction]
) -> _T:
    """Replace instructions by what a function makes of them; see `polygen.map_instructions`.

    The kernel may then compute something else, as in Loo.py: this is warned of, and noted in it.
    """
    try:
        return pg.map_instructions(kernel, insn_match, f)
    except (pg.errors.NotTheSame, pg.errors.IllegalStep) as error:
        taken = "taken all the same: scripts written for Loo.py may change what a kernel computes"
        warn(pg.errors.ChangedMeaning(f"{error.what} ({taken})"))
    on_your_word: dict[str, Any] = {"unsafe": True}
    return pg.map_instructions(kernel, insn_match, f, **on_your_word)


def _shown(node: Any) -> str:
    return (
        node.replace(" ", "") if isinstance(node, str) else show_expression(node).replace(" ", "")
    )


@public
def make_reduction_inames_unique(
    kernel: _T, inames: Any = None, within: str | Sequence[str] | None = None
) -> _T:
    """Give each instruction inames of its own that it reduces over; see `duplicate_inames`."""
    given = [i.strip() for i in inames.split(",")] if isinstance(inames, str) else inames
    for insn in matching(entry(kernel), within):
        now = entry(kernel)
        shared = [
            iname
            for iname in now.inames
            if iname in now.instruction(insn.id).reduction_inames
            and (given is None or iname in given)
            and any(
                iname in other.within_inames | other.reduction_inames
                for other in now.instructions
                if other.id != insn.id
            )
        ]
        if shared:
            kernel = pg.duplicate_inames(kernel, shared, f"id:{insn.id}")
    return kernel


@public
def realize_reduction(
    t_unit: _T,
    insn_id_filter: Any = None,
    unknown_types_ok: bool = True,
    automagic_scans_ok: bool = False,  # noqa: ARG001  (a scan is computed anew)
    force_scan: bool = False,
    force_outer_iname_for_scan: str | None = None,
) -> _T:
    """Write reductions as instructions; see `polygen.realize_reduction`.

    Parameters:
        t_unit: the kernel or program.
        insn_id_filter: the instructions; all if not given.
        unknown_types_ok: whether reductions stay as they are, until code is generated, if the types
            of what they reduce are not known.
        automagic_scans_ok: nothing depends on it.
        force_scan: the reductions have to be scans, and stay as they are: code generation carries
            them through the loops around them.
        force_outer_iname_for_scan: the iname of the loop through which they are carried.

    Raises:
        NotAScan: if scans are asked for, and one is none.
        TypeNotFound: if types have to be known, and are not.
    """
    if force_scan or force_outer_iname_for_scan is not None:
        given: Any = t_unit
        new: Any = as_scans(entry(given), insn_id_filter, force_outer_iname_for_scan)
        scans: _T = new if isinstance(given, pg.Kernel) else given.with_kernel(new)
        return scans
    try:
        return pg.realize_reduction(t_unit, insn_id_filter)
    except TypeNotFound:
        if not unknown_types_ok:
            raise
        return t_unit


@public
def allocate_temporaries_for_base_storage(
    kernel: _T,
    only_address_space: Any = None,
    aliased: bool = True,
    max_nbytes: int | None = None,  # noqa: ARG001  (what shares storage takes no more than one did)
) -> _T:
    """Let temporaries of one ``base_storage`` share it; see `polygen.alias_temporaries`.

    Those share it that have one type, address space and number of axes.  One variable takes their
    place, which has the name of the storage if that is free.

    Parameters:
        kernel: the kernel or program.
        only_address_space: of which temporaries; of all if it is None.
        aliased: whether they share it; if not, each has its own, as before.
        max_nbytes: nothing depends on it here.

    Raises:
        IllegalStep, CannotProve: if what one keeps is still needed when another is written.
        IllFormedKernel: if nothing orders their uses.
    """
    if not aliased:
        return kernel
    groups: dict[tuple[Any, ...], list[str]] = {}
    users = [i.read_names.union(i.written_names) for i in entry(kernel).expanded.instructions]
    for one in entry(kernel).temporaries:
        if one.base_storage is not None and any(one.name in names for names in users):
            alike = (one.base_storage, one.address_space, one.dtype, len(one.shape))
            if only_address_space is None or pg.AddressSpace(only_address_space) is alike[1]:
                groups.setdefault(alike, []).append(one.name)
    for (base, *_), names in groups.items():
        if len(names) > 1:
            in_order = sorted(names, key=lambda n: next(p for p, u in enumerate(users) if n in u))
            name = entry(kernel).new_name(base)
            kernel = pg.alias_temporaries(
                kernel, in_order, name, synchronize_for_exclusive_use=False
            )
    return kernel


@public
def split_array_axis(
    kernel: _T, array_names: str | Sequence[str], axis_nr: int, count: int, order: str = "C"
) -> _T:
    """Make two axes of one, of several arrays at once; see `polygen.split_array_dim`.

    Inames are not split: subscripts become ``i // count, i % count``.

    Parameters:
        kernel: the kernel or program.
        array_names: the arrays: ``"a, b"``, or a sequence.
        axis_nr: which axis of each.
        count: how many elements a block has.
        order: ``"F"`` puts the element within a block first.
    """
    names = array_names.split(",") if isinstance(array_names, str) else array_names
    axes = [(name.strip(), axis_nr, order) for name in names]
    return pg.split_array_dim(kernel, axes, count, auto_split_inames=False)


@public
def add_barrier(
    kernel: _T,
    insn_before: Any = "",
    insn_after: Any = "",
    id_based_on: str | None = None,
    tags: Any = None,
    synchronization_kind: str = "global",
    mem_kind: str | None = None,  # noqa: ARG001  (what it is for is found out)
    within_inames: Any = None,
) -> _T:
    """Add a barrier; see `polygen.add_barrier`."""
    ends = (insn_before or None, insn_after or None)
    return pg.add_barrier(kernel, *ends, id_based_on, tags, synchronization_kind, within_inames)


@public
def save_and_reload_temporaries(t_unit: _T, entrypoint: str | None = None) -> _T:
    """Keep values between launches; see `polygen.save_and_reload_temporaries`."""
    if entrypoint is None or isinstance(t_unit, pg.Kernel):
        return pg.save_and_reload_temporaries(t_unit)
    return t_unit.with_kernel(pg.save_and_reload_temporaries(t_unit[entrypoint]))


@public
def find_one_rule_matching(kernel: pg.Kernel | pg.TranslationUnit, pattern: str) -> str:
    """Return the name of the only rule that a pattern means; see `polygen.find_rules_matching`.

    Raises:
        InvalidArgument: if there are several, or none.
    """
    found = pg.find_rules_matching(entry(kernel), pattern)
    if len(found) != 1:
        there = f"there are {', '.join(found)}" if found else "there is none"
        _refuse("find_one_rule_matching", repr(pattern), there, "name one")
    return found[0]


@public
def for_each_kernel(transform: Callable[..., pg.Kernel]) -> Callable[..., Any]:
    """Return a function that takes a step on each kernel of a program."""

    def each(program: pg.Kernel | pg.TranslationUnit, *args: Any, **kwargs: Any) -> Any:
        if isinstance(program, pg.Kernel):
            return transform(program, *args, **kwargs)
        for kernel in program.kernels:
            program = program.with_kernel(transform(program[kernel.name], *args, **kwargs))
        return program

    return each


@public
def merge(translation_units: Sequence[object]) -> pg.TranslationUnit:
    """Return several programs as one; see `polygen.merge`.  What others call is no entry point."""
    program = pg.merge(translation_units)
    called = {call.function for kernel in program.kernels for call in kernel.calls}
    return program.with_entrypoints(sorted(program.entrypoints - called) or program.entrypoints)


@public
def make_program(kernel: pg.Kernel) -> pg.TranslationUnit:
    """Return a program of one kernel; see `polygen.merge`."""
    return merge([kernel])


@public
def register_symbol_manglers(kernel: _T, manglers: Sequence[Callable[..., Any]]) -> _T:
    """Let names be constants of the target's; see `polygen.register_symbol_manglers`.

    Manglers may know none of the names that there are.  What OpenCL C knows by itself (``M_PI``,
    ``FLT_MAX``, ``INT_MAX``) comes from headers in C.
    """
    numbers = [a.name for a in entry(kernel).arguments if isinstance(a, pg.ValueArg)]
    if all(mangler(entry(kernel), n) is None for mangler in manglers for n in numbers):
        return kernel
    return pg.register_symbol_manglers(kernel, [_with_headers(m) for m in manglers])


_HEADERS = "#include <float.h>\n#include <limits.h>\n#include <math.h>"
_NUMBERS = {
    "M_PI": math.pi,
    "M_E": math.e,
    "M_PI_2": math.pi / 2,
    "M_PI_4": math.pi / 4,
    "M_LN2": math.log(2),
    "M_SQRT2": math.sqrt(2),
    "M_1_PI": 1 / math.pi,
}


def _with_headers(mangler: Callable[..., Any]) -> Callable[..., Any]:
    def asked(kernel: pg.Kernel, name: str) -> Any:
        answer: Any = mangler(kernel, name)
        if not is_a(answer, (tuple,)) or len(answer) != 2:
            return answer
        dtype, text = answer
        number = _NUMBERS.get(text) if isinstance(text, str) else None
        defined = "" if number is None else f"\n#ifndef {text}\n#define {text} {number!r}\n#endif"
        return dtype, text, {"c": _HEADERS + defined}

    return asked


@public
def fuse_kernels(
    kernels: Sequence[pg.Kernel | pg.TranslationUnit],
    suffixes: Sequence[str] | None = None,
    data_flow: Sequence[tuple[str, int, int]] | None = None,
    *,
    unsafe: bool = False,
) -> Any:
    """Make one kernel of several; see `polygen.fuse_kernels`.

    What is said to flow from a kernel that does not write it, or to one that does not read it, is
    left out: what depends on what is found anyway.
    """
    given: Any = list(kernels) if isinstance(kernels, (list, tuple)) else kernels
    flows: Any = data_flow
    if is_a(given, (list,)) and is_a(flows, (list, tuple)):
        flows = [flow for flow in flows if _may_flow(given, flow)]
    return pg.fuse_kernels(given, suffixes, flows, unsafe=unsafe)


def _may_flow(kernels: Sequence[Any], flow: Any) -> bool:
    """Tell whether one kernel writes what another reads; what is said otherwise stays as it is."""
    name, *ends = flow if is_a(flow, (tuple,)) else (flow,)
    if len(ends) != 2 or not all(isinstance(e, int) and 0 <= e < len(kernels) for e in ends):
        return True
    first, second = (entry(kernels[end]).expanded for end in ends)
    read = (insn.read_names for insn in second.instructions)
    return name in first.writers and any(name in names for names in read)
