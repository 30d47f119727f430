"""The instances that a picture shows: which there are for given sizes, where, and when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import condition_set, to_val
from polygen.analysis.order.instance_order import order_of
from polygen.errors import InvalidArgument, MissingArgument
from polygen.inspection.counts.given_sizes import check_assumed
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, intersection, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import products
from polygen.ir.tags import is_parallel
from polygen.language.parser import parse_expression
from polygen.runtime.arrays.expression_values import value_of
from polygen.source import caller_location

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
MOST_POINTS = 10_000
_AXIS = "_axis"

Values = tuple[int, ...]


class Frame:
    """A kernel for given sizes, seen along given axes.

    Parameters:
        kernel: the kernel.
        sizes: the values of its sizes, and of whatever else its domains depend on.
        axes: expressions in the inames.
        at: values of inames, to which the picture is limited.

    Raises:
        AssumptionViolated: if the kernel's assumptions exclude these sizes.
        InvalidArgument: if an axis is not affine.
        UnknownIname: if there is no iname of a name in an axis.
    """

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        axes: Sequence[str],
        at: Mapping[str, int],
    ) -> None:
        self.kernel = kernel
        self.sizes = _with_derived(kernel, sizes)
        self.axes = [self.expression(text, "axis") for text in axes]
        for iname in at:
            kernel.check_iname(iname)
        for name in sizes:
            if name in kernel.home_domains:
                raise InvalidArgument(
                    f"'{name}' was given as a size, and is an iname of kernel '{kernel.name}'",
                    where=caller_location(),
                    remedy=f"at={{'{name}': {sizes[name]}}} shows these instances alone",
                )
        self.at = dict(at)
        check_assumed(kernel, self.sizes, "draw it for other sizes")

    def expression(self, text: str, what: str) -> Expression:
        """Return what an argument means: an affine expression in inames and sizes."""
        expression = parse_expression(text)
        for name in sorted(walk.free_variables(expression) - self.sizes.keys()):
            self.kernel.check_iname(name)
        if condition_set(ex.Comparison(expression, "==", 0)) is None:
            raise InvalidArgument(
                f"the {what} '{text}' is not affine",
                where=caller_location(),
                remedy="write sums of multiples of inames, such as '16*i_outer + i_inner'; "
                "// and % with numbers may be in it, too",
            )
        return expression

    def instances(self, insn: Instruction, others: Iterable[Expression]) -> Statement | None:
        """Return the instances of an instruction; None if it has no place in the picture.

        Parameters:
            insn: of the kernel.
            others: what is wanted of instances beside their places.
        """
        known = insn.within_inames | insn.reduction_inames
        wanted = [*self.axes, *others]
        asked = frozenset[str]().union(*map(walk.free_variables, wanted)) - self.sizes.keys()
        if not asked <= known:
            return None
        names = insn.within_inames | (insn.reduction_inames & asked.union(self.at))
        order = order_of(self.kernel).loops(insn.id)
        rest = [i for i in self.kernel.inames if i in names and i not in order]
        listed = (*[i for i in order if i in names], *rest)
        values = domain_of(self.kernel, names)
        for predicate in insn.predicates:
            allowed = condition_set(predicate, names | self.sizes.keys())
            values = values if allowed is None else intersection(values, allowed)
        values = self.fixed(values)
        here = {name: value for name, value in self.at.items() if name in names}
        for name, value in here.items():
            values = intersection(values, _affine(ex.Comparison(ex.Variable(name), "==", value)))
        self._check_known(values, names)
        return Statement(self, insn.id, listed, values)

    def fixed(self, flat: isl.Set) -> isl.Set:
        """Return a flat set for the sizes."""
        for position, name in enumerate(flat_names(flat)):
            if name in self.sizes:
                flat = flat.fix_val(_PARAM, position, to_val(self.sizes[name]))
        return project_out(flat, self.sizes)

    def _check_known(self, values: isl.Set, names: frozenset[str]) -> None:
        for name in flat_names(values):
            if name not in names:
                raise MissingArgument(
                    f"a picture of kernel '{self.kernel.name}' needs a value of '{name}'",
                    where=caller_location(),
                    remedy=f"pass it: plot_domain(kernel, {{'{name}': ..., }})",
                )


@dataclass(frozen=True)
class Statement:
    """The instances of an instruction.

    Attributes:
        frame: what they are seen in.
        id: that of the instruction.
        inames: what tells instances apart; loops from the outermost inwards, then the others.
        flat: the instances as a flat set, without sizes.
    """

    frame: Frame
    id: str
    inames: tuple[str, ...]
    flat: isl.Set

    @cached_property
    def instances(self) -> list[Values]:
        """The values of the inames, sorted."""
        return points_of(unflatten(self.flat, self.inames))

    def value(self, expression: Expression, instance: Values) -> int:
        """Return the value of an expression in an instance."""
        values = dict(zip(self.inames, instance, strict=True))
        return value_of(expression, self.frame.sizes | values)

    def place(self, instance: Values) -> Values:
        """Return where an instance is in the picture."""
        return tuple(self.value(axis, instance) for axis in self.frame.axes)

    def images(self, fixed: Mapping[Expression, int] | None = None) -> Iterator[isl.Set]:
        """Yield the places as sets: one for each part of a loop for which code is separate.

        Parameters:
            fixed: values that expressions are to have in the instances.
        """
        flat = self.flat
        for expression, value in (fixed or {}).items():
            flat = intersection(flat, _affine(ex.Comparison(expression, "==", value)))
        names = [f"{_AXIS}{k}" for k in range(len(self.frame.axes))]
        for part in self._separated(self.frame.fixed(flat)):
            seen = part
            for name, axis in zip(names, self.frame.axes, strict=True):
                seen = intersection(seen, _affine(ex.Comparison(ex.Variable(name), "==", axis)))
            places = unflatten(project_out(self.frame.fixed(seen), self.inames), names)
            yield places.project_out(_PARAM, 0, places.dim(_PARAM))

    def _separated(self, flat: isl.Set) -> list[isl.Set]:
        """Return the parts in which the kernel's separations hold, and those where they do not."""
        found = [flat]
        for condition in self.frame.kernel.separations:
            holds = condition_set(condition, {*self.inames, *self.frame.sizes})
            if holds is not None:
                both = holds, holds.complement()
                found = [self.frame.fixed(intersection(f, part)) for f in found for part in both]
        return [part for part in found if not part.is_empty()]

    def moment(self, instance: Values) -> Values:
        """Return when an instance is executed: moments are compared as tuples.

        Positions in the loop tree and values of sequential loops take turns, as in schedules of
        2d+1 dimensions (W. Kelly, W. Pugh, A framework for unifying reordering transformations,
        1993).  What differs in parallel inames alone has one moment.
        """
        values = dict(zip(self.inames, instance, strict=True))
        order = order_of(self.frame.kernel)
        path, loops = order.path(self.id), order.loops(self.id)
        turns = [part for at, loop in zip(path, loops, strict=False) for part in (at, values[loop])]
        inner = [values[i] for i in self.inames if i not in loops and not self._is_parallel(i)]
        return (*turns, *path[len(loops) :], *inner)

    def work_item(self, instance: Values) -> tuple[tuple[str, int], ...]:
        """Return the values of the parallel inames: instances of one of these are in sequence."""
        pairs = zip(self.inames, instance, strict=True)
        return tuple(sorted((i, value) for i, value in pairs if self._is_parallel(i)))

    def _is_parallel(self, iname: str) -> bool:
        return is_parallel(self.frame.kernel.tags.get(iname))


def points_of(values: isl.Set) -> list[Values]:
    """Return the points of a set without parameters, sorted.

    Raises:
        InvalidArgument: if there are more than can be seen.
    """
    values = values.project_out(_PARAM, 0, values.dim(_PARAM))
    if not values.is_bounded() or values.count_val().to_python() > MOST_POINTS:
        raise InvalidArgument(
            f"there are more than {MOST_POINTS} points to draw",
            where=caller_location(),
            remedy="choose smaller sizes, or a part: at={'k': 0}",
        )
    dimensions = range(values.dim(_SET))
    found: list[Values] = []

    def note(point: isl.Point) -> None:
        coordinates = (point.get_coordinate_val(_SET, k).to_python() for k in dimensions)
        found.append(tuple(coordinates))

    values.foreach_point(note)
    return sorted(found)


def _affine(condition: ex.Comparison) -> isl.Set:
    found = condition_set(condition)
    assert found is not None, show_expression(condition)  # its parts were looked at before
    return found


def _with_derived(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes, and the products that follow from them."""
    found = dict(sizes)
    for size in products(kernel.derived_sizes):
        if size.names <= found.keys():
            found[size.name] = value_of(size.value, found)
    return found
