"""`polygen.collect_common_factors`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.integers.proving import proofs_are_on
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.analysis.wellformed.check import obligations
from polygen.errors import (
    InternalError,
    InvalidArgument,
    NewObligation,
    NothingMatches,
    Reassociated,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import expand, rules_mentioning
from polygen.ir.verify import excerpt
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, transformation
from polygen.transforms.arrays.array_rewriting import (
    check_axis,
    check_rewritable,
    is_temporary,
    redeclared,
)
from polygen.transforms.instructions._common_factors import (
    Factored,
    Factors,
    NotLinearError,
    common,
)
from polygen.transforms.instructions._expanded_products import multiplied_out

_AXIS = "axis "  # names of users do not begin so

TemporaryName = Annotated[str, Kind("the name of a temporary", is_temporary)]


def _are_axes(_: Kernel, value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    given = cast("Sequence[object]", value)
    return all(isinstance(a, int) and not isinstance(a, bool) and a >= 0 for a in given)


Axes = Annotated[Sequence[int], Kind("numbers of axes, from 0", _are_axes)]


@transformation
def collect_common_factors(
    kernel: Kernel, var_name: TemporaryName, vary_by_axes: Axes = ()
) -> Rearranged:
    r"""Multiply what is read of a temporary, instead of all that is added to it.

    Factors that all of the values have which are added to a temporary, or stored in it, are left
    out there, and every read of the temporary is multiplied by them.  Numbers stay where they are.

    Kind: expression rewrite: results are the same but for rounding, where all numbers are finite.

    Requires:
        1. Instructions store one value each in the temporary, not atomically: terms, among which
           may be the element itself.  Each use of it is in sight: none in verbatim C, in a call
           of another kernel, in the bounds of a loop.
        2. The values have a factor in common: a scalar argument, or an element of an array that
           nothing writes, or an expression of these, with inames between whose iterations the
           temporary passes nothing, or which are subscripts of the temporary along one of the
           axes that are named.
        3. The kernel permits reassociation (`set_options`).
        4. Types are known, and the temporary's is a number's, and that of the product.
        5. The factor may be evaluated wherever the temporary is read.

    Parameters:
        var_name: the temporary.
        vary_by_axes: axes of the temporary along which the factors may vary.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i,j<n }",
        ...     '''
        ...     <> acc = 0                       {id=start, inames=i}
        ...     acc = acc + c[i]*a[i,j]*x[j]     {id=add, dep=start}
        ...     out[i] = acc                     {dep=add}
        ...     ''',
        ... )
        >>> knl = pg.add_dtypes(knl, {"a, c, x": "float32"})
        >>> knl = pg.collect_common_factors(knl, "acc")
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] acc = 0  {id=start}
        [i, j] acc = acc + a[i, j]*x[j]  {id=add, dep=start}
        [i] out[i] = c[i]*acc  {id=insn, dep=add}

    Raises:
        UnknownArgument: if the kernel has no such temporary.
        InvalidArgument, VerbatimNotPossible, AxisNotPossible: if 1 or 4 does not hold.
        NothingMatches: if 2 does not hold.
        Reassociated: if 3 does not hold.
        TypeNotFound: if types are not known.
        OutOfBounds, NewObligation: if 5 does not hold.

    Source: Loo.py's transformation ``collect_common_factors_on_increment``.
    """
    for axis in vary_by_axes:
        check_axis(kernel, var_name, axis)
    plain = _without_rules(kernel, var_name)
    _check(plain, var_name)
    writers = [_Writer(plain, insn, vary_by_axes) for insn in _writers(plain, var_name)]
    found = common({w.insn.id: w.factors for w in writers})
    if not found:
        raise NothingMatches(
            f"what is stored in '{var_name}' has no factor in common that could be taken out",
            where=caller_location(),
            excerpt=excerpt(kernel, *(w.insn.id for w in writers)),
            remedy="a factor is not written in the kernel, and the same wherever the element is "
            "used; one that varies with subscripts needs vary_by_axes",
        )
    known = {text: node for w in writers for text, node in w.factored.known.items()}
    factors = [known[text] for text in sorted(found) for _ in range(found[text])]
    new = _typed(plain, var_name, factors)
    written = {w.insn.id: w.without(found, factors) for w in writers}
    new = new.copy(
        instructions=tuple(
            [written.get(i.id) or _multiplied(i, var_name, factors) for i in new.instructions]
        )
    )
    _check_evaluated(kernel, new)
    return Rearranged(new, restated=new)


def _without_rules(kernel: Kernel, name: str) -> Kernel:
    """Return the kernel with what rules stand for that mention a variable, or say what it is."""
    mentioning = rules_mentioning(kernel.rules, name)

    def plain(insn: Instruction) -> Instruction:
        rules = kernel.rules if name in insn.written_names else mentioning
        return insn.map_expressions(lambda e: expand(e, rules))

    new = kernel.copy(instructions=tuple(map(plain, kernel.instructions)))
    return new.without_unused(kernel.rules)


def _writers(kernel: Kernel, name: str) -> list[Assignment]:
    found: list[Assignment] = []
    for insn in kernel.writers.get(name, ()):
        if not isinstance(insn, Assignment) or insn.atomicity is not None:
            raise _refusal(kernel, insn, f"writes '{name}' atomically, or together with others")
        index = NO_NAMES.union(*map(walk.free_variables, ex.index_of(insn.assignee)))
        if name in index.union(*map(walk.free_variables, insn.predicates)):
            raise _refusal(kernel, insn, f"asks '{name}' which element to write, or whether")
        found.append(insn)
    return found


def _refusal(kernel: Kernel, insn: Instruction, why: str) -> InvalidArgument:
    return InvalidArgument(
        f"collect_common_factors: instruction '{insn.id}' {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn.id),
        remedy="factors are collected of what is stored, or added to what is there, one by one",
    )


def _check(kernel: Kernel, name: str) -> None:
    check_rewritable(kernel, [name])
    for domain in kernel.domains:
        if name in domain.parameters:
            raise InvalidArgument(
                f"collect_common_factors: '{name}' is a bound in {domain}",
                where=caller_location(),
                remedy="copy it to another temporary for the bounds",
            )
    if not kernel.options.allow_reassociation:
        raise Reassociated(
            f"collect_common_factors would round what '{name}' holds otherwise, which kernel "
            f"'{kernel.name}' does not permit (allow_reassociation is False)",
            where=caller_location(),
            remedy="permit it: set_options(kernel, allow_reassociation=True)",
        )


@dataclass
class _Writer:
    """An instruction that stores values, and their factors.

    In factors, an iname that is a subscript stands for the axis.
    """

    kernel: Kernel
    insn: Assignment
    axes: Sequence[int]

    def __post_init__(self) -> None:
        name = self.insn.written
        index = ex.index_of(self.insn.assignee)
        self._values: dict[str, Expression] = {}
        for axis in self.axes:
            subscript = index[axis]
            if isinstance(subscript, ex.Variable) and subscript.name in self.kernel.inames:
                self._values[subscript.name] = ex.Variable(f"{_AXIS}{axis}")
        self._fixed = _fixed_inames(self.kernel.expanded, name)
        self.factored = Factored(self.insn.assignee, self._factor)
        try:
            self.factors: Factors = self.factored.of(self.insn.expression)
        except NotLinearError as error:
            text = show_expression(error.where)
            raise _refusal(self.kernel, self.insn, f"uses '{name}' in '{text}'") from None

    def _factor(self, node: Expression, reduced: frozenset[str]) -> Expression | None:
        if walk.reductions(node) or isinstance(node, int | float):
            return None
        names = walk.free_variables(node)
        for name in names - self._values.keys() - self._fixed:
            argument = isinstance(self.kernel.variables.get(name), ValueArg)
            if not argument and not is_never_written(self.kernel, name):
                return None
        return walk.substitute(node, self._values) if names.isdisjoint(reduced) else None

    def without(self, found: Counter[str], factors: Sequence[Expression]) -> Instruction:
        """Return the instruction without factors: with them, its value is what it was."""
        value = self.factored.without(self.insn.expression, found)
        own = self.insn.assignee
        times = _at(factors, ex.index_of(own))
        before = _replaced(self.insn.expression, own, ex.product_of(*times, own))
        if multiplied_out(before) != multiplied_out(ex.product_of(*times, value)):
            raise InternalError(f"'{show_expression(value)}' lacks other factors than it should")
        return self.insn.copy(expression=value)


def _at(factors: Sequence[Expression], index: Sequence[Expression]) -> list[Expression]:
    """Return what factors are for an element."""
    axes = {f"{_AXIS}{axis}": value for axis, value in enumerate(index)}
    return [walk.substitute(factor, axes) for factor in factors]


def _replaced(node: Expression, old: Expression, new: Expression) -> Expression:
    if node == old:
        return new
    return walk.rebuild(node, tuple([_replaced(part, old, new) for part in walk.parts(node)]))


def _fixed_inames(kernel: Kernel, name: str) -> frozenset[str]:
    """Return inames between whose iterations a temporary passes nothing."""
    now = apart(kernel, name, common_inames(kernel, name))
    while now and not passes_nothing(kernel, name, now):
        loops = [i for i in order_of(kernel).loops(users(kernel, name)[0]) if i in now]
        if not loops:
            return frozenset()
        now -= {loops[-1]}
    return now


def _multiplied(insn: Instruction, name: str, factors: Sequence[Expression]) -> Instruction:
    """Return an instruction that multiplies what it reads of a temporary."""

    def rewritten(node: Expression) -> Expression:
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) == name:
            index = tuple(map(rewritten, ex.index_of(node)))
            return ex.product_of(*_at(factors, index), ex.element(ex.Variable(name), index))
        return walk.rebuild(node, tuple([rewritten(part) for part in walk.parts(node)]))

    return insn.map_reads(rewritten)


def _typed(kernel: Kernel, name: str, factors: Sequence[Expression]) -> Kernel:
    """Return the kernel with the type that the temporary has now.

    Raises:
        InvalidArgument: if it is of no number's type, or a product with the factors of another.
    """
    inferred = infer_types(kernel.expanded)
    dtype = inferred.array(name).dtype
    known: Mapping[str, Any] = {
        **kinds(inferred),
        **{f"{_AXIS}{axis}": int for axis in range(len(kernel.array(name).shape or ()))},
    }
    if dtype is not None and dtype.kind == "b":
        raise InvalidArgument(
            f"collect_common_factors: '{name}' is of type bool, and truth values have no factors",
            where=caller_location(),
            remedy="name a temporary that numbers are stored in",
        )
    product = type_of(ex.product_of(*factors, ex.Variable(name)), known)
    if product != known[name]:
        raise InvalidArgument(
            f"collect_common_factors: '{name}' is of type {dtype}, and multiplied by the factors "
            f"it would be of type {product}",
            where=caller_location(),
            remedy=f"declare '{name}' with that type",
        )
    return redeclared(kernel, {name: replace(kernel.array(name), dtype=dtype)})


def _check_evaluated(old: Kernel, new: Kernel) -> None:
    """Check that factors may be evaluated where they stand now."""
    if not proofs_are_on():
        return
    added = [o for o in obligations(new) if o not in obligations(old)]
    if added:
        raise NewObligation(
            f"collect_common_factors would make kernel '{new.name}' one that is well formed only "
            f"if, in '{added[0].instructions[0]}', {added[0].what}; data decides that",
            where=caller_location(),
            excerpt=excerpt(new, *added[0].instructions),
            remedy="if you know that it is so, collect_common_factors(..., unsafe=True) takes the "
            "step and notes it in the kernel",
        )
