"""Decides whether a variable has the type of the values that are stored in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import numpy as np

from polygen.analysis.typing.expression_types import opposite_of, type_of
from polygen.analysis.typing.index_arithmetic import is_arithmetic, written_out
from polygen.analysis.typing.inference import infer_types, kinds, sizes
from polygen.analysis.typing.kinds import Kind, default_dtype, is_index, same_kind
from polygen.errors import TypeMismatch, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.dtype import DType, is_bfloat16, is_exact
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Result, facts_of
from polygen.ir.remembered import per_kernel
from polygen.ir.substitution import expand


@per_kernel
def keeps_type(kernel: Kernel, name: str, writer: str) -> bool:
    """Tell whether what is read from a variable has the type of what was written, for certain.

    A number without a type of its own, such as ``2``, takes on that of a variable that it is
    stored in: ``t*a[i]`` with ``t = 2`` may then have another type than ``2*a[i]``.

    Parameters:
        kernel: the kernel.
        name: the variable.
        writer: the instruction that wrote what is read.
    """
    variable = kernel.variables[name]
    if not isinstance(variable, GlobalArg | TemporaryVariable) or is_bfloat16(variable.dtype):
        return False
    if variable.dtype is None and _is_copy(kernel, variable):
        return True
    dtype = known_kinds(kernel).get(name)
    if dtype is not None:
        found = list(_written(kernel, name, writer))
        if dtype == np.int64 and found and all(f and is_index(f[0]) and f[1] for f in found):
            return _is_index(kernel, name) or _is_counted(kernel, name)
        if dtype == np.float64 and set(found) == {(float, True)}:
            return _is_counted(kernel, name)
        return all(_has_type(one, dtype) for one in found)
    if isinstance(variable, GlobalArg):
        return False  # a call decides
    # Then its type is that of what is written, if that is one and the same.
    written = [kind for w in kernel.writers.get(name, ()) for kind in _written(kernel, name, w.id)]
    own = all(found is not None and isinstance(found[0], np.dtype) for found in written)
    if not own:
        return False
    return (len(set(written)) == 1 and _is_known(written[0])) or len(_stored(kernel, name)) == 1


@per_kernel
def may_wrap(kernel: Kernel, node: Expression) -> bool:
    """Tell whether a value wraps around where the same in a subscript does not.

    Integers of 32 bits with a sign are taken not to: they are what inames beside small ones are.

    Parameters:
        kernel: the kernel.
        node: an expression in it.
    """
    if not is_arithmetic(written_out(node)):
        return False
    try:
        kind = type_of(expand(node, kernel.rules), known_kinds(kernel))
    except TypeNotFound:
        return False
    if not isinstance(kind, np.dtype):
        return False
    return kind.kind == "u" or (kind.kind == "i" and kind.itemsize < 4)


def kept_in(kernel: Kernel, part: Expression) -> DType | None:
    """Return NumPy's type for integers where a number has no type of its own: an index.

    That is what a variable has to be declared with to keep what `argmin` finds; None stands for
    the type that follows from what is written.
    """
    try:
        kind = type_of(expand(part, kernel.rules), kinds(kernel))
    except TypeNotFound:
        return None  # it follows from those that will be declared
    return default_dtype(kind) if is_index(kind) else None


def as_stored(kernel: Kernel, name: str, writer: str, value: Expression) -> Expression | None:
    """Return what a variable holds after a value was stored in it; None if its type is not known.

    Parameters:
        kernel: the kernel.
        name: the variable.
        writer: the instruction that stored it.
        value: the value.
    """
    if keeps_type(kernel, name, writer):
        return value
    stored = converted_to(kernel, name, writer)
    return None if stored is None else ex.converted(stored, value)


@per_kernel
def converted_to(kernel: Kernel, name: str, writer: str) -> str | None:
    """Return the type to which a variable converts what an instruction writes, or None.

    Floating-point numbers are rounded to another floating-point type, and numbers without a type
    of their own, such as ``2`` and inames, take on that of the variable.  None also if it is not
    known for certain, or if types of other kinds are converted.

    Parameters:
        kernel: the kernel.
        name: the variable.
        writer: the instruction that wrote what is read.
    """
    variable, dtype = kernel.variables[name], known_kinds(kernel).get(name)
    if not isinstance(dtype, np.dtype) or is_bfloat16(variable.dtype):
        return None
    for found in _written(kernel, name, writer):
        if found is None or not found[1]:
            return None
        is_weak = isinstance(found[0], type) and variable.dtype is not None
        if not (is_weak or _is_rounded(found[0], dtype)):
            return None
    return dtype.name


def _is_rounded(kind: Kind, dtype: DType) -> bool:
    """Tell whether a value is of another floating-point type than this one."""
    if not isinstance(kind, np.dtype) or {kind.kind, dtype.kind} != {"f"}:
        return False
    return not is_bfloat16(kind) and kind != dtype


def _is_index(kernel: Kernel, name: str) -> bool:
    """Tell whether a variable is only read as an index that `argmin` or `argmax` passes on.

    If the index that it finds is a value by itself, it is stored as int64 where nothing else is
    said: so a number without a type of its own, such as an iname, may as well have that one before.
    """
    for insn in kernel.instructions:
        if name not in insn.read_names:
            continue
        if not isinstance(insn, Assigning):
            return False
        others = [*insn.predicates, *(i for a in insn.assignees for i in ex.index_of(a))]
        for value in insn.values:
            whole = value.aggregate if isinstance(value, ex.Component) else value
            operand = whole.operand if isinstance(whole, ex.Reduction) else None
            if isinstance(value, ex.Component) and isinstance(operand, ex.Several):
                first, *indices = operand.children
                others += [first, *(i for index in indices for i in ex.index_of(index))]
            else:
                others.append(value)
        if any(name in walk.free_variables(other) for other in others):
            return False
    return True


def _is_counted(kernel: Kernel, name: str) -> bool:
    """Tell whether a variable is only read by reductions, of which nothing but the result is kept.

    Their accumulators are of int64, or float64, where nothing else is said, and what is kept is
    converted from these: so a number without a type of its own may as well have that one before.
    """
    for insn in kernel.instructions:
        if name not in insn.read_names:
            continue
        if not isinstance(insn, Assigning) or isinstance(insn, CInstruction):
            return False
        others = [*insn.predicates, *(i for a in insn.assignees for i in ex.index_of(a))]
        for assignee, value in insn.pairs:
            if not isinstance(value, ex.Reduction) or not isinstance(value.operand, ex.Subscript):
                others.append(value)
                continue
            others += ex.index_of(value.operand)
            kept = ex.name_of(assignee)
            alone = kernel.variables[kept].dtype is not None or len(kernel.writers[kept]) == 1
            is_result = isinstance(kernel.variables[kept], GlobalArg) and alone
            if ex.name_of(value.operand) == name and not (is_result or _is_counted(kernel, kept)):
                return False
        if any(name in walk.free_variables(other) for other in others):
            return False
    return True


def _is_copy(kernel: Kernel, variable: GlobalArg | TemporaryVariable) -> bool:
    """Tell whether a temporary holds what one instruction reads from one other array."""
    writers = kernel.writers.get(variable.name, ())
    if len(writers) != 1 or not isinstance(variable, TemporaryVariable):
        return False
    values = writers[0].values
    if len(values) != 1 or not isinstance(values[0], ex.Subscript | ex.Variable):
        return False
    read = kernel.variables.get(ex.name_of(values[0]))
    if not isinstance(read, GlobalArg | TemporaryVariable) or read is variable:
        return False
    return not is_bfloat16(read.dtype)


@per_kernel
def known_kinds(kernel: Kernel) -> Mapping[str, Kind]:
    """Return the kinds of names: of temporaries too, where they follow from what is declared."""
    inferred = {*sizes(kernel), *(v.name for v in kernel.temporaries)}
    if any(v.dtype is None for name, v in kernel.variables.items() if name not in inferred):
        return {**kinds(kernel), **_that_follow(kernel)}
    return kinds(infer_types(kernel))


def _that_follow(kernel: Kernel) -> Mapping[str, Kind]:
    """Return the kinds of those temporaries that follow from types that are declared."""
    open_ones = [t.name for t in kernel.temporaries if t.dtype is None]
    known = {name for name, v in kernel.variables.items() if v.dtype is not None} | sizes(kernel)
    found: list[str] = []
    for _ in open_ones:
        new = [n for n in open_ones if n not in found and _follows(kernel, n, {*known, *found})]
        if not new:
            break
        found += new
    if not found:
        return {}
    try:
        inferred = kinds(infer_types(kernel, complete=False))
    except TypeMismatch:  # which whoever needs all types will hear of
        return {}
    return {name: inferred[name] for name in found if name in inferred}


def _follows(kernel: Kernel, name: str, known: Set[str]) -> bool:
    """Tell whether all that is written to a variable has types that are known."""
    writers = kernel.writers.get(name, ())
    if not writers or any(isinstance(w, CInstruction) for w in writers):
        return False
    values = [value for w in writers for target, value in w.pairs if ex.name_of(target) == name]
    read = NO_NAMES.union(*map(walk.free_variables, values))
    return read.intersection(kernel.variables) <= {*known, name}


def same_type(old: Kernel, name: str, new: Kernel, new_name: str) -> bool:
    """Tell whether a variable of one kernel has the type of one of another, for certain.

    The instructions that write them are the same, and write the same values.
    """
    variables = old.variables[name], new.variables[new_name]
    if len({is_bfloat16(variable.dtype) for variable in variables}) > 1:
        return False
    first, second = known_kinds(old).get(name), known_kinds(new).get(new_name)
    if first is not None and second is not None:
        return same_kind(first, second)
    ids = [[w.id for w in k.writers.get(n, ())] for k, n in ((old, name), (new, new_name))]
    return first is second is None and name == new_name and ids[0] == ids[1]


def is_of_type(kernel: Kernel, node: Expression, part: Expression) -> bool:
    """Tell whether an expression is known to have the type of one of its parts."""
    known = known_kinds(kernel)
    if not walk.free_variables(node).intersection(kernel.variables) <= known.keys():
        return False
    return same_kind(type_of(node, known), type_of(part, known))


def _has_type(found: tuple[Kind, bool] | None, dtype: Kind) -> bool:
    """Tell whether a value is known to be of a type of its own, and this one."""
    if found is None or not found[1]:
        return False
    # NumPy says that float64 equals Python's float.
    return isinstance(found[0], np.dtype) and same_kind(found[0], dtype)


def _is_known(found: tuple[Kind, bool] | None) -> bool:
    return found is not None and found[1]


def _written(kernel: Kernel, name: str, writer: str) -> Iterator[tuple[Kind, bool] | None]:
    """Yield the kind of each value that an instruction writes, and whether it is known.

    If not, it is what it would be, were all that is unknown of one type: only whether it is a
    type of its own counts then.
    """
    known, insn = known_kinds(kernel), kernel.assignment(writer)
    if isinstance(insn, CInstruction):
        yield None
    for assignee, value in insn.pairs:
        if ex.name_of(assignee) == name:
            unknown = walk.free_variables(value).difference(known, insn.reduction_inames)
            found = next(_possible(kernel, value, unknown), None)
            if found and unknown.isdisjoint(walk.free_variables(_deciding_type(value))):
                found = found[0], True
            yield None if found and _may_wrap(value, *found) else found


def _deciding_type(value: Expression) -> Expression:
    """Return what the type of a value follows from: of an index that is found, the indices."""
    if (
        isinstance(value, ex.Component)
        and isinstance(value.aggregate, ex.Reduction)
        and value.position
    ):
        node = value.aggregate
        if facts_of(node.operation).seconds is Result.KEPT and isinstance(node.operand, ex.Several):
            return node.operand.children[value.position]
    return value


def _may_wrap(value: Expression, kind: Kind, known: bool) -> bool:
    """Tell whether a value may be a negative that wraps around.

    ``-a[i]`` of uint8 is 158 for 98.  But ``x[i] + -a[i]`` is ``x[i] - a[i]``: what is taken away
    has the type of the sum, and is not negated before.
    """
    if not opposite_of(value):
        return False
    small = (
        isinstance(kind, np.dtype) and is_exact(kind) and (kind.kind != "i" or kind.itemsize < _INT)
    )
    return small or not known


_INT = 4  # bytes: to negate the least of these, or of wider ones, is undefined


def _stored(kernel: Kernel, name: str) -> frozenset[Expression]:
    """Return what is stored in a variable, subscripts left out: no type depends on these."""

    def without_index(node: Expression) -> Expression:
        return node.aggregate if isinstance(node, ex.Subscript) else node

    return frozenset(
        [
            walk.rewrite(value, without_index)
            for writer in kernel.writers[name]
            for assignee, value in writer.pairs
            if ex.name_of(assignee) == name
        ]
    )


def _possible(
    kernel: Kernel, value: Expression, unknown: frozenset[str]
) -> Iterator[tuple[Kind, bool]]:
    for guess in (np.float32, np.int32):
        guesses: dict[str, Kind] = dict.fromkeys(unknown, np.dtype(guess))
        assumed = {**known_kinds(kernel), **guesses}
        try:
            found = type_of(value, assumed)
        except TypeMismatch:
            continue  # no operation on floating-point numbers, then
        yield found, not unknown
