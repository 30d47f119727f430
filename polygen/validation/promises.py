"""Checks the program's promises: names that are never negative, loops that may be threads."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import WrongOrder, WrongStorage
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.expression import Expression
from polygen.lower.program import Loop
from polygen.validation.constraints import plain
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Meaning, Read, Role, Storage
from polygen.validation.points import set_of
from polygen.validation.polynomial import Floor, Polynomial
from polygen.validation.terms import Terms
from polygen.validation.view import View


def check_promises(view: View) -> None:
    """Check what a program says of itself.

    Raises:
        WrongStorage: if a name that may be negative is said not to be.
        WrongOrder: if loops that are not over groups are said to run on threads.
    """
    _Signs(view).run()
    for frame in view.frames:
        if isinstance(frame.node, Loop) and frame.node.parallel:
            _check_parallel(view, frame, frame.node.parallel)


class _Signs:
    def __init__(self, view: View) -> None:
        self._view = view
        self._promised = view.program.nonnegative

    def run(self) -> None:
        kernel = self._view.kernel
        extents = {e for a in kernel.arguments if isinstance(a, GlobalArg) for e in a.shape or ()}
        for argument in kernel.arguments:
            name = argument.name
            is_extent = ex.Variable(name) in extents  # which calls check
            if isinstance(argument, ValueArg) and name in self._promised and not is_extent:
                self._check_point(name, self._view.root)
        for frame in self._view.frames:
            for name, meaning in frame.bound.items():
                if name in self._promised:
                    self._check_name(name, meaning, frame)

    def _check_name(self, name: str, meaning: Meaning, frame: Frame) -> None:
        """Check a name of a loop, of an axis, or another name for values of these."""
        if name == frame.name:
            certain = self._is_certain(frame.first, self._view.terms(frame.parent or frame))
        elif meaning is None or isinstance(meaning, Read | GlobalArg | ValueArg | Storage):
            return  # checked where it comes from
        else:
            certain = self._is_certain(meaning, self._view.terms(frame))
        if not certain:
            self._check_point(name, frame)

    def _check_point(self, name: str, frame: Frame) -> None:
        """Check that a name is nowhere negative in a frame."""
        value = plain(ex.Variable(name), self._view.terms(frame))
        negative = condition_set(ex.Comparison(value, "<", 0), self._view.integers)
        points = set_of(self._view, self._view.facts(frame))[0].intersect(self._view.known)
        points = points if negative is None else points.intersect(negative)
        if not points.is_empty():
            raise fault(
                WrongStorage,
                self._view.kernel,
                f"'{name}' is said to be never negative, and is for {_shown(witness(points))}",
            )

    def _is_certain(self, node: Expression, terms: Terms) -> bool:
        """Tell whether a value is plainly not negative if what is promised of others is so."""
        if isinstance(node, ex.Max):
            return any(self._is_certain(child, terms) for child in node.children)
        if isinstance(node, ex.Min):
            return all(self._is_certain(child, terms) for child in node.children)
        return self._is_sum(terms.index(node))

    def _is_sum(self, value: Polynomial) -> bool:
        return all(
            factor > 0
            and all(
                atom in self._promised
                if isinstance(atom, str)
                else isinstance(atom, Floor) and self._is_sum(dict(atom.numerator))
                for atom in monomial
            )
            for monomial, factor in value.items()
        )


def _shown(point: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _check_parallel(view: View, outermost: Frame, count: int) -> None:
    """Check that loops which may run on threads are loops over groups, and nest perfectly."""
    frame: Frame | None = outermost
    for _ in range(count):
        if frame is None or frame.role is not Role.GROUP:
            raise fault(
                WrongOrder,
                view.kernel,
                f"the loop of '{outermost.name}' is said to run on threads, with {count - 1} more "
                "inside, and these are not loops over groups that nest perfectly",
            )
        child = frame.children[0] if len(frame.block) == 1 else None
        frame = child if isinstance(child, Frame) else None
