"""`polygen.precompute`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from polygen.errors import InvalidArgument, NameTaken, UnknownRule, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.dtype import to_dtype
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule
from polygen.language.parser import parse_invocation
from polygen.language.rules import resolve_invocations
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import (
    Inames,
    Kind,
    Tag,
    Within,
    are_texts,
    is_new_name,
    to_names,
    to_tag,
    transformation,
)
from polygen.transforms.arrays.array_rewriting import Space, to_space
from polygen.transforms.copies._staged_values import Selection, made_asynchronous, staged
from polygen.transforms.copies._storage_places import Storage

_Uses: TypeAlias = str | ex.ExpressionNode | Sequence[str | ex.ExpressionNode]


def _are_uses(_kernel: Kernel, value: Any) -> bool:
    given: list[Any] = [*value] if isinstance(value, list | tuple) else [value]
    return bool(given) and all(isinstance(v, str | ex.ExpressionNode) for v in given)


def _each(value: _Uses) -> Sequence[Any]:
    return [value] if isinstance(value, str | ex.ExpressionNode) else value


def _are_axes(_kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, str | Sequence):
        return False
    given: list[object] = [*to_names(value)] if isinstance(value, str) else [*value]
    return all(isinstance(v, str | int) and not isinstance(v, bool) for v in given)


def _is_type(_kernel: Kernel, value: Any) -> bool:
    to_dtype(value)
    return True


Uses = Annotated[_Uses, Kind("a rule's name, an invocation, or several of these", _are_uses)]
Axes = Annotated[
    str | Sequence[str | int], Kind("names or numbers of a rule's arguments", _are_axes)
]
Type = Annotated[object, Kind("an element type", _is_type)]
LoopNames = Annotated[
    str | Sequence[str],
    Kind(
        "names of loops, 'i, j' or a sequence: new ones, or inames of the kernel",
        lambda knl, value: (
            are_texts(value)
            and all(name in knl.home_domains or is_new_name(knl, name) for name in to_names(value))
        ),
    ),
]
TemporaryName = Annotated[
    str,
    Kind(
        "a name that is not used yet, or that of a temporary",
        lambda knl, value: (
            isinstance(value, str)
            and (any(t.name == value for t in knl.temporaries) or is_new_name(knl, value))
        ),
    ),
]


def _is_new_id(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, str) or not value.isidentifier():
        return False
    if value in kernel.instructions_by_id:
        raise NameTaken(
            f"kernel '{kernel.name}' already has an instruction '{value}'", where=caller_location()
        )
    return True


NewId = Annotated[str, Kind("an id that no instruction has", _is_new_id)]


@transformation
def precompute(  # noqa: PLR0913  (Loo.py's arguments)
    kernel: Kernel,
    subst_use: Uses,
    sweep_inames: Inames = (),
    within: Within | None = None,
    *,
    storage_axes: Axes | None = None,
    temporary_name: TemporaryName | None = None,
    precompute_inames: LoopNames | None = None,
    precompute_outer_inames: Inames | None = None,
    default_tag: Tag | None = "l.auto",
    dtype: Type | None = None,
    fetch_bounding_box: bool = False,
    temporary_address_space: Space | None = None,
    compute_insn_id: NewId | None = None,
    asynchronous: bool = False,
) -> Kernel:
    """Compute the values of a substitution rule ahead of their uses, each once, into a temporary.

    What is needed for all values of the sweep inames together is found from the uses, exactly:
    nothing else is computed.  It is stored in a box, which begins where the uses
    of that iteration of the outer loops do; an axis along which only one value is needed is left
    out, and so are places that no use reads because of a stride.

    Unless it is given, the temporary is global if a swept or new iname is tagged ``g``, else local
    if one is tagged ``l``, else private; and it is computed within those inames around all uses
    that decide which values are needed, in whose loops what is read changes, or along whose axis
    of the hardware each index has a temporary of its own.

    Kind: order and storage.

    Requires:
        1. The rule is there, and something that is looked at uses it.
        2. What uses give to the rule is affine in inames and parameters, and fits into a box of
           constant size, or, in global memory, of a size that parameters say.
        3. Inames that decide what is needed are swept, or around all of these uses; and among the
           outer inames, if these are given.  Those on axes that share the temporary are swept.
        4. What the rule reads is the same ahead of the uses as where they are.

    Parameters:
        subst_use: the name of the rule, or ``"name$tag"`` for the uses with that tag; or one or
            several invocations of it, such as ``"f(i, 2*k)"``, which say what is needed.
        sweep_inames: the inames over which values are gathered.
        within: the instructions whose uses are served: an id, a pattern, or several of these; all
            if not given.
        storage_axes: arguments of the rule by name or number, and inames that it mentions: the
            axes of the temporary, in order.  Otherwise the inames, then the arguments, as far as
            there are several values along them.
        temporary_name: what the temporary is called; ``<rule>_0`` if not given.  That of one that
            is there: it is used, and made longer if need be; other uses of it come before, if they
            stand before in the text, or else after.
        precompute_inames: names of the loops that compute the values, for the first axes at least;
            the arguments' own names if not given, and ``<rule>_<iname>`` for an iname.  Inames
            that are there need a value for each place along the axis, counted from 0.
        precompute_outer_inames: the inames that the computation is within besides.
        default_tag: the tag of the new inames; None for loops.
        dtype: the type of the temporary; inferred if not given.
        fetch_bounding_box: compute a box around what is needed, in which some is not: simpler
            code where the exact set is not convex.
        temporary_address_space: where the temporary lives; if it is not given, or ``AUTO``, that
            follows from the tags of what is swept.
        compute_insn_id: the id of the new instruction; the rule's name if not given.
        asynchronous: as in `add_prefetch`, for a rule that is an element of an array, or a choice
            between one and a number: ``if(i < n, a[i], 0)``.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<4 }",
        ...     ["f(x) := exp(a[x])", "out[i,j] = f(i)*j"],
        ...     name="powers",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.precompute(knl, "f", temporary_name="power")
        >>> print(pg.generate_code(knl, "opencl"))
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        powers(__global float const *restrict a, int const n, __global float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                float const power = exp(a[i]);
                for (int j = 0; j < 4; ++j)
                    out[4 * i + j] = power * j;
            }
        }

    Raises:
        UnknownRule, NothingMatches: if 1 does not hold.
        FootprintNotAffine, FootprintNotConstant, OutsideFootprint: if 2 does not hold, or loops
            that are there are too short.
        ProofLimit: if they form too many separate pieces.
        NotSwept: if 3 does not hold.
        IllegalStep, CannotProve: if 4 does not hold.
        NoLoopNest: if the new loops and those of the uses cannot be nested.
        NotAsynchronous: if it is asynchronous, and no such copy from global to local memory.
        NameTaken, ReservedName, InvalidArgument: if a name is used by something else than an iname
            or a temporary that would do, or is none of the rule's.

    Source: Loo.py, section 2.4.4.
    """
    rule, tag, given = _uses(kernel, subst_use)
    selection = Selection(
        rule=rule.name,
        tag=tag,
        ids=frozenset(insn.id for insn in matching(kernel, within)),
        swept=frozenset(to_names(sweep_inames)),
        given=given,
    )
    names = {name: name for name in rule.arguments}
    names |= {iname: f"{rule.name}_{iname}" for iname in rule.inames}
    storage = Storage(
        temporary=temporary_name or kernel.new_name(rule.name),
        insn_id=compute_insn_id or new_id(kernel, rule.name),
        names=names,
        inames=to_names(precompute_inames or ()),
        axes=None if storage_axes is None else _axes(rule, storage_axes),
        outer=None
        if precompute_outer_inames is None
        else frozenset(to_names(precompute_outer_inames)),
        tag=None if default_tag is None else to_tag(default_tag),
        dtype=None if dtype is None else to_dtype(dtype),
        space=None if temporary_address_space is None else to_space(temporary_address_space),
        box=fetch_bounding_box,
    )
    new = staged(kernel, selection, storage)
    return made_asynchronous(new, storage.insn_id) if asynchronous else new


def new_id(kernel: Kernel, like: str) -> str:
    """Return an id that starts with `like` and that no instruction has."""
    found, count = like, 0
    while found in kernel.instructions_by_id:
        found, count = f"{like}_{count}", count + 1
    return found


_RULE_NAME = re.compile(r"\s*(\w+)\s*(?:\$\s*(\w+)\s*)?")


def _uses(
    kernel: Kernel, given: _Uses
) -> tuple[SubstitutionRule, str | None, tuple[tuple[Expression, ...], ...]]:
    """Return the rule, the tag of the uses, and what they need if that is said."""
    if isinstance(given, str) and (match := _RULE_NAME.fullmatch(given)):
        return _rule(kernel, match[1]), match[2], ()
    several = _each(given)
    if len(several) == 1 and several[0] is not given and isinstance(several[0], str):
        return _uses(kernel, several[0])
    found: list[ex.Invocation] = []
    for each in several:
        node = parse_invocation(each) if isinstance(each, str) else each
        text = each if isinstance(each, str) else show_expression(each)
        node = resolve_invocations(node, kernel.rules, text)
        if not isinstance(node, ex.Invocation):
            raise InvalidArgument(
                f"precompute: '{text}' is no invocation of a rule",
                where=caller_location(),
                remedy=did_you_mean(text, kernel.rules),
            )
        found.append(node)
    if len({(use.rule, use.tag) for use in found}) > 1:
        raise InvalidArgument(
            "precompute: these are invocations of several rules, or with several tags",
            where=caller_location(),
            remedy="precompute one after the other",
        )
    first = found[0]
    return kernel.rules[first.rule], first.tag, tuple((*u.arguments, *u.values) for u in found)


def _rule(kernel: Kernel, name: str) -> SubstitutionRule:
    if name not in kernel.rules:
        raise UnknownRule(
            f"kernel '{kernel.name}' has no rule '{name}'",
            where=caller_location(),
            remedy=did_you_mean(name, kernel.rules),
        )
    return kernel.rules[name]


def _axes(rule: SubstitutionRule, given: str | Sequence[str | int]) -> tuple[str, ...]:
    """Return the storage axes by name."""
    known = (*rule.arguments, *rule.inames)
    found: list[str] = []
    for axis in to_names(given) if isinstance(given, str) else given:
        if isinstance(axis, int) and 0 <= axis < len(rule.arguments):
            found.append(rule.arguments[axis])
        elif axis in known and axis not in found:
            found.append(str(axis))
        else:
            raise InvalidArgument(
                f"precompute: '{axis}' is no argument of rule '{rule.name}', or one twice",
                where=caller_location(),
                remedy=did_you_mean(str(axis), known),
            )
    return tuple(found)
