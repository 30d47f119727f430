"""Copies in vectors: lanes where all of a vector is copied, and one element at a time elsewhere.

Of an array that is aligned, vectors begin where loads of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import InternalError, NotVectorizable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ImageArg
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import element_strides
from polygen.ir.tags import InameTag, UnrollTag, VectorTag, is_parallel
from polygen.source import caller_location
from polygen.transforms.arrays.axis_rewriting import with_all_tags
from polygen.transforms.copies._waiting_instructions import waiting_for


def with_vector_loads(kernel: Kernel, insn_id: str, width: int) -> Kernel:
    """Return the kernel in which an instruction copies as many neighbours as a vector has at once.

    What is left at the rim, where not all of a vector is copied, another instruction copies.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction; nothing else is within the inames along which it copies.
        width: how many components a vector has.

    Raises:
        NotVectorizable: if it does not copy neighbours to neighbours, or fewer than a vector has.
    """
    insn = kernel.assignment(insn_id)
    assert isinstance(insn, Assignment)
    copier = _Copier(kernel, insn, _along_neighbours(kernel, insn), width)
    parts = list(copier.parts())
    copies = [part.insn for part in parts]
    ids = [copy.id for copy in copies]
    instructions: list[Instruction] = []
    for other in kernel.instructions:
        instructions += copies if other.id == insn_id else [waiting_for(other, insn_id, ids)]
    tags = {i: tag for i, tag in kernel.tags.items() if i != copier.iname}
    for part in parts:
        tags |= part.tags
    loops = [part.loops for part in parts if len(part.loops) > 1]
    home = kernel.home_domains[copier.iname]
    return kernel.copy(
        instructions=tuple(instructions),
        domains=(*(d for d in kernel.domains if d is not home), *(p.domain for p in parts)),
        tags=tags,
        priorities=(*(p for p in kernel.priorities if copier.iname not in p), *loops),
    )


# --- neighbours


def _along_neighbours(kernel: Kernel, insn: Assignment) -> str:
    """Return the iname along which elements next to each other are copied."""
    source, target = insn.expression, insn.assignee
    if isinstance(source, ex.Subscript) and isinstance(target, ex.Subscript):
        counting = _neighbouring(kernel, target)
        for iname in _neighbouring(kernel, source):
            if iname in counting and iname in insn.within_inames:
                return iname
    raise NotVectorizable(
        f"'{insn.id}' does not copy elements that are next to each other to places that are",
        where=caller_location(),
        remedy="sweep over inames along the axis of the array that is contiguous (the last one, "
        "if tag_array_axes says nothing else), or leave vector_width out",
    )


def _neighbouring(kernel: Kernel, node: ex.Subscript) -> Sequence[str]:
    """Return the names that count neighbours in an array, and do nothing else in its subscripts."""
    array = kernel.array(ex.name_of(node))
    if isinstance(array, ImageArg):
        return ()
    strides = element_strides(with_all_tags(array)) or ()
    forms = [linear_form(index) for index in ex.index_tuple(node)]
    along = [form for form, stride in zip(forms, strides, strict=True) if stride == 1]
    others = [form for form, stride in zip(forms, strides, strict=True) if stride != 1]
    if len(along) != 1 or along[0] is None or None in others:
        return ()
    names = [t for t, c in along[0].terms.items() if c == 1 and isinstance(t, str)]
    return [n for n in names if not any(f is not None and n in f.names() for f in others)]


# --- whole vectors, and the rest


@dataclass(frozen=True)
class _Part:
    """One copy of some of the elements.

    Attributes:
        insn: the instruction.
        domain: of its own inames.
        tags: of these.
        loops: those of them that are loops, outermost first.
    """

    insn: Assignment
    domain: Domain
    tags: Mapping[str, InameTag]
    loops: tuple[str, ...]


@dataclass(frozen=True)
class _Copier:
    """Divides a copy into that of whole vectors, and that of the rest.

    Attributes:
        kernel: the kernel.
        insn: what copies.
        iname: its iname along neighbours.
        width: how many are a vector.
    """

    kernel: Kernel
    insn: Assignment
    iname: str
    width: int

    @cached_property
    def _ends(self) -> tuple[str, str]:
        """The new inames: which vector it is, and which of its components."""
        outer, lane = (self.kernel.new_name(f"{self.iname}_{end}") for end in ("outer", "inner"))
        return outer, lane

    @cached_property
    def _tags(self) -> dict[str, InameTag]:
        old = self.kernel.tags
        tags = {i: old[i] for i in self._names if i in old}
        return tags | ({self._ends[0]: old[self.iname]} if self.iname in old else {})

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The inames along which it copies, then."""
        home = self.kernel.home_domains[self.iname].inames
        return tuple([n for i in home for n in (self._ends if i == self.iname else (i,))])

    @cached_property
    def _first(self) -> int:
        """The element with which a vector begins: where an aligned array has one, if it has one.

        Raises:
            NotVectorizable: if nowhere as many neighbours are copied as a vector has.
        """
        for first in dict.fromkeys((self._first_aligned(), 0)):
            if not self._whole(self._split(first)).intersect(self._known).is_empty():
                return first
        raise NotVectorizable(
            f"'{self.insn.id}' never copies {self.width} elements that are next to each other",
            where=caller_location(),
            remedy="take a smaller vector_width, or sweep over more",
        )

    def _first_aligned(self) -> int:
        """Return which element is the first that lies at a multiple of a vector's length."""
        source = self.insn.expression
        assert isinstance(source, ex.Subscript)
        array = self.kernel.array(ex.name_of(source))
        strides = element_strides(with_all_tags(array)) or ()
        along = ex.index_tuple(source)[strides.index(1)]
        form = linear_form(along)
        assert form is not None
        others = [c for name, c in form.terms.items() if name != self.iname]
        if getattr(array, "alignment", None) is None or any(c % self.width for c in others):
            return 0
        return -form.constant % self.width

    @property
    def _value(self) -> Expression:
        return self._at(self._first)

    def _at(self, first: int) -> Expression:
        outer, lane = self._ends
        return LinearForm(first, {outer: self.width, lane: 1}).expression()

    @cached_property
    def _known(self) -> isl.Set:
        """The known facts about the inames around."""
        home = self.kernel.home_domains[self.iname]
        around = with_surrounding(self.kernel, self.insn.within_inames.difference(home.inames))
        return domain_of(self.kernel, around).intersect(known_parameters(self.kernel))

    @cached_property
    def _lanes(self) -> isl.Set:
        lane = self._ends[1]
        return _where(lane, ">=", 0).intersect(_where(lane, "<", self.width))

    def _split(self, first: int) -> isl.Set:
        """Return what is copied, in terms of vectors and their components."""
        home = self.kernel.home_domains[self.iname]
        split = _where(self.iname, "==", self._at(first)).intersect(self._lanes)
        return project_out(home.flat.intersect(split), (self.iname,))

    def _whole(self, points: isl.Set) -> isl.Set:
        """Return the vectors of which all components are copied."""
        lane = self._ends[1]
        some = project_out(points, (lane,))
        return some.subtract(project_out(some.intersect(self._lanes).subtract(points), (lane,)))

    def parts(self) -> Iterator[_Part]:
        """Yield what copies whole vectors, and what copies the rest, if there is any."""
        kernel, lane, known = self.kernel, self._ends[1], self._known
        points = self._split(self._first)
        whole = self._whole(points)
        same = {name: name for name in self._names}
        yield self._part(whole.intersect(self._lanes).gist_params(known), same, {lane: VectorTag()})
        rim = points.subtract(whole)
        if not rim.intersect(known).is_empty():
            renamed = {name: kernel.new_name(f"{name}_rim") for name in self._names}
            tag = kernel.tags.get(self.iname)
            copies: dict[str, InameTag] = {lane: tag} if isinstance(tag, UnrollTag) else {}
            yield self._part(rim.gist_params(known), renamed, copies)

    def _part(
        self, points: isl.Set, names: Mapping[str, str], tags: Mapping[str, InameTag]
    ) -> _Part:
        """Return what copies the elements of some points, with other names of its inames."""
        for old, new in names.items():
            points = rename_dimension(points, old, new)
        values: dict[str, Expression] = {old: ex.Variable(new) for old, new in names.items()}
        values[self.iname] = walk.substitute(self._value, values)
        insn = instruction_at(self.insn, values, (*self.kernel.inames, *names.values()))
        assert isinstance(insn, Assignment)
        if not isinstance(tags.get(self._ends[1]), VectorTag):
            insn = insn.copy(id=self.kernel.new_name(f"{self.insn.id}_rim"))
        domain = Domain(unflatten(points.coalesce(), tuple(names.values())).drop_unused_params())
        tagged = {names[i]: tag for i, tag in {**self._tags, **tags}.items()}
        loops = [n for n in names.values() if not is_parallel(tagged.get(n))]
        return _Part(insn, domain, tagged, tuple(loops))


def _where(name: str, operator: str, value: Expression) -> isl.Set:
    found = condition_set(ex.Comparison(ex.Variable(name), operator, value))
    if found is None:
        raise InternalError("a condition on inames is not affine")
    return found
