"""`polygen.plot_domain`: the instances of a loop nest as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

from polygen.analysis.order.instance_order import order_of
from polygen.errors import InvalidArgument
from polygen.inspection.plots.arrows import KINDS, arrows
from polygen.inspection.plots.drawing import Pen, new_axes
from polygen.inspection.plots.picture import Picture
from polygen.inspection.plots.shown_instances import Frame, Statement
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.within import matching
from polygen.source import caller_location

_ORDERS = ("path", "numbers", "colours")


@public
def plot_domain(  # noqa: PLR0913
    kernel: Kernel,
    sizes: Mapping[str, SupportsIndex],
    axes: str | Sequence[str] | None = None,
    *,
    within: str | Sequence[str] | None = None,
    at: Mapping[str, SupportsIndex] | None = None,
    tiles: str | Sequence[str] = (),
    colour: str | None = None,
    dependences: bool | str | Sequence[str] = False,
    order: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the instances of a kernel's instructions as points in a plane, or in space.

    Around them is the outline of the polyhedron that they are the integer points of; of several,
    where code is separate (`index_set_split`).  Tiles are shaded, dependences are arrows, and the
    order of execution is a line, numbers or colours.

    Parameters:
        kernel: its types need not be known.
        sizes: the value of each size, small enough that points can be told apart.
        axes: two or three expressions in the inames: where an instance is; a text such as
            ``"4*i_outer + i_inner, j"``, or a list of texts.  If not given, the two or three inames
            of the instructions.  Several instances at one place are one point, so deeper nests are
            projected.
        within: which instructions are drawn: see `find_instructions`; those that lack an iname of
            the axes are not.  What has other inames can be drawn on the same `ax` afterwards.
        at: values of inames: the picture shows these instances only, of a deeper nest, say.
        tiles: expressions in the inames, such as ``"i_outer, j_outer"``: instances in which they
            have the same values are shaded together.
        colour: an expression whose value tells the points' colours.
        dependences: whether to draw direct dependences (see `polygen.dependences`), or which
            kinds: ``"flow"``, ``"anti"``, ``"output"``.  Those between instances at one place have
            no arrow.
        order: ``"path"`` draws a line through the instances in their order, for each work item;
            ``"numbers"`` writes, and ``"colours"`` shows by colours, when each is executed:
            parallel ones at one time.  Barriers are not looked at.
        ax: matplotlib's axes to draw on, with ``projection="3d"`` for three axes; if not given,
            they are made, in a figure of their own.

    Returns:
        The axes: ``plot_domain(...).figure.savefig("domain.svg")`` writes a file.

    Raises:
        NoMatplotlib: if matplotlib is not installed: ``pip install polygen[plots]``.
        InvalidArgument: if an argument is none of what it can be, or nothing, or too much, is
            drawn.
        UnknownIname: if there is no iname of a name.
        MissingArgument: if the value of a size is not given.
        AssumptionViolated: if the kernel's assumptions exclude the sizes.
        NoLoopNest, DependencyCycle, ProofLimit: as `polygen.dependences` does.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j]: 1<=i<n and 0<=j<=i }", "a[i,j] = a[i-1,j] + 1", loop_priority="i, j"
    ... )
    >>> ax = pg.plot_domain(knl, {"n": 8}, dependences=True)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('i', 'j')

    Source: the pictures are those of P. Feautrier, Some efficient solutions to the affine
    scheduling problem (1992), and of most of what was written on polyhedra since.
    """
    kinds = _kinds(dependences)
    _check_meanings(order, colour)
    plain = kernel.expanded
    insns = matching(plain, within)
    names = _inames(plain, insns) if axes is None else _listed(axes)
    _check_axes(names, ax)
    frame = Frame(plain, _integers("sizes", sizes), names, _integers("at", at or {}))
    by = [frame.expression(text, "tile") for text in _listed(tiles)]
    shown = None if colour is None else frame.expression(colour, "colour")
    extra = [*by, *([] if shown is None else [shown])]
    statements = _statements(frame, insns, extra)
    drawn = arrows({s.id: s for s in statements}, kinds) if kinds else []
    picture = Picture(statements, drawn)
    is_own = ax is None
    ax = new_axes(picture, len(names)) if is_own else ax
    pen = Pen(ax, picture, len(names))
    if by:
        pen.tiles(by)
    pen.outlines()
    pen.arrows()
    if order == "path":
        pen.paths()
    if order == "numbers":
        pen.numbers()
    if order == "colours":
        pen.points(picture.times(), "time")
    else:
        pen.points(None if shown is None else picture.values(shown), colour or "")
    pen.frame(names, _title(kernel, sizes, at or {}))
    if is_own:
        pen.make_room()
    return ax


def _listed(given: str | Sequence[str]) -> list[str]:
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return list(given)


def _kinds(wanted: bool | str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(wanted, bool):
        return KINDS if wanted else ()
    kinds = tuple(_listed(wanted))
    for kind in kinds:
        if kind not in KINDS:
            raise _no_choice("dependences", kind, KINDS)
    return kinds


def _check_meanings(order: str | None, colour: str | None) -> None:
    if order is not None and order not in _ORDERS:
        raise _no_choice("order", order, _ORDERS)
    if order == "colours" and colour is not None:
        raise _refused(
            f"given order='colours' and colour={colour!r}, which both are to say what colours mean",
            "leave one of them out, or write order='numbers'",
        )


def _check_axes(names: Sequence[str], ax: Any) -> None:
    shown = ", ".join(map(repr, names))
    if len(names) not in (2, 3):
        raise _refused(
            f"to draw along {len(names)} axes: {shown}",
            "say along which two or three: axes=('i', 'j'); at={'k': 0} shows a part; of a "
            "single loop, axes=('i', '0') is a picture, too",
        )
    if ax is not None and hasattr(ax, "zaxis") != (len(names) == 3):
        raise _refused(
            f"given an ax that does not have the {len(names)} axes {shown}",
            "pass axes with projection='3d' for three, without for two; or leave ax out",
        )


def _inames(kernel: Kernel, insns: Sequence[Instruction]) -> list[str]:
    """Return the inames of instructions, outermost loops first."""
    order = order_of(kernel)
    loops = dict.fromkeys(iname for insn in insns for iname in order.loops(insn.id))
    around = frozenset[str]().union(*(insn.within_inames for insn in insns))
    return [*loops, *(i for i in kernel.inames if i in around and i not in loops)]


def _statements(
    frame: Frame, insns: Sequence[Instruction], extra: Sequence[Expression]
) -> list[Statement]:
    found = [frame.instances(insn, extra) for insn in insns]
    statements = [s for s in found if s is not None and s.instances]
    if not statements:
        raise _refused(
            f"left with nothing to draw of kernel '{frame.kernel.name}'",
            "choose larger sizes, another part, or axes in inames that an instruction has",
        )
    return statements


def _integers(what: str, given: Mapping[str, SupportsIndex]) -> dict[str, int]:
    try:
        return {name: value.__index__() for name, value in given.items()}
    except (AttributeError, TypeError):
        raise _refused(f"given {what}={dict(given)!r}", "pass whole numbers, by name") from None


def _title(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], at: Mapping[str, SupportsIndex]
) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in {**sizes, **at}.items())
    return f"{kernel.name}: {values}" if values else kernel.name


def _no_choice(what: str, given: object, choices: Sequence[str]) -> InvalidArgument:
    return _refused(f"given {what}={given!r}", f"it is one of: {', '.join(choices)}")


def _refused(what: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(f"plot_domain was {what}", where=caller_location(), remedy=remedy)
