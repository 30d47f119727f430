"""A kernel and its loop program, as all checks look at them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping

import islpy as isl

from polygen.analysis.access.domains import domain_of, homes
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.known_facts import known_parameters
from polygen.ir.cached import cached_property
from polygen.ir.domain import Domain, flat_names, unflatten
from polygen.ir.dtype import is_integer
from polygen.ir.kernel import Kernel
from polygen.ir.tags import HardwareTag
from polygen.lower.program import HardwareAxis, HostLoop, If, Loop, LoopProgram
from polygen.validation.constraints import Facts, add_loop
from polygen.validation.frames import Frame, Storage, frames_of
from polygen.validation.layouts import Layouts
from polygen.validation.polynomial import Polynomial, constant, plus, scaled
from polygen.validation.readings import ProgramTerms, items_of

_DIV = isl.dim_type.div


class View:
    """Facts about a program, collected once for all checks.

    Attributes:
        kernel: with types, and without substitution rules.
        program: its loop program.
        layouts: of the kernel's arrays.
        root: the outermost frame of the program.
        frames: all of them.
        executed: for some frames, where they are executed, and which conditions are not affine.
    """

    def __init__(self, kernel: Kernel, program: LoopProgram) -> None:
        self.kernel = kernel
        self.program = program
        self.layouts = Layouts(kernel)
        self.root = frames_of(kernel, program)
        self.frames = tuple(self.root.inside())
        self._terms: dict[Frame, ProgramTerms] = {}
        self._items: dict[Frame, Mapping[HardwareTag, int]] = {}
        self.executed: dict[Frame, tuple[isl.Set, frozenset[Hashable]]] = {}
        self._facts: dict[Frame, Facts] = {self.root: self._assumptions()}
        loops = [frame.name for frame in self.frames if frame.name is not None]
        counters = (*kernel.inames, *self.layouts.sizes, *loops)
        self._integers: dict[str, bool] = dict.fromkeys(counters, True)
        self._constraints: dict[frozenset[str], list[Polynomial] | None] = {}

    def _assumptions(self) -> Facts:
        """Return what is assumed of sizes, as far as it is affine."""
        assumed = self.kernel.assumptions.flat
        if self.steps:  # what says this is left out
            assumed = assumed.remove_divs()
        return Facts(_constraints(assumed) or [])

    @cached_property
    def steps(self) -> Mapping[str, Polynomial]:
        """Sizes by their assumed remainders: ``n = 32*q + 5``."""
        assumed = self.kernel.assumptions.flat
        if not any(piece.dim(_DIV) for piece in assumed.get_basic_sets()):
            return {}
        found: dict[str, Polynomial] = {}
        for name in flat_names(assumed):
            values = unflatten(assumed, (name,))
            others = flat_names(values.params())
            values = values.project_out(isl.dim_type.param, 0, len(others))
            info = values.get_stride_info(0)
            step = info.get_stride().to_python()
            if step > 1:
                first = info.get_offset().get_constant_val().to_python()
                found[name] = plus({(f"{name} // {step}",): step}, constant(first))
        return found

    @cached_property
    def in_registers(self) -> frozenset[str]:
        """The arrays of which each work item has its element in a register."""
        meanings = (m for frame in self.frames for m in frame.bound.values())
        return frozenset(
            [m.node.name for m in meanings if isinstance(m, Storage) and m.node.in_registers]
        )

    @property
    def known(self) -> isl.Set:
        """The known facts about the parameters."""
        return known_parameters(self.kernel)

    def is_integer(self, name: str) -> bool:
        """Tell whether a name stands for an integer."""
        found = self._integers.get(name)
        if found is None:
            variable = self.kernel.variables.get(name)
            dtype = None if variable is None else variable.dtype
            found = self._integers[name] = dtype is not None and is_integer(dtype)
        return found

    @property
    def integers(self) -> Container[str]:
        """The names that stand for integers."""
        return _Integers(self)

    def terms(self, frame: Frame) -> ProgramTerms:
        """Return the terms of the program in a frame."""
        found = self._terms.get(frame)
        if found is None:
            items = self.items(frame.launch) if frame.launch else dict[HardwareTag, int]()
            found = self._terms[frame] = ProgramTerms(self.layouts, frame, items)
        return found

    def items(self, launch: Frame) -> Mapping[HardwareTag, int]:
        """Return how many work items the loops of a launch run over, along each axis."""
        if launch not in self._items:
            self._items[launch] = items_of(self.layouts, launch)
        return self._items[launch]

    def facts(self, frame: Frame) -> Facts:
        """Return what holds in a frame."""
        found = self._facts.get(frame)
        if found is None:
            assert frame.parent is not None  # what holds outermost is there from the start
            found = self._facts[frame] = self.facts(frame.parent).and_(self.own_facts(frame))
        return found

    def own_facts(self, frame: Frame) -> Facts:
        """Return what holds in a frame because of itself."""
        facts = Facts()
        outside = frame.parent
        assert outside is not None
        if isinstance(frame.node, If):
            facts.add(frame.node.condition, self.terms(outside), self.is_integer)
        elif frame.name is not None:
            terms = self.terms(outside)
            step = frame.node.step if isinstance(frame.node, Loop | HostLoop) else 1
            both = terms, terms
            if isinstance(frame.node, HardwareAxis):
                # The host computes how many indices there are.
                assert frame.launch is not None
                assert frame.launch.parent is not None
                both = terms, self.terms(frame.launch.parent)
            bounds = frame.first, frame.end, step
            add_loop(facts, frame.name, bounds, both, self.is_integer)
        return facts

    def constraints(self, inames: frozenset[str]) -> list[Polynomial] | None:
        """Return what bounds inames together, as affine polynomials that are not negative.

        None if that is no conjunction.
        """
        if inames not in self._constraints:
            domains = homes(self.kernel, inames)
            if all(inames.issuperset(d.inames) for d in domains):
                parts = [self._constraints_of(d) for d in domains]
                known = [part for part in parts if part is not None]
                found = [c for p in known for c in p] if len(known) == len(parts) else None
            else:
                found = _constraints(domain_of(self.kernel, inames))
            self._constraints[inames] = found
        return self._constraints[inames]

    def _constraints_of(self, domain: Domain) -> list[Polynomial] | None:
        inames = frozenset(domain.inames)
        if inames not in self._constraints:
            self._constraints[inames] = _constraints(domain.flat)
        return self._constraints[inames]


class _Integers(Container[str]):
    def __init__(self, view: View) -> None:
        self._view = view

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._view.is_integer(name)


def _constraints(flat: isl.Set) -> list[Polynomial] | None:
    if flat.n_basic_set() != 1:
        return None
    (piece,) = flat.get_basic_sets()
    if piece.dim(_DIV):
        return None
    constraints = constraint_forms(piece)
    equal = [_polynomial(c.form) for c in constraints if c.is_equality]
    at_least = [_polynomial(c.form) for c in constraints if not c.is_equality]
    return [*at_least, *equal, *(scaled(value, -1) for value in equal)]


def _polynomial(form: LinearForm) -> Polynomial:
    found: Polynomial = {(name,): c for name, c in form.terms.items() if isinstance(name, str)}
    return found | {(): form.constant} if form.constant else found
