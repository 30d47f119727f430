"""`polygen.to_batched`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Any, cast

import islpy as isl

from polygen.errors import AxisNotPossible, InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.claims import Claim, Independent, Injective
from polygen.ir.domain import Domain
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import DimTags, Nested, Strided, layout_expressions
from polygen.ir.public import is_a
from polygen.ir.relation import MARK, make_relation
from polygen.ir.substitution import expand, rules_mentioning
from polygen.ir.tags import ForTag
from polygen.language.kernel_assembly import check_made
from polygen.source import caller_location
from polygen.transformation import Kind, Name, is_name, is_new_name, to_names, transformation
from polygen.transforms.arrays.array_rewriting import check_no_verbatim


def _is_count(kernel: Kernel, value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 0
    if not isinstance(value, str) or not is_name(kernel, value):
        return False
    return isinstance(kernel.variables.get(value), ValueArg) or is_new_name(kernel, value)


def _are_variables(kernel: Kernel, value: Any) -> bool:
    if not is_a(value, (Collection,)):
        return False
    names = to_names(value) if isinstance(value, str) else cast("Collection[object]", value)
    return all(isinstance(name, str) and bool(kernel.variable(name).name) for name in names)


Count = Annotated[int | str, Kind("a number from 0, or the name of a scalar argument", _is_count)]
Variables = Annotated[
    str | Collection[str],
    Kind("arguments and temporaries: 'a, b' or a collection of them", _are_variables),
]


@transformation(declared=True)
def to_batched(
    kernel: Kernel,
    nbatches: Count,
    batch_varying_args: Variables,
    batch_iname_prefix: Name = "ibatch",
    sequential: bool = False,
) -> Kernel:
    """Do what a kernel does several times, each time with other parts of some of its arguments.

    What varies has one more axis, the first one: its subscript is the number of the batch.  All
    else is the same for all batches, which come one after the other: a loop around all others, as
    far as priorities say so.  Steps can then move it, or tag it as parallel.

    A temporary in global memory varies, too, unless `sequential` is given; one that is private to
    work items, or to groups, is anew in each batch.

    Kind: change of meaning and interface.

    Requires:
        1. What varies are arguments or temporaries; a scalar argument among them, or a temporary,
           stands in no bound, shape, stride or assumption.
        2. Their strides are not given, and no verbatim C uses them.
        3. No claim speaks of what would be another array, or of instructions that touch something
           which does not vary.
        4. The result is well formed.

    Parameters:
        nbatches: how many batches: a number, or the name of a scalar argument, which is new or one
            of the kernel's.
        batch_varying_args: what varies.  A scalar argument becomes an array.
        batch_iname_prefix: how the name of the loop over the batches begins.
        sequential: the loop is tagged as sequential (``for``), and no temporary varies that is not
            named.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<4 and 0<=j<4 }", "y[i] = s*sum(j, a[i,j]*x[j])", name="small"
        ... )
        >>> knl = pg.add_dtypes(knl, {"a, x, s": "float32"})
        >>> print(pg.generate_code(pg.to_batched(knl, "n", "x, y"), "c"))
        void small(
            int const n,
            float const *restrict a,
            float const s,
            float const *restrict x,
            float *restrict y)
        {
            for (int ibatch = 0; ibatch < n; ++ibatch) {
                for (int i = 0; i < 4; ++i) {
                    float acc_j = 0.0f;
                    for (int j = 0; j < 4; ++j)
                        acc_j += a[4 * i + j] * x[4 * ibatch + j];
                    y[4 * ibatch + i] = s * acc_j;
                }
            }
        }

    Raises:
        UnknownArgument: if the kernel has no such argument or temporary.
        InvalidArgument: if 1 or 3 does not hold.
        AxisNotPossible, VerbatimNotPossible: if 2 does not hold.
        IllFormedKernel: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    given = batch_varying_args
    varying = set(to_names(given) if isinstance(given, str) else given)
    if not sequential:
        spaces = {t.name: kernel.address_space(t.name) for t in kernel.temporaries}
        shared = {n for n, space in spaces.items() if space is AddressSpace.GLOBAL}
        varying |= {t.name for t in kernel.temporaries if t.name in shared and not t.read_only}
    _check(kernel, varying)
    batch = _Batch(kernel, nbatches, kernel.new_name(batch_iname_prefix), frozenset(varying))
    new = batch.kernel(sequential=sequential)
    check_made(new)
    return new


class _Batch:
    """The batched form of a kernel's parts.

    Parameters:
        kernel: the kernel.
        count: how many batches.
        iname: that of the loop over them.
        varying: the variables that get an axis.
    """

    def __init__(self, kernel: Kernel, count: int | str, iname: str, varying: frozenset[str]):
        rules = {
            n: r for v in sorted(varying) for n, r in rules_mentioning(kernel.rules, v).items()
        }
        self._kernel = kernel.copy(
            instructions=tuple(
                [i.map_expressions(lambda e: expand(e, rules)) for i in kernel.instructions]
            )
        ).without_unused(rules)
        self._count, self._iname, self._varying = count, iname, varying

    def kernel(self, *, sequential: bool) -> Kernel:
        """Return the kernel that does the batches."""
        old, count, iname = self._kernel, self._count, self._iname
        head = "" if isinstance(count, int) else f"[{count}] -> "
        domain = Domain(isl.Set(f"{head}{{ [{iname}] : 0 <= {iname} < {count} }}"))
        loops = NO_NAMES.union(*(insn.within_inames for insn in old.instructions))
        added = isinstance(count, str) and count not in old.variables
        size = (ValueArg(str(count)),) if added else ()
        return old.copy(
            domains=(domain, *old.domains),
            instructions=tuple(map(self._instruction, old.instructions)),
            arguments=(*size, *map(self._variable, old.arguments)),
            temporaries=tuple(map(self._variable, old.temporaries)),
            priorities=(*old.priorities, *((iname, i) for i in old.inames if i in loops)),
            tags={**old.tags, iname: ForTag()} if sequential else old.tags,
        )

    def _instruction(self, insn: Instruction) -> Instruction:
        related = [
            make_relation(
                r.first,
                r.domain.flat.intersect(_equal(self._iname, self._iname + MARK)),
                (self._iname, *r.inames),
                (self._iname, *r.later_inames),
            )
            for r in insn.happens_after
        ]
        return insn.map_expressions(self._rewritten).copy(
            within_inames=insn.within_inames | {self._iname}, happens_after=frozenset(related)
        )

    def _rewritten(self, node: Expression) -> Expression:
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) in self._varying:
            index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
            own = (ex.Variable(self._iname), *map(self._rewritten, index))
            return ex.element(ex.Variable(ex.name_of(node)), own)
        return walk.rebuild(node, tuple([self._rewritten(part) for part in walk.parts(node)]))

    def _variable(self, variable: Any) -> Any:
        if variable.name not in self._varying:
            return variable
        extent = self._count if isinstance(self._count, int) else ex.Variable(self._count)
        if isinstance(variable, ValueArg):
            return GlobalArg(variable.name, variable.dtype, (extent,))
        names = variable.dim_names
        if names is not None:
            names = None if self._iname in names else (self._iname, *names)
        return replace(
            variable,
            shape=(extent, *(variable.shape or ())),
            dim_tags=_tags(variable.dim_tags),
            dim_names=names,
        )


def _tags(tags: DimTags | None) -> DimTags | None:
    """Return the tags with that of one more axis, the first one, around all others."""
    if tags is None:
        return None
    return (Nested(sum(isinstance(tag, Nested) for tag in tags)), *tags)


def _equal(first: str, second: str) -> isl.Set:
    return isl.Set(f"[{first}, {second}] -> {{ : {first} = {second} }}")


# --- what is refused


def _check(kernel: Kernel, varying: set[str]) -> None:
    check_no_verbatim(kernel, varying)
    fixed = _mentioned(kernel)
    for name in sorted(varying):
        variable = kernel.variables[name]
        if name in fixed:
            raise _invalid(f"'{name}' cannot vary: it stands in {fixed[name]}")
        if isinstance(variable, TemporaryVariable) and variable.read_only:
            raise _invalid(f"'{name}' cannot vary: it is a table of constants")
        tags = () if isinstance(variable, ValueArg) else variable.dim_tags or ()
        if any(isinstance(tag, Strided) for tag in tags):
            raise AxisNotPossible(
                f"the strides of '{name}' are given: nothing says where another batch begins",
                where=caller_location(),
                remedy="batch first, then say where elements lie (tag_array_axes)",
            )
    for claim in kernel.claims:
        _check_claim(kernel, claim, varying)


def _mentioned(kernel: Kernel) -> dict[str, str]:
    """Return where names stand that have to be the same for all batches."""
    found: dict[str, str] = {}
    for domain in (*kernel.domains, kernel.assumptions):
        found |= dict.fromkeys(domain.parameters, f"{domain}")
    for size in kernel.derived_sizes:
        found |= dict.fromkeys(size.names, f"the size {size}")
    for insn in kernel.instructions:
        for relation in insn.happens_after:
            found |= dict.fromkeys(relation.parameters, f"a dependency of '{insn.id}'")
    arrays: list[Any] = [v for v in kernel.variables.values() if not isinstance(v, ValueArg)]
    for array in arrays:
        for extent in (*(array.shape or ()), *layout_expressions(array)):
            found |= dict.fromkeys(walk.free_variables(extent), f"the shape of '{array.name}'")
    return found


def _check_claim(kernel: Kernel, claim: Claim, varying: set[str]) -> None:
    if isinstance(claim, Injective) and claim.array in varying:
        raise _invalid(f"'{claim.array}' cannot vary: {claim} says nothing of several batches")
    if isinstance(claim, Independent):
        insns = [kernel.without_rules.instruction(i) for i in (claim.first, claim.second)]
        first, second = ({*i.read_names, *i.written_names} for i in insns)
        written = {name for insn in insns for name in insn.written_names}
        shared = sorted((first & second & written) - varying)
        if shared:
            raise _invalid(f"{claim} says nothing of several batches, and '{shared[0]}' is one")


def _invalid(what: str) -> InvalidArgument:
    return InvalidArgument(
        f"to_batched: {what}",
        where=caller_location(),
        remedy="batch the kernel before other steps, or let other variables vary",
    )
