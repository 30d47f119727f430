"""`polygen.buffer_array`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.dataflow.read_sources import sources
from polygen.errors import InvalidArgument, NothingMatches
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import with_duplicates
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import SubstitutionRule, expand, rules_mentioning
from polygen.ir.tags import is_parallel
from polygen.language.parser import parse_expression
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Inames, Kind, Tag, Within, to_names, to_tag, transformation
from polygen.transforms.arrays.array_rewriting import ArrayName, Space, check_rewritable, to_space
from polygen.transforms.copies._staged_values import Selection, staged
from polygen.transforms.copies._storage_places import Storage
from polygen.transforms.copies.precompute import new_id

Init: TypeAlias = Annotated[
    str | ex.ExpressionNode | int | float,
    Kind("an expression", lambda _, v: isinstance(v, str | ex.ExpressionNode | int | float)),
]
Store: TypeAlias = Annotated[
    str | ex.ExpressionNode | bool,
    Kind(
        "an expression, or False",
        lambda _, v: v is False or isinstance(v, str | ex.ExpressionNode),
    ),
]


@transformation
def buffer_array(  # noqa: PLR0913, PLR0917  (Loo.py's arguments)
    kernel: Kernel,
    var_name: ArrayName,
    buffer_inames: Inames = (),
    init_expression: Init | None = None,
    store_expression: Store | None = None,
    within: Within | None = None,
    default_tag: Tag | None = "l.auto",
    temporary_scope: Space | None = None,
    fetch_bounding_box: bool = False,
) -> Kernel:
    """Keep the elements of an array that instructions change in a temporary, and write them once.

    The elements for all values of the buffer inames together are read before any of the
    instructions, unless these write them all first, and written back after all of them.

    Kind: order and storage.

    Requires:
        1. There are instructions that write the array, and each has one assignee, not updated
           atomically.
        2. Their subscripts are affine, and fit into a box of constant size.
        3. Each use of the array is in sight: none in verbatim C, in a call of another kernel.
        4. Nothing else touches these elements in the meantime.
        5. `init_expression` and `store_expression` leave the results as they are.  That a sum may
           start at 0 and be added to ``base`` in the end is not proved: it takes ``unsafe=True``.

    Parameters:
        var_name: the array.
        buffer_inames: the inames over which elements are gathered.
        init_expression: what the buffer holds at first, in terms of ``base``, the element of the
            array; that element if not given.
        store_expression: what is written back, in terms of ``base`` and ``buffer``; what the buffer
            holds if not given; nothing if False.
        within: the instructions: an id, a query, or several of these; all if not given.
        default_tag: the tag of the inames that read and write the elements; None for loops.
        temporary_scope: where the buffer lives; as for `precompute` if not given.
        fetch_bounding_box: whether a box around what is needed is read and written.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = out[i] + a[i,j]", name="rows",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.buffer_array(pg.add_dtypes(knl, {"out, a": "float32"}), "out")
        >>> print(pg.generate_code(knl, "c"))
        void rows(float const *restrict a, int const m, int const n, float *restrict out)
        {
            for (int i = 0; i < n; ++i) {
                float out_buf = out[i];
                for (int j = 0; j < m; ++j)
                    out_buf += a[i * m + j];
                out[i] = out_buf;
            }
        }

    Raises:
        UnknownArgument, UnknownIname: if the kernel has no such array or iname.
        NothingMatches, InvalidArgument: if 1 does not hold.
        FootprintNotAffine, FootprintNotConstant, NotSwept, ProofLimit: if 2 does not hold.
        AxisNotPossible, VerbatimNotPossible: if 3 does not hold.
        IllegalStep, CannotProve, NotTheSame: if 4 or 5 does not hold.
        NoLoopNest, DependencyCycle: if the new loops and those that are there cannot be nested.

    Source: Loo.py's transformation of this name.
    """
    check_rewritable(kernel, [var_name])
    rules = rules_mentioning(kernel.rules, var_name)
    plain = kernel.copy(
        instructions=tuple(
            [insn.map_expressions(lambda e: expand(e, rules)) for insn in kernel.instructions]
        )
    ).without_unused(rules)
    ids = _users(plain, var_name, within)
    init_id = new_id(kernel, f"{var_name}_init")
    name = kernel.new_name(f"{var_name}_buf")
    rule = _rule(plain, var_name)
    storage = Storage(
        temporary=name,
        insn_id=init_id,
        names={axis: f"{var_name}_init_{k}" for k, axis in enumerate(rule.arguments)},
        tag=None if default_tag is None else to_tag(default_tag),
        dtype=kernel.array(var_name).dtype,
        space=None if temporary_scope is None else to_space(temporary_scope),
        box=fetch_bounding_box,
    )
    selection = Selection(rule.name, None, ids, frozenset(to_names(buffer_inames)))
    read = plain.copy(
        instructions=tuple([_as_read(i, rule) if i.id in ids else i for i in plain.instructions]),
        substitutions=(*plain.substitutions, rule),
    )
    new = staged(read, selection, storage)
    new = new.copy(instructions=tuple(map(_as_written, new.instructions)))
    new = _stored(plain, new, init_id, ids, init_expression, store_expression)
    return new if init_expression is not None else _without_needless_start(new, init_id)


def _without_needless_start(kernel: Kernel, init_id: str) -> Kernel:
    """Return the kernel without what fills the buffer, if nobody sees what it writes."""
    start = kernel.assignment(init_id)
    (name,) = start.written_names
    reads = [r for r in references_by_name(kernel.expanded)[name] if not r.is_write]
    for reference in reads:
        found = sources(kernel.expanded, reference)
        if found is None or any(source.writer == init_id for source in found):
            return kernel
    left = [insn for insn in kernel.instructions if insn.id != init_id]
    used = NO_NAMES.union(*(i.within_inames | i.reduction_inames for i in left))
    gone = start.within_inames - used
    return kernel.copy(
        instructions=tuple([i.copy(depends_on=i.depends_on - {init_id}) for i in left]),
        domains=tuple([d for d in kernel.domains if not gone.issuperset(d.inames)]),
        tags={i: tag for i, tag in kernel.tags.items() if i not in gone},
        priorities=tuple([p for p in kernel.priorities if gone.isdisjoint(p)]),
    )


_WRITTEN = "__written"  # names of users do not begin so


def _users(kernel: Kernel, name: str, within: str | Sequence[str] | None) -> frozenset[str]:
    found = [
        insn
        for insn in matching(kernel, within)
        if name in insn.written_names or name in insn.read_names
    ]
    writers = [insn for insn in found if name in insn.written_names]
    if not writers:
        raise NothingMatches(
            f"no instruction that is looked at in kernel '{kernel.name}' writes '{name}'",
            where=caller_location(),
            remedy="what is only read, add_prefetch keeps in a temporary",
        )
    for insn in writers:
        if not isinstance(insn, Assignment) or insn.atomicity is not None:
            raise InvalidArgument(
                f"buffer_array: '{insn.id}' writes '{name}' atomically, or together with others",
                where=caller_location(),
                remedy="write plain assignments with one assignee each",
            )
    return frozenset(insn.id for insn in found)


def _rule(kernel: Kernel, name: str) -> SubstitutionRule:
    """Return a rule that stands for the elements of an array."""
    axes = tuple([f"{_WRITTEN}{axis}" for axis in range(len(kernel.array(name).shape or ()))])
    element = ex.element(ex.Variable(name), tuple([ex.Variable(axis) for axis in axes]))
    return SubstitutionRule(kernel.new_name(f"{name}_element"), axes, (), element)


def _as_read(insn: Instruction, rule: SubstitutionRule) -> Instruction:
    """Return an instruction that invokes the rule for each element it touches."""
    array = ex.name_of(rule.expression)

    def use(node: Expression) -> Expression:
        if isinstance(node, ex.Subscript) and ex.name_of(node) == array:
            return ex.Invocation(rule.name, None, ex.index_tuple(node), (), ())
        return node

    new = insn.map_reads(lambda e: walk.rewrite(e, use))
    if not isinstance(new, Assignment) or array not in new.written_names:
        return new
    written = ex.Invocation(rule.name, None, ex.index_of(new.assignee), (), ())
    both = ex.Several((written, new.expression))
    return new.copy(assignee=ex.Variable(_WRITTEN), expression=both)


def _as_written(insn: Instruction) -> Instruction:
    """Return an instruction that assigns again to what `_as_read` made of its assignee."""
    if not isinstance(insn, Assignment) or insn.assignee != ex.Variable(_WRITTEN):
        return insn
    assert isinstance(insn.expression, ex.Several)
    assignee, value = insn.expression.children
    return insn.copy(assignee=assignee, expression=value)


def _stored(
    old: Kernel,
    new: Kernel,
    init_id: str,
    ids: frozenset[str],
    init: str | ex.ExpressionNode | int | float | None,
    store: str | ex.ExpressionNode | bool | None,
) -> Kernel:
    """Return the kernel with the buffer's first values, and with what writes it back."""
    first = new.assignment(init_id)
    assert isinstance(first, Assignment)
    base, buffer = first.expression, first.assignee
    value = base if init is None else _said(init, {"base": base})
    first = first.copy(expression=value, depends_on=first.depends_on - ids)
    own = [i for i in new.inames if i in first.within_inames and i not in old.inames]
    array = ex.name_of(base)
    copies = {i: new.new_name(f"{array}_store{i.removeprefix(f'{array}_init')}") for i in own}
    names = {i: ex.Variable(copy) for i, copy in copies.items()}
    last = None
    if store is not False:
        put = buffer if store is None else _said(store, {"base": base, "buffer": buffer})
        last = replace(
            first,
            id=new_id(new, f"{array}_store"),
            assignee=walk.substitute(base, names),  # type: ignore[arg-type]
            expression=walk.substitute(put, names),
            within_inames=first.within_inames - {*own} | {*copies.values()},
            depends_on=ids | {init_id},
        )
    instructions = _in_order(new, first, last, ids)
    if last is None or not own:
        return new.copy(instructions=instructions)
    loops = () if is_parallel(new.tags.get(own[0])) else (tuple(copies.values()),)
    return new.copy(
        instructions=instructions,
        domains=(*new.domains, with_duplicates(new.home_domains[own[0]], copies)[-1]),
        tags={**new.tags, **{copies[i]: new.tags[i] for i in own if i in new.tags}},
        priorities=(*new.priorities, *[loop for loop in loops if len(loop) > 1]),
    )


def _said(given: Any, values: Mapping[str, Expression]) -> Expression:
    node = parse_expression(given) if isinstance(given, str) else given
    return walk.substitute(node, values)


def _in_order(
    kernel: Kernel, first: Assignment, last: Assignment | None, ids: frozenset[str]
) -> tuple[Instruction, ...]:
    """Return the instructions, with what writes the buffer back before what comes after it."""
    found: list[Instruction] = []
    remaining = set(ids)
    for insn in kernel.instructions:
        if insn.id == first.id:
            found.append(first)
            continue
        after = last is not None and insn.id not in ids and insn.depends_on & ids
        found.append(insn.copy(depends_on=insn.depends_on | {last.id}) if last and after else insn)
        remaining.discard(insn.id)
        if last is not None and insn.id in ids and not remaining:
            found.append(last)
    return tuple(found)
