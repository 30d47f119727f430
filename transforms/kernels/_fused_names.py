"""Kernels that are to become one: other names where two mean different things by one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from polygen.analysis.access.domains import domain_temporaries, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.proving import without_proofs
from polygen.errors import KernelsDiffer
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, GlobalArg
from polygen.ir.domain import Domain, rename_dimension
from polygen.ir.expression import Expression
from polygen.ir.ids import with_ids
from polygen.ir.kernel import Kernel
from polygen.ir.options import Options
from polygen.ir.show import show_argument
from polygen.source import caller_location
from polygen.transforms.arrays.array_rewriting import check_no_verbatim, with_names
from polygen.transforms.fusion.rename_iname import rename_iname

_T = TypeVar("_T")


class _Names:
    """Names for what kernels have for themselves.

    Parameters:
        kernels: their inames and arguments keep their names.
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.arguments = frozenset(a.name for k in kernels for a in k.arguments)
        self._used = {*self.arguments, *(i for k in kernels for i in k.inames)}
        names = [n for k in kernels for n in {*k.inames, *k.variables, *k.rules}]
        self._shared = {name for name, count in Counter(names).items() if count > 1}

    def new(self, name: str, suffix: str = "") -> str:
        """Return a name that is used from now on; with the suffix if several kernels have it."""
        like = found = name + suffix if name in self._shared else name
        count = 0
        while found in self._used:
            found, count = f"{like}_{count}", count + 1
        self._used.add(found)
        return found


def named_apart(kernels: Sequence[Kernel], suffixes: Sequence[str] | None) -> list[Kernel]:
    """Return kernels that mean the same by each name that several of them have.

    Arguments keep their names, and so do inames, unless one is an argument elsewhere or has bounds
    that are data.

    Parameters:
        kernels: the kernels.
        suffixes: for each kernel, what is added to a name of its own that another one has, too.
    """
    names, ids = _Names(kernels), _Names(())
    inames = dict.fromkeys(i for k in kernels for i in k.inames if i in names.arguments)
    hidden = {iname: names.new(iname) for iname in inames}
    found: list[Kernel] = []
    for position, kernel in enumerate(kernels):
        suffix = suffixes[position] if suffixes else ""
        own = {i: names.new(i, suffix) for i in _bounded_by_data(kernel) if position}
        own |= {iname: hidden[iname] for iname in kernel.inames if iname in hidden}
        new = with_inames(kernel, own)
        temporaries = {t.name: names.new(t.name, suffix) for t in kernel.temporaries}
        new = _with_rules(_with_temporaries(new, temporaries), found, names, suffix)
        found.append(with_ids(new, {i.id: ids.new(i.id) for i in kernel.instructions}))
    return found


def _bounded_by_data(kernel: Kernel) -> list[str]:
    """Return the inames whose values depend on what the kernel computes."""
    return [i for i in kernel.inames if domain_temporaries(kernel, with_surrounding(kernel, [i]))]


def with_inames(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    """Return the kernel with other names of inames; no two become one."""
    with without_proofs():
        for old, new in names.items():
            kernel = rename_iname(kernel, old, new)
    return kernel


def _with_temporaries(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    """Return the kernel with other names of temporaries.

    Raises:
        VerbatimNotPossible: if one is mentioned in verbatim C.
    """
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        return kernel
    check_no_verbatim(kernel, names)

    def moved(domain: Domain) -> Domain:
        flat = domain.set
        for old in names.keys() & set(domain.parameters):
            flat = rename_dimension(flat, old, names[old])
        return domain if flat is domain.set else Domain(flat)

    return with_names(kernel, names).copy(
        domains=tuple(map(moved, kernel.domains)),
        temporaries=tuple([replace(t, name=names.get(t.name, t.name)) for t in kernel.temporaries]),
    )


def _with_rules(kernel: Kernel, before: Sequence[Kernel], all_names: _Names, suffix: str) -> Kernel:
    """Return the kernel with other names of rules that stand for something else elsewhere."""
    names: dict[str, str] = {}
    for rule in kernel.substitutions:
        if not any(other.rules.get(rule.name) == rule for other in before):
            names[rule.name] = all_names.new(rule.name, suffix)

    def renamed(node: Expression) -> Expression:
        if isinstance(node, ex.Invocation) and node.rule in names:
            return replace(node, rule=names[node.rule])
        return node

    def rewritten(node: Expression) -> Expression:
        return walk.rewrite(node, renamed)

    return kernel.copy(
        instructions=tuple([i.map_expressions(rewritten) for i in kernel.instructions]),
        substitutions=tuple(
            [
                replace(r, name=names.get(r.name, r.name), expression=rewritten(r.expression))
                for r in kernel.substitutions
            ]
        ),
    )


# --- what they share


def _differ(first: Kernel, second: Kernel, what: str, remedy: str) -> KernelsDiffer:
    return KernelsDiffer(
        f"kernels '{first.name}' and '{second.name}' cannot become one: {what}",
        where=caller_location(),
        remedy=remedy,
    )


def shared_arguments(kernels: Sequence[Kernel]) -> tuple[Argument, ...]:
    """Return the arguments of all kernels: those of the first one first.

    Raises:
        KernelsDiffer: if two say different things of one.
    """
    found: dict[str, Argument] = {}
    owner: dict[str, Kernel] = {}
    for kernel in kernels:
        for argument in kernel.arguments:
            name = argument.name
            known = found.setdefault(name, argument)
            other = owner.setdefault(name, kernel)
            if known is not argument:
                found[name] = _one_of_both(other, kernel, known, argument)
    return tuple(found.values())


# What one kernel may say of an argument, and another one leave open.
_MAY_BE_LEFT_OPEN = ("dtype", "dim_tags", "dim_names", "alignment")


def _one_of_both(first: Kernel, second: Kernel, one: Argument, other: Argument) -> Argument:
    """Return what two kernels say together of an argument."""
    if type(one) is not type(other):
        what = "are arguments of different kinds"
    else:
        one, other = _filled_in(one, other), _filled_in(other, one)
        if isinstance(one, GlobalArg) and isinstance(other, GlobalArg):
            other = replace(other, shape=_same_shape(one.shape, other.shape))
        if one == other:
            return one
        what = f"are declared otherwise: '{show_argument(one)}' and '{show_argument(other)}'"
    raise _differ(
        first,
        second,
        f"their arguments '{one.name}' {what}",
        f"declare '{one.name}' alike in both, or rename it in one (rename_argument)",
    )


def _filled_in(argument: Argument, other: Argument) -> Argument:
    """Return an argument with what it leaves open as another one has it."""
    open_fields = [n for n in _MAY_BE_LEFT_OPEN if getattr(argument, n, "") is None]
    changes: dict[str, Any] = {name: getattr(other, name) for name in open_fields}
    return replace(argument, **changes)


def _same_shape(wanted: Any, shape: Any) -> Any:
    """Return the first shape if the second is another way to write it, else the second."""
    if wanted is None or shape is None or len(wanted) != len(shape):
        return shape
    forms = [[linear_form(extent) for extent in extents] for extents in (wanted, shape)]
    return wanted if None not in forms[0] and forms[0] == forms[1] else shape


def shared_fields(kernels: Sequence[Kernel]) -> dict[str, Any]:
    """Return what all kernels say together: assumptions, tags, claims and so on.

    Raises:
        KernelsDiffer: if they contradict each other.
    """
    first, *others = kernels
    assumptions, target = first.assumptions, first.target
    for other in others:
        assumptions = Domain(assumptions.flat.intersect(other.assumptions.flat))
        if assumptions.flat.is_empty():
            raise _differ(
                first,
                other,
                f"what they assume contradicts each other: {first.assumptions} and "
                f"{other.assumptions}",
                "they are never called with the same sizes",
            )
        if None not in (target, other.target) and target != other.target:
            what = f"they are for different targets, {target} and {other.target}"
            raise _differ(first, other, what, "make both for the same one")
        if first.options != other.options:
            what = f"they have different options: {_other_options(first.options, other.options)}"
            raise _differ(first, other, what, "give both the same ones (set_options)")
        target = target or other.target
    sizes = _once(s for k in kernels for s in k.derived_sizes)
    if twice := [s for s in sizes if any(o.name == s.name for o in sizes if o != s)]:
        what = f"'{twice[0].name}' is another size in each: {' and '.join(map(str, twice))}"
        raise _differ(first, others[0], what, "join loops after that (join_inames)")
    return {
        "derived_sizes": sizes,
        "assumptions": assumptions,
        "target": target,
        "claims": _once(c for k in kernels for c in k.claims),
        "substitutions": _once(r for k in kernels for r in k.substitutions),
        "temporaries": tuple([t for k in kernels for t in k.temporaries]),
        "tags": {i: tag for k in kernels for i, tag in k.tags.items()},
        "priorities": _once(p for k in kernels for p in k.priorities),
        "separations": _once(c for k in kernels for c in k.separations),
        "preambles": tuple(sorted({p for k in kernels for p in k.preambles})),
    }


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))


def _other_options(first: Options, second: Options) -> str:
    names = [n for n in Options.__slots__ if getattr(first, n) != getattr(second, n)]
    return ", ".join(names)
