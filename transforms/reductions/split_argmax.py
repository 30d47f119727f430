"""`polygen.split_argmax`."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import NoSuchReduction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.dtype import DType, is_integer
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import identity_of, name_of
from polygen.ir.revision import Revision
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation

_PLAIN = {"argmax": "max", "argmin": "min"}


@transformation
def split_argmax(kernel: Kernel, insn: InsnId) -> Rearranged:
    """Find the greatest value first (or the least), and then its place, in a loop of its own.

    Both loops are simple: compilers make vectors of them, which they do not of one that carries a
    value and its place, and decides for both at each element.  What is compared is read twice: let
    the parts that it is done for fit into a cache (`reduce_in_parts`).

    The place is the least one at which the value is the greatest one, or is NaN: if there is a NaN,
    it is the greatest.

    Kind: expression rewrite.

    Requires:
        1. The instruction assigns what one ``argmax`` or ``argmin`` finds: both results, or the
           place; nothing else; and reads nothing that it writes.  Places are integers.
        2. What is compared is an integer, or an element of an array of ``float32`` or ``float64``
           as it is: two loops might round arithmetic in different ways.

    Parameters:
        insn: the id of the instruction.  What finds the place keeps it.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [j]: 0<=j<n }", "v[0], k[0] = argmax(j, a[j], j)  {id=find}")
        >>> knl = pg.add_dtypes(knl, {"a, v": "float32"})
        >>> for insn in pg.split_argmax(knl, "find").assignments:
        ...     print(*insn.assignees, "=", *insn.values)
        v[0] = max(j, a[j])
        k[0] = min(j_0, j_0 if (a[j_0] == v[0]) | (a[j_0] != a[j_0]) else 9223372036854775807)

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NoSuchReduction: if 1 or 2 does not hold.
        TypeNotFound: if the type of what is compared is not known.
    """
    insn = to_id(kernel, insn)
    search = _Search.of(kernel, kernel.assignment(insn))
    new = search.kernel_after()
    # That is what the operation means; so what is left to see is that it has one result.
    check_made(new)
    return Rearranged(new, restated=new)


@dataclass(frozen=True)
class _Search:
    """A search for the place of a greatest or least value.

    Attributes:
        kernel: the kernel.
        insn: the instruction.
        node: the reduction.
        compared, place: what is compared, and what tells places apart.
        dtypes: the types of both.
    """

    kernel: Kernel
    insn: Assigning
    node: ex.Reduction
    compared: Expression
    place: Expression
    dtypes: tuple[DType, ...]

    @classmethod
    def of(cls, kernel: Kernel, insn: Assigning) -> _Search:
        """Return what an instruction does.

        Raises:
            NoSuchReduction: if that is something else.
        """

        def refused(why: str, remedy: str) -> NoSuchReduction:
            return NoSuchReduction(
                f"split_argmax: '{insn.id}' {why}",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy=remedy,
            )

        nodes = {v.aggregate for v in insn.values if isinstance(v, ex.Component)}
        node = next(iter(nodes), None)
        found = [v.position for v in insn.values if isinstance(v, ex.Component)]
        if (
            not isinstance(node, ex.Reduction)
            or len(nodes) > 1
            or name_of(node.operation) not in _PLAIN
            or found not in ([0, 1], [1])
            or len(found) < len(insn.values)
            or not isinstance(node.operand, ex.Several)
        ):
            raise refused(
                "assigns something else than the place of one greatest or least value",
                "v[0], k[0] = argmax(j, a[j], j)",
            )
        if not insn.read_names.isdisjoint(insn.written_names):
            raise refused("reads what it writes", "assign to other variables")
        compared, place = (expand(part, kernel.rules) for part in node.operand.children)
        dtypes = reduction_types(
            ex.Reduction(node.operation, node.inames, ex.Several((compared, place))),
            dict(kinds(kernel)),
        )
        if not is_integer(dtypes[1]):
            raise refused("has places that are no integers", "let an iname tell places apart")
        is_read = isinstance(compared, ex.Subscript) and dtypes[0].name in ("float32", "float64")
        if not is_integer(dtypes[0]) and not is_read:
            raise refused(
                "compares what two loops might round in different ways",
                "write what is compared to an array first, of float32 or float64",
            )
        return cls(kernel, insn, node, compared, place, dtypes)

    def kernel_after(self) -> Kernel:
        """Return the kernel with two loops."""
        insn, node, revision = self.insn, self.node, Revision(self.kernel)
        best = self._best(revision)
        again = revision.copies(node.inames)
        common = {name: getattr(insn, name) for name in ("tags", "happens_after")}
        value = ex.Reduction(_PLAIN[name_of(node.operation)], node.inames, self.compared)
        first = revision.stage(insn, "best", [best], [value], **common)
        stages = [first]
        if len(insn.assignees) == 2 and insn.assignees[0] != best:
            after = frozenset([first.id])
            stages.append(
                revision.stage(
                    insn, "value", insn.assignees[:1], [best], depends_on=after, **common
                )
            )
        renamed = {old: ex.Variable(new) for old, new in again.items()}
        found = ex.Reduction(
            "min", tuple(again.values()), walk.substitute(self._found(best), renamed)
        )
        after = insn.depends_on.union(stage.id for stage in stages)
        last = first.copy(
            id=insn.id, assignee=insn.assignees[-1], expression=found, depends_on=after
        )
        return revision.with_stages({insn.id: [*stages, last]})

    def _found(self, best: Expression) -> Expression:
        """Return the place of an element, if it is a greatest one, else what is behind all."""
        is_best: Expression = ex.Comparison(self.compared, "==", best)
        if self.dtypes[0].kind == "f":
            is_nan = ex.Comparison(self.compared, "!=", self.compared)
            is_best = ex.BitwiseOr((is_best, is_nan))
        (behind,) = identity_of("min", self.dtypes[1:])
        return ex.If(is_best, self.place, behind)

    def _best(self, revision: Revision) -> ex.Variable | ex.Subscript:
        """Return where the value is kept, unrounded; in a new temporary if need be."""
        target = self.insn.assignees[0]
        if len(self.insn.assignees) == 2 and self._keeps(ex.name_of(target)):
            return target
        return revision.temporary(f"{self.insn.id}_most", self.dtypes[0])

    def _keeps(self, name: str) -> bool:
        """Tell whether a variable is certain to have the type of what is compared."""
        variable = self.kernel.variables[name]
        dtype = variable.dtype
        if dtype is None and isinstance(variable, TemporaryVariable):
            dtype = infer_types(self.kernel).variables[name].dtype
        return dtype is not None and dtype == self.dtypes[0]
