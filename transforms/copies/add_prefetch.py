"""`polygen.add_prefetch`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from polygen.analysis.expansion.values_to_precompute import Subscripts
from polygen.errors import InvalidArgument, ShapeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Separate, Vector
from polygen.ir.substitution import SubstitutionRule, rules_mentioning
from polygen.ir.tags import InameTag, UnrollTag
from polygen.language.parser import parse_expression
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import (
    Inames,
    Kind,
    NewName,
    PositiveInt,
    Tag,
    Within,
    to_names,
    to_tag,
    transformation,
)
from polygen.transforms.arrays.array_rewriting import Space, to_space
from polygen.transforms.copies._staged_values import Selection, made_asynchronous, staged
from polygen.transforms.copies._storage_places import Storage
from polygen.transforms.copies._vector_loads import with_vector_loads
from polygen.transforms.copies.precompute import LoopNames, NewId, TemporaryName, new_id
from polygen.transforms.rules.rewritten_rules import with_rules_rewritten

_Tuple: TypeAlias = tuple[str | int | ex.ExpressionNode, ...]


def _are_subscripts(_kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    groups: list[Any] = [*value] if value and isinstance(value[0], list | tuple) else [value]
    return all(isinstance(group, list | tuple) and _is_tuple([*group]) for group in groups)


def _is_tuple(group: list[Any]) -> bool:
    return all(isinstance(v, str | int | ex.ExpressionNode) for v in group)


FootprintSubscripts = Annotated[
    Sequence[_Tuple] | _Tuple,
    Kind("a tuple of subscripts, or a list of such tuples", _are_subscripts),
]


@transformation
def add_prefetch(  # noqa: PLR0913, PLR0917  (Loo.py's arguments)
    kernel: Kernel,
    var_name: str,
    sweep_inames: Inames = (),
    dim_arg_names: LoopNames | None = None,
    default_tag: Tag | None = "l.auto",
    rule_name: NewName | None = None,
    temporary_name: TemporaryName | None = None,
    temporary_address_space: Space | None = None,
    footprint_subscripts: FootprintSubscripts | None = None,
    fetch_bounding_box: bool | None = None,
    fetch_outer_inames: Inames | None = None,
    prefetch_insn_id: NewId | None = None,
    within: Within | None = None,
    vector_width: PositiveInt | None = None,
    asynchronous: bool = False,
) -> Kernel:
    """Copy what is read of an array ahead, each element once, and read the copy instead.

    The reads of the array become uses of a rule, and that is precomputed: what `precompute` says of
    the elements that are copied, of the temporary and of the loops around holds here, too.

    Kind: order and storage.

    Requires:
        1. The variable is an array of the kernel, and something that is looked at reads it.
        2. The subscripts are affine in inames and parameters, and what they reach fits into a box
           of constant size, in global memory of one that parameters say; or the footprint is given.
        3. Inames that decide what is reached are swept, or around all of these reads.
        4. The array is the same ahead of the reads as where they are.
        5. If there is a vector width: neighbours are copied to neighbours, as many at least.
        6. If it is asynchronous: the copy is in local memory, and of the array's type.

    Parameters:
        var_name: the array.  With subscripts, as in ``"a[i, :]"``, they say what is copied; ``:``
            is all of an axis.
        sweep_inames: the inames over which elements are gathered.
        dim_arg_names: names of the loops that copy, for each axis of the array, those along which
            one element is reached included; ``<array>_dim_<axis>`` if not given.  Inames that are
            there will do, as in `precompute`.
        default_tag: the tag of these loops; None for loops.  Along an axis of vectors, or of
            separate arrays, they are unrolled, unless it is None.
        rule_name: names the copying instruction: ``<array>_fetch_rule`` if not given.
        temporary_name: what the copy is called; ``<array>_fetch`` if not given.  A temporary that
            is there will do, as in `precompute`.
        temporary_address_space: where it lives.
        footprint_subscripts: what is copied: a tuple with a subscript for each axis (text, number
            or expression; ``":"`` for all of an axis), or a list of such tuples.
        fetch_bounding_box: copy a box around what is reached, or exactly that; if not given, a box
            where it takes fewer conditions, as around the cross of a stencil.  Neither has
            elements outside of the array.
        fetch_outer_inames: the inames that the copying is within besides.
        prefetch_insn_id: the id of the new instruction.
        within: the instructions whose reads are served: an id, a pattern, or several of these; all
            if not given.
        vector_width: how many neighbours are copied at once, as a vector; those at the rim that
            do not fill one are copied one by one, by another instruction.  One by one if not given.
            Where the array says how it is aligned, vectors begin where it has one that is.
            Loads are aligned, of 128 bits for four floats, if the array is known to be
            (``alignment=16``), and vectors to begin at multiples of their size: because of what
            is assumed (``m mod 4 = 0``), of padding (``N0(pad_to=4)``), or constant extents.
        asynchronous: whether the copy, which then is in local memory, may be under way while the
            work items go on, without passing through registers: until the barrier that others wait
            at for what was copied.  With `double_buffer`, that is one iteration.  What is computed
            is the same.  CUDA has such copies, of 4, 8 or 16 bytes at once, from compute
            capability 8.0 on; on other devices, and other targets, they are copies as any.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = a[i]*a[i] + j", name="squares"
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.add_prefetch(knl, "a")
        >>> print(pg.generate_code(knl, "c"))
        void squares(float const *restrict a, int const n, float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                float const a_fetch = a[i];
                for (int j = 0; j < 4; ++j)
                    out[4 * i + j] = a_fetch * a_fetch + j;
            }
        }

    Raises:
        UnknownArgument, NothingMatches: if 1 does not hold.
        ShapeNotFound: if a kernel that is not known is given part of the array, which has no shape.
        FootprintNotAffine, FootprintNotConstant, OutsideFootprint: if 2 does not hold.
        ProofLimit: if they form too many separate pieces.
        NotSwept: if 3 does not hold.
        IllegalStep, CannotProve: if 4 does not hold.
        NotVectorizable: if 5 does not hold.
        NotAsynchronous: if 6 does not hold.
        NoLoopNest: if the new loops and those of the uses cannot be nested.
        NameTaken, ReservedName, InvalidArgument: if a name is used already, or if there are not as
            many names or subscripts as the array has axes.

    Source: Loo.py, section 2.4.4.
    """
    name, given = _array_and_footprint(kernel, var_name, footprint_subscripts)
    shape = _shape(kernel, name)
    rule_id = rule_name or kernel.new_name(f"{name}_fetch_rule")
    rule = _reading_rule(name, len(shape), rule_id)
    dims = dict(
        zip(rule.arguments, _dim_names(kernel, name, len(shape), dim_arg_names), strict=True)
    )
    ids = frozenset(insn.id for insn in matching(kernel, within))
    temporary = temporary_name or kernel.new_name(f"{name}_fetch")
    reading = _with_rule(kernel, name, rule, ids, {rule_id, temporary, *dims.values()})
    selection = Selection(rule_id, None, ids, frozenset(to_names(sweep_inames)), given, shape)
    storage = Storage(
        temporary=temporary,
        insn_id=prefetch_insn_id or new_id(kernel, rule_id),
        names=dims,
        named=None if dim_arg_names is None else dims,
        outer=None if fetch_outer_inames is None else frozenset(to_names(fetch_outer_inames)),
        tag=None if default_tag is None else to_tag(default_tag),
        tags=None if default_tag is None else _tags_of_parts(kernel, name, rule.arguments),
        space=None if temporary_address_space is None else to_space(temporary_address_space),
        box=fetch_bounding_box,
    )
    new = staged(reading, selection, storage)
    if asynchronous:
        new = made_asynchronous(new, storage.insn_id)
    return new if vector_width is None else with_vector_loads(new, storage.insn_id, vector_width)


def _reading_rule(name: str, rank: int, rule_id: str) -> SubstitutionRule:
    arguments = tuple(f"{name}_dim_{axis}" for axis in range(rank))
    return SubstitutionRule(
        rule_id, arguments, (), _read(name, [ex.Variable(a) for a in arguments])
    )


def _read(name: str, index: Sequence[Expression]) -> Expression:
    if not index:
        return ex.Variable(name)
    return ex.Subscript(ex.Variable(name), index[0] if len(index) == 1 else tuple(index))


def _with_rule(
    kernel: Kernel, name: str, rule: SubstitutionRule, ids: frozenset[str], taken: set[str]
) -> Kernel:
    """Return the kernel with the reads of an array as uses of a rule; other new names are taken."""

    def used(node: Expression) -> Expression:
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) == name:
            index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
            return ex.Invocation(rule.name, None, tuple([used(i) for i in index]), (), ())
        if name not in walk.free_variables(node):
            return node
        return walk.rebuild(node, tuple([used(p) for p in walk.parts(node)]))

    mentioning = rules_mentioning(kernel.rules, name)
    new = with_rules_rewritten(kernel, ids, mentioning, used, frozenset({name}), frozenset(taken))
    return new.copy(substitutions=(*new.substitutions, rule))


def _tags_of_parts(kernel: Kernel, name: str, axes: Sequence[str]) -> dict[str, InameTag]:
    """Return tags for axes along which code has to say which component, or which array, it is."""
    layout = kernel.array(name).dim_tags or ()
    return {
        axis: UnrollTag()
        for axis, tag in zip(axes, layout, strict=False)
        if isinstance(tag, Vector | Separate)
    }


def _dim_names(
    kernel: Kernel, name: str, rank: int, given: str | Sequence[str] | None
) -> tuple[str, ...]:
    if given is None:
        return tuple(kernel.new_name(f"{name}_dim_{axis}") for axis in range(rank))
    names = to_names(given)
    if len(names) != rank:
        raise InvalidArgument(
            f"add_prefetch: there are {len(names)} dim_arg_names, but '{name}' has {rank} axes",
            where=caller_location(),
            remedy="name the loop over each axis",
        )
    return names


# --- footprints that are given

_SUBSCRIPTED = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*", re.DOTALL)


def _shape(kernel: Kernel, name: str) -> tuple[Expression, ...]:
    shape = kernel.array(name).shape
    if shape is not None:
        return shape
    raise ShapeNotFound(
        f"the shape of '{name}' is not known yet: a kernel that is not known is given part of it",
        where=caller_location(),
        remedy=f"merge the kernels first, or declare it: GlobalArg('{name}', shape=...)",
    )


def _array_and_footprint(
    kernel: Kernel, var_name: str, subscripts: Any
) -> tuple[str, tuple[Subscripts, ...]]:
    """Return the array, and what is said to be copied."""
    name, groups = var_name.strip(), []
    if match := _SUBSCRIPTED.fullmatch(var_name):
        name, groups = match[1], [_split(match[2])]
    if subscripts is not None:
        if groups:
            raise InvalidArgument(
                "add_prefetch: var_name and footprint_subscripts both say what is copied",
                where=caller_location(),
                remedy="leave one of them out",
            )
        groups = list(subscripts) if isinstance(subscripts[0], list | tuple) else [subscripts]
    variable = kernel.variable(name)
    if isinstance(variable, ValueArg):
        raise InvalidArgument(
            f"add_prefetch: '{name}' is a scalar argument: there is nothing to copy",
            where=caller_location(),
            remedy="name an array",
        )
    rank = len(variable.shape or ())
    return name, tuple(_subscripts(name, rank, group) for group in groups)


def _split(text: str) -> list[str]:
    """Return the subscripts that a text with commas lists."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _subscripts(name: str, rank: int, group: Sequence[Any]) -> Subscripts:
    if len(group) != rank:
        raise InvalidArgument(
            f"add_prefetch: there are {len(group)} subscripts, but '{name}' has {rank} axes",
            where=caller_location(),
            remedy="write a subscript for each axis, ':' for all of it",
        )
    return tuple(_subscript(part) for part in group)


def _subscript(given: str | int | ex.ExpressionNode) -> Expression | None:
    if isinstance(given, str):
        return None if given.strip() == ":" else parse_expression(given)
    return given
