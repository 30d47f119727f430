"""`polygen.parallel_inames`: which loops could be mapped to the hardware, and what others carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polygen.analysis.dataflow.dependences import Dependence, carried_dependences
from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel
from polygen.analysis.pairs.instance_pairs import users
from polygen.errors import in_users_words, unambiguous
from polygen.inspection.order.legal_steps import Verdict, is_legal
from polygen.ir.array import AddressSpace
from polygen.ir.cached import cached_property
from polygen.ir.collection import without_collection
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag, is_parallel
from polygen.transforms.inames.tag_inames import tag_inames


@dataclass(frozen=True)
class Parallelism:
    """The dependences between iterations of one iname.

    Attributes:
        iname: the iname.
        as_group: whether it may be tagged ``g``: run by work groups in any order.
        as_item: whether it may be tagged ``l``: by the work items of a group.  The two differ
            only in what local temporaries are: groups have copies of their own.
        carried: the dependences between different iterations of its loop, those of all outer
            loops being the same.  Where a loop carries some and may be tagged all the same,
            another loop keeps them, or a dependency between the instructions: at the price of
            barriers, or of several launches.
    """

    iname: str
    carried: tuple[Dependence, ...]
    _answers: _Answers = field(repr=False, compare=False)

    @property
    def as_group(self) -> Verdict:
        """The verdict on the step that tags it ``g``."""
        return self._answers.as_group

    @property
    def as_item(self) -> Verdict:
        """The verdict on the step that tags it ``l``."""
        return self._answers.as_item

    @property
    def parallel(self) -> bool:
        """Whether it may be tagged ``g``, and ``l`` too."""
        return self._answers.is_plain or bool(self.as_group and self.as_item)

    def __str__(self) -> str:
        return "\n".join(f"{first:9} {rest}".rstrip() for first, rest in self._rows())

    def _rows(self) -> Iterator[tuple[str, str]]:
        answer, errors = "yes", list[str]()
        if not self._answers.is_plain:
            answers = {"g": self.as_group, "l": self.as_item}
            yes = [tag for tag, verdict in answers.items() if verdict]
            answer = "yes" if len(yes) == 2 else f"{yes[0]} only" if yes else "no"
            errors = [v.error.what for v in answers.values() if v.error is not None]
        # What a temporary holds may be lost although its loop carries nothing.
        reasons = [str(d) for d in self.carried] or errors[:1] or [""]
        yield from zip((answer, *[""] * (len(reasons) - 1)), reasons, strict=True)


class _Answers:
    """The verdicts on tagging an iname; where they are plainly true, steps are taken if asked for.

    Parameters:
        kernel: the kernel.
        iname: the iname.
        is_plain: whether it is known that both are true.
    """

    def __init__(self, kernel: Kernel, iname: str, *, is_plain: bool) -> None:
        self._kernel = kernel
        self._iname = iname
        self.is_plain = is_plain
        if not is_plain:
            _ = self.as_group, self.as_item

    @cached_property
    def as_group(self) -> Verdict:
        if is_parallel(self._kernel.tags.get(self._iname)):
            return Verdict(self._kernel)
        return _tagged(self._kernel, self._iname, GroupTag(_free_axis(self._kernel)))

    @cached_property
    def as_item(self) -> Verdict:
        is_on_axis = is_parallel(self._kernel.tags.get(self._iname))
        if is_on_axis or self._iname not in _around_local(self._kernel.expanded):
            return self.as_group
        return _tagged(self._kernel, self._iname, LocalTag(_free_axis(self._kernel)))


class ParallelInames(Mapping[str, Parallelism]):
    """The dependences between iterations of each iname, by name.  It prints as a table."""

    def __init__(self, rows: Mapping[str, Parallelism], names: Mapping[str, str]) -> None:
        self._rows = rows
        self._names = unambiguous(names)  # as the user wrote them

    def __getitem__(self, iname: str) -> Parallelism:
        return self._rows[iname]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        called = {iname: self._names.get(iname, iname) for iname in self._rows}
        width = max(map(len, (*called.values(), "iname")))
        lines = [f"{'iname':{width}}  parallel  carries"]
        for iname, row in self._rows.items():
            first, *others = in_users_words(str(row), self._names).splitlines()
            lines.append(f"{called[iname]:{width}}  {first}")
            lines += [f"{'':{width}}  {line}" for line in others]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ParallelInames({', '.join(f'{i}: {r.parallel}' for i, r in self._rows.items())})"


@public
@without_collection
def parallel_inames(kernel: Kernel) -> ParallelInames:
    """Return for each iname whether its iterations may run in parallel, and what they carry.

    An iname may be parallel if, and only if, the step that tags it is proved, the kernel being
    otherwise as it is: this is what `is_legal` says of `tag_inames`.  Where each of two inames may
    be parallel, that need not hold for both together.  An iname that is on a hardware axis already
    counts as parallel.  Whether code can be generated is another question: for a reduction over
    a parallel iname, say.

    Parameters:
        kernel: the kernel.

    Returns:
        A mapping from inames, in the order of the domains, which prints as a table.

    Raises:
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [t,i]: 0<=t<n and 1<=i<n }", "a[t+1,i] = a[t,i-1] + a[t,i+1]  {id=s}",
    ...     loop_priority="t, i",
    ... )
    >>> print(pg.parallel_inames(knl))
    iname  parallel  carries
    t      no        flow   s[t, i] -> s[t + 1, i + 1]  through a, distance (1, 1), carried by t
                     flow   s[t, i] -> s[t + 1, i - 1]  through a, distance (1, -1), carried by t
    i      yes
    >>> pg.parallel_inames(knl)["i"].parallel
    True
    """
    found = carried_dependences(kernel)
    return ParallelInames(
        {
            iname: Parallelism(
                iname,
                found.get(iname, ()),
                _Answers(kernel, iname, is_plain=_is_plain(kernel, iname)),
            )
            for iname in kernel.inames
        },
        kernel.names_in_errors,
    )


def _is_plain(kernel: Kernel, iname: str) -> bool:
    """Tell whether it shows at once that an iname may be parallel, on whichever axis."""
    if is_parallel(kernel.tags.get(iname)) or iname in _around_local(kernel.expanded):
        return False
    return is_plainly_parallel(kernel, iname, GroupTag(_free_axis(kernel)))


def _tagged(kernel: Kernel, iname: str, tag: HardwareTag) -> Verdict:
    return is_legal(kernel, tag_inames, {iname: tag}, force=True)


@per_kernel
def _free_axis(kernel: Kernel) -> int:
    """Return an axis that no iname is on; that there are but three is no matter of order."""
    return 1 + max((getattr(tag, "axis", -1) for tag in kernel.tags.values()), default=-1)


@per_kernel
def _around_local(kernel: Kernel) -> frozenset[str]:
    """Return the inames around what touches temporaries in local memory."""
    local = [t.name for t in kernel.temporaries if kernel.address_space(t.name) is _LOCAL]
    ids = {insn_id for name in local for insn_id in users(kernel, name)}
    return NO_NAMES.union(*(kernel.instruction(i).within_inames for i in ids))


_LOCAL = AddressSpace.LOCAL
