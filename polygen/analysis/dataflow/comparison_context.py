"""The context of a comparison: the instances and instructions of two expressions.

A *context* is a flat set of points.  Its names are the kernel's parameters and, for each *frame*
(an instruction that is being looked at), the inames of that instruction under names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

import islpy as isl

from polygen.analysis.access.accesses import Reference, loop_domain
from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.dataflow.read_sources import Source
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set, is_negative_somewhere, to_pw_aff
from polygen.analysis.integers.second_instance import OTHER
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel

_PARAM = isl.dim_type.param
_DEEPEST = 100  # how many writes are followed, one from the other
_MOST_TIMES = 8  # how many of one instruction


@dataclass(frozen=True)
class Frame:
    """An instruction whose expression is looked at, at some of its instances.

    Attributes:
        kernel: its kernel.
        insn: the instruction.
        names: what its inames are called in the context, those of the reductions that are being
            looked at included.
        conditions: those of ``if(c, a, b)`` and predicates under which this is evaluated.
        trail: the instructions that read, one from the other, what this one wrote.
        values: what some of the inames are, in names of the context that others have.
        numbers: further names of the context, which stand for data in its expression.
        indexing: whether a part of a subscript is looked at: arithmetic in it does not wrap.
    """

    kernel: Kernel
    insn: Assigning
    names: Mapping[str, str]
    conditions: tuple[Expression, ...] = ()
    trail: tuple[str, ...] = ()
    values: Mapping[str, Expression] = field(default_factory=new_dict)
    numbers: frozenset[str] = frozenset()
    indexing: bool = False

    def named(self, node: Expression) -> Expression:
        """Return an expression with the inames as they are called in the context."""
        return walk.substitute(node, self._terms)

    @cached_property
    def _terms(self) -> Mapping[str, Expression]:
        return {**{i: ex.Variable(name) for i, name in self.names.items()}, **self.values}

    def flat(self, values: isl.Set) -> isl.Set:
        """Return a flat set over the inames as one over their names in the context."""
        return renamed_by(values, self.names)

    def reference(self, node: Expression) -> Reference:
        """Return the read that a variable or subscript in the expression is."""
        index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
        inames = frozenset(self.names)
        return Reference(
            self.insn, ex.name_of(node), index, False, inames, self.conditions, numbers=self.numbers
        )

    def under(self, *conditions: Expression) -> Frame:
        """Return the frame for what is evaluated under more conditions."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def followed(
        self, insn: Assigning, names: Mapping[str, str], values: Mapping[str, Expression]
    ) -> Frame:
        """Return the frame of an instruction that wrote what is read here.

        Parameters:
            insn: the instruction.
            names: what its inames are called.
            values: what some of them are in terms of this frame's.
        """
        trail = (*self.trail, self.insn.id)
        known = {iname: self.named(value) for iname, value in values.items()}
        return Frame(self.kernel, insn, names, insn.predicates, trail, known)

    @property
    def is_too_deep(self) -> bool:
        """Whether so many writes were followed that this may go on forever."""
        return len(self.trail) > _DEEPEST or self.trail.count(self.insn.id) >= _MOST_TIMES

    @property
    def is_certain(self) -> bool:
        """Whether all of these conditions are affine: then it is known where this is evaluated."""
        return all(self.holds(condition) is not None for condition in self.conditions)

    @cached_property
    def integers(self) -> frozenset[str]:
        """The names that stand for integers: the inames, and some of the parameters."""
        return integer_parameters(self.kernel).union(self.names, self.numbers)

    def integer(self, node: Expression) -> isl.PwAff | None:
        """Return the function of the context that an integer expression is, if it is affine."""
        if not walk.free_variables(node) <= self.integers:
            return None
        return to_pw_aff(self.named(node))

    def holds(self, condition: Expression) -> isl.Set | None:
        """Return where in the context a condition holds, or None if it is not affine."""
        if not walk.free_variables(condition) <= self.integers:
            return None
        return condition_set(self.named(condition))


@dataclass(frozen=True)
class Context:
    """Two frames, and the points at which both are looked at.

    Attributes:
        points: a flat set over the names of all frames.
        old: the frame in the kernel before a step.
        new: the one in the kernel after it.
    """

    points: isl.Set
    old: Frame
    new: Frame

    @property
    def depth(self) -> int:
        """The number of writes that were followed to come here."""
        return len(self.old.trail) + len(self.new.trail)

    @property
    def longest(self) -> int:
        """The number of writes that were followed in one of the kernels to come here."""
        return max(len(self.old.trail), len(self.new.trail))

    @cached_property
    def is_empty(self) -> bool:
        """Whether there are no such points."""
        return bool(self.points.is_empty())

    def have_one_value(self, old: Expression, new: Expression) -> bool:
        """Tell, by linear programs, whether two expressions are affine and equal at all points."""
        if not walk.free_variables(old) <= self.old.integers:
            return False
        if not walk.free_variables(new) <= self.new.integers:
            return False
        forms = linear_form(self.old.named(old)), linear_form(self.new.named(new))
        if forms[0] is None or forms[1] is None:
            return False
        more = forms[0] - forms[1]
        return not any(is_negative_somewhere(self.points, form) for form in (more, -more))

    def indexing(self, indexing: bool = True) -> Context:
        """Return the context for parts of subscripts, or for values again."""
        frames = [
            f if f.indexing is indexing else replace(f, indexing=indexing)
            for f in (self.old, self.new)
        ]
        return replace(self, old=frames[0], new=frames[1])

    def restricted(self, points: isl.Set) -> Context:
        """Return the context at those of its points that are in a set."""
        return replace(self, points=self.points.intersect(points))


class Names:
    """Makes names for the inames of frames, each used once."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count()

    def fresh(self, inames: Iterator[str] | frozenset[str] | tuple[str, ...]) -> dict[str, str]:
        """Return a new name for each iname: names of users do not begin so."""
        number = next(self._numbers)
        return {iname: f"__{number}_{iname}" for iname in sorted(inames)}

    def linked(
        self, before: Iterable[str], after: Iterable[str], value: Callable[[str], Expression | None]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return names for inames of a kernel before a step, and of the kernel after it.

        An iname that is what it was has one name for both: then nothing has to say that they are
        equal, and sets stay small.

        Parameters:
            before: inames of the kernel before.
            after: those of the kernel after.
            value: what one before is in terms of those after.
        """
        olds, news = (self.fresh(frozenset(inames)) for inames in (before, after))
        same = {i: olds[i] for i in olds.keys() & news.keys() if value(i) == ex.Variable(i)}
        return olds, {**news, **same}


def renamed_by(flat: isl.Set, names: Mapping[str, str]) -> isl.Set:
    """Return a flat set with other names; the new ones do not occur in it."""
    for position, name in enumerate(flat_names(flat)):
        if name in names:
            flat = flat.set_dim_name(_PARAM, position, names[name])
    return flat


def at_source(source: Source, reader: Mapping[str, str], writer: Mapping[str, str]) -> isl.Set:
    """Return the pairs of a source as a flat set over names of the context."""
    names = {**reader, **{iname + OTHER: name for iname, name in writer.items()}}
    return renamed_by(source.pairs, names)


def data_in_bounds(at: Context, inames: frozenset[str]) -> tuple[str, ...] | None:
    """Return the scalars that decide how often loops of both frames run: as often, if they agree.

    None if it takes more than that: if the loops are others, or in other iterations of those
    around them.

    Parameters:
        at: the frames, and where they are compared.
        inames: of the loops, which both frames are within.
    """
    if not inames <= at.old.kernel.home_domains.keys():
        return None
    around = with_surrounding(at.old.kernel, inames)
    for iname in around:
        homes = (frame.kernel.home_domains.get(iname) for frame in (at.old, at.new))
        names = [frame.names.get(iname) for frame in (at.old, at.new)]
        if len({*homes}) > 1 or names[0] is None or names[1] is None:
            return None
        if names[0] != names[1]:
            same = equal_set(ex.Variable(names[0]), ex.Variable(names[1]))
            if not at.points.is_subset(same):
                return None
    return tuple(sorted(domain_temporaries(at.old.kernel, around)))


def executed(frame: Frame) -> tuple[isl.Set, bool]:
    """Return the points at which a frame's loops are, and whether that is exact."""
    domain, exact = loop_domain(frame.kernel, frozenset(frame.names))
    return frame.flat(domain), exact


def executed_given(frame: Frame) -> tuple[isl.Set, frozenset[str]]:
    """Return the points at which a frame's loops are for given values of data, and this data.

    The scalars that bound loops are parameters of the set, under their own names.
    """
    domain = domain_of(frame.kernel, frozenset(frame.names))
    data = [n for n in flat_names(domain) if n in frame.kernel.writers]
    return frame.flat(domain), frozenset(data)


def equal_set(first: Expression, second: Expression) -> isl.Set:
    """Return the points at which two affine expressions of the context's names are equal."""
    return _compared(first, "==", second)


def unequal_set(first: Expression, second: Expression) -> isl.Set:
    """Return the points at which two affine expressions of the context's names differ."""
    return _compared(first, "!=", second)


def _compared(first: Expression, operator: str, second: Expression) -> isl.Set:
    found = condition_set(ex.Comparison(first, operator, second))
    if found is None:
        raise InternalError(f"{first!r} or {second!r} is not affine")
    return found
