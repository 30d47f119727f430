"""Maps each instance after a step to the instance before it that it computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction, identical


@dataclass(frozen=True)
class InstanceMap:
    """The old inames in terms of the new ones; one that is not mentioned is the same in both.

    Attributes:
        values: for all instructions that are not in `by_instruction`.
        by_instruction: for an instruction (by its id), its mapping as a whole.
    """

    values: Mapping[str, Expression] = field(default_factory=new_dict)
    by_instruction: Mapping[str, Mapping[str, Expression]] = field(default_factory=new_dict)

    def of(self, insn_id: str) -> Mapping[str, Expression]:
        """Return what old inames are at the new instances of an instruction."""
        return self.by_instruction.get(insn_id, self.values)

    def value(self, insn_id: str, iname: str) -> Expression:
        """Return what one old iname is at the new instances of an instruction."""
        found = self.of(insn_id).get(iname)
        return ex.Variable(iname) if found is None else found

    def moves(self, insn_id: str, inames: frozenset[str]) -> bool:
        """Tell whether any of the inames is something else at the new instances."""
        return not inames.isdisjoint(self.of(insn_id))


UNMOVED = InstanceMap()


def mentioned(
    inames: Iterable[str], values: Mapping[str, Expression], known: Sequence[str]
) -> tuple[str, ...]:
    """Return the new inames that say what old ones are.

    Parameters:
        inames: the old ones.
        values: what they are; one that is not mentioned is itself.
        known: the inames of the new kernel.
    """
    found: dict[str, None] = {}
    for iname in inames:
        if iname in values:
            names = walk.free_variables(values[iname])
            found.update(dict.fromkeys(n for n in known if n in names))
        else:
            found[iname] = None
    return tuple(found)


def is_apart(insn: Instruction, inames: Iterable[str]) -> bool:
    """Tell whether it is plain that an instruction has nothing to do with some inames."""
    return (
        isinstance(insn, Assignment)
        and insn.within_inames.isdisjoint(inames)
        and insn.reduction_inames.isdisjoint(inames)
        and not insn.invocations
    )


def instruction_at(
    insn: Instruction, values: Mapping[str, Expression], known: Sequence[str]
) -> Instruction:
    """Return an instruction that does at each new instance what `insn` does at the old one.

    Parameters:
        insn: the instruction.
        values: what its inames, and those of its reductions, are in terms of the new ones; one
            that is not mentioned is itself.
        known: the inames of the new kernel.
    """
    if is_apart(insn, values):
        return insn
    around = insn.within_inames
    moved = insn.map_expressions(lambda e: at_new_instance(e, around, values, known))
    return moved.copy(within_inames=frozenset(mentioned(around, values, known)))


def is_at_new_instance(old: Expression, new: Expression, values: Mapping[str, Expression]) -> bool:
    """Tell whether it is plain that one expression is another one at the new instance.

    Without making that one, which `at_new_instance` does: False says nothing.

    Parameters:
        old: an expression, no reduction of which runs over an iname in `values`.
        new: what it may be.
        values: what the old inames in it are; one that is not mentioned is itself.
    """
    if isinstance(old, ex.Variable):
        return identical(values.get(old.name, old), new)
    if walk.free_variables(old).isdisjoint(values):
        return identical(old, new)
    if isinstance(old, ex.Subscript) and isinstance(new, ex.Subscript):
        index = ex.index_tuple(old), ex.index_tuple(new)
        if old.aggregate != new.aggregate or len(index[0]) != len(index[1]):
            return False
        return all(_is_index(a, b, values) for a, b in zip(*index, strict=True))
    for kind in (ex.Sum, ex.Product):
        if isinstance(old, kind) and isinstance(new, kind):
            return len(old.children) == len(new.children) and all(
                is_at_new_instance(a, b, values)
                for a, b in zip(old.children, new.children, strict=True)
            )
    if isinstance(old, ex.Reduction) and isinstance(new, ex.Reduction):
        if (old.operation, old.inames) != (new.operation, new.inames):
            return False
        captured = any(not walk.free_variables(v).isdisjoint(old.inames) for v in values.values())
        return not captured and is_at_new_instance(old.operand, new.operand, values)
    return False


def _is_index(old: Expression, new: Expression, values: Mapping[str, Expression]) -> bool:
    """Tell the same of a subscript: sums that are put into a sum are part of it there."""
    if not isinstance(old, ex.Sum) or not isinstance(new, ex.Sum):
        return is_at_new_instance(old, new, values)
    left = list(new.children)
    for part in old.children:
        value = values.get(part.name) if isinstance(part, ex.Variable) else None
        put_in = value.children if isinstance(value, ex.Sum) else ()
        count = len(put_in) or 1
        here, left = tuple(left[:count]), left[count:]
        if put_in:
            same = identical(put_in, here)
        else:
            same = bool(here) and is_at_new_instance(part, here[0], values)
        if not same:
            return False
    return not left


_BOUND = "old "  # marks inames of reductions, which would keep their names from being replaced


def at_new_instance(
    node: Expression, around: frozenset[str], values: Mapping[str, Expression], known: Sequence[str]
) -> Expression:
    """Return what an expression at an old instance is at the new one that computes it.

    Parameters:
        node: the expression.
        around: the old inames that the instruction is within.
        values: what they are; one that is not mentioned is itself.
        known: the inames of the new kernel.
    """

    def freed(part: Expression) -> Expression:
        if not isinstance(part, ex.Reduction):
            return part
        return ex.Reduction(part.operation, tuple([_BOUND + i for i in part.inames]), part.operand)

    def bound(part: Expression, outside: frozenset[str]) -> Expression:
        if not isinstance(part, ex.Reduction):
            inner = tuple([bound(p, outside) for p in walk.parts(part)])
            return walk.rebuild(part, inner)
        olds = tuple([i.removeprefix(_BOUND) for i in part.inames])
        inside = outside.union(olds)
        added = frozenset(mentioned(inside, values, known)).difference(
            mentioned(outside, values, known)
        )
        news = tuple([n for n in mentioned(olds, values, known) if n in added])
        return ex.Reduction(part.operation, news, bound(part.operand, inside))

    if not walk.reductions(node):
        return walk.substitute(node, values)
    return bound(walk.substitute(walk.rewrite(node, freed), values), around)
