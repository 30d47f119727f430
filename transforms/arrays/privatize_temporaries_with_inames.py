"""`polygen.privatize_temporaries_with_inames`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import TileAxis, sized_axis, tile_axis
from polygen.errors import InvalidArgument, NotPrivatizable, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Strided, with_outer_axes
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Inames, Names, to_names, transformation
from polygen.transforms.arrays.array_rewriting import without_rules_about


@transformation
def privatize_temporaries_with_inames(
    kernel: Kernel, privatizing_inames: Inames, only_var_names: Names | None = None
) -> Kernel:
    """Give each iteration of loops elements of its own in the temporaries that are written there.

    A temporary gets an axis for each of the inames that an instruction which writes it is within;
    its subscript along that axis counts the iterations.  So what one iteration keeps is there
    still after others, and the loops may be interchanged, unrolled or distributed.

    Kind: order and storage.

    Requires:
        1. The temporaries are written in the loop of at least one of the inames.
        2. They are used nowhere else: each use is in the same loops, and is no bound of a loop.
        3. The loops have a constant number of iterations; for a global temporary, one that sizes
           say.

    Parameters:
        privatizing_inames: ``"i"``, ``"i, j"``, or a sequence; the axes are in this order.
        only_var_names: the temporaries; all that are written in the loops if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     ["{ [m]: 0<=m<4 }", "{ [i]: 0<=i<n }"],
        ...     ["<> t = 2*x[m]  {id=t}", "out[m,i] = t + i  {id=out}"],
        ...     name="table",
        ... )
        >>> knl = pg.add_dtypes(knl, {"x": "float32"})
        >>> knl = pg.privatize_temporaries_with_inames(knl, "m")
        >>> knl = pg.duplicate_inames(knl, "m", within="t")
        >>> print(pg.generate_code(pg.prioritize_loops(knl, "i, m"), "c"))
        void table(int const n, float *restrict out, float const *restrict x)
        {
            float t[4];
            for (int m_0 = 0; m_0 < 4; ++m_0)
                t[m_0] = 2.0f * x[m_0];
            for (int i = 0; i < n; ++i) {
                for (int m = 0; m < 4; ++m)
                    out[m * n + i] = t[m] + i;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if 1 does not hold for a temporary that is named.
        NotPrivatizable: if 2 or 3 does not hold.

    Source: Loo.py's transformation of this name.
    """
    inames = to_names(privatizing_inames)
    written = _written(kernel, inames)
    chosen = tuple(written) if only_var_names is None else to_names(only_var_names)
    for name in chosen:
        if name not in written:
            raise InvalidArgument(
                f"privatize_temporaries_with_inames: '{name}' is no temporary that is written in "
                f"a loop over {' or '.join(inames)}",
                where=caller_location(),
                remedy=did_you_mean(name, written),
            )
    for name in chosen:
        _check_bounds(kernel, name)
    plan = {name: {i: _axis(kernel, name, i) for i in written[name]} for name in chosen}
    for name, axes in plan.items():
        _check_strides(kernel, name, axes)
    expanded = without_rules_about(kernel, chosen)
    return expanded.copy(
        instructions=tuple(_Rewriter(expanded, insn, plan).run() for insn in expanded.instructions),
        temporaries=tuple(_extended(t, plan.get(t.name, {})) for t in kernel.temporaries),
    )


def _written(kernel: Kernel, inames: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the temporaries that are written in the loops, each with those of the loops."""
    found: dict[str, tuple[str, ...]] = {}
    for temporary in kernel.temporaries:
        within = NO_NAMES.union(*(w.within_inames for w in kernel.writers.get(temporary.name, ())))
        if own := tuple(i for i in inames if i in within):
            found[temporary.name] = own
    return found


def _axis(kernel: Kernel, name: str, iname: str) -> TileAxis:
    """Return how the iterations of a loop are counted in what all uses of a temporary are in."""
    first, *others = [r.inames for r in references_by_name(kernel)[name]]
    around = first.intersection(*others) | {iname}
    values = domain_of(kernel, with_surrounding(kernel, around))
    axis = tile_axis(unflatten(values, (iname,)))
    if axis is None and kernel.address_space(name) is AddressSpace.GLOBAL:
        known = known_parameters(kernel)
        axis = sized_axis(unflatten(values, (iname,)), kernel.parameters, known)
    if axis is None:
        raise NotPrivatizable(
            f"the loop of '{iname}' has no constant number of iterations: the temporaries would "
            "have no constant size",
            where=kernel.location,
            remedy=f"split '{iname}' by a constant and take the inner part, fix the parameters, or "
            f"put '{name}' in global memory: set_temporary_address_space",
        )
    return axis


def _check_bounds(kernel: Kernel, name: str) -> None:
    for domain in kernel.domains:
        if name in domain.parameters:
            raise NotPrivatizable(
                f"'{name}' is a bound in {domain}: it cannot become an array",
                where=kernel.location,
                remedy="say which temporaries are meant: only_var_names",
            )


def _check_strides(kernel: Kernel, name: str, axes: Mapping[str, TileAxis]) -> None:
    """Check that what strides are in terms of all extents can be said as a number."""
    temporary = next(t for t in kernel.temporaries if t.name == name)
    tags = temporary.dim_tags or ()
    extents = (*temporary.shape, *(axis.size for axis in axes.values()))
    if any(isinstance(tag, Strided) for tag in tags) and not all(
        isinstance(extent, int) for extent in extents
    ):
        raise NotPrivatizable(
            f"'{name}' has strides, and extents that sizes say: the strides of further axes would "
            "be no numbers",
            where=kernel.location,
            remedy=f"tag_array_axes(kernel, '{name}', ...) with N0, N1 and so on, first",
        )


def _extended(temporary: TemporaryVariable, axes: Mapping[str, TileAxis]) -> TemporaryVariable:
    extents = tuple([axis.size for axis in axes.values()])
    names = temporary.dim_names
    if names is not None:
        names = (*names, *(iname for iname in axes if iname not in names))
        names = names if len(names) == len(temporary.shape) + len(axes) else None
    return replace(
        temporary,
        shape=(*temporary.shape, *extents),
        dim_tags=with_outer_axes(temporary, extents),
        dim_names=names,
    )


class _Rewriter:
    """Adds subscripts to what an instruction uses of some temporaries."""

    def __init__(
        self, kernel: Kernel, insn: Instruction, plan: Mapping[str, Mapping[str, TileAxis]]
    ) -> None:
        self._kernel = kernel
        self._insn = insn
        self._plan = plan

    def run(self) -> Instruction:
        """Return the instruction."""
        around = self._insn.within_inames
        return self._insn.map_expressions(lambda e: self._rewritten(e, around))

    def _rewritten(self, node: Expression, around: frozenset[str]) -> Expression:
        if isinstance(node, ex.Reduction):
            around = around.union(node.inames)
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) in self._plan:
            index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
            own = [self._rewritten(i, around) for i in index]
            return self._element(ex.name_of(node), own, around)
        return walk.rebuild(node, tuple([self._rewritten(p, around) for p in walk.parts(node)]))

    def _element(self, name: str, index: list[Expression], around: frozenset[str]) -> Expression:
        for iname, axis in self._plan[name].items():
            if iname not in around:
                raise NotPrivatizable(
                    f"instruction '{self._insn.id}' uses '{name}', but not in the loop of "
                    f"'{iname}': it is not known which iteration's value is meant",
                    where=self._insn.location,
                    excerpt=excerpt(self._kernel, self._insn.id),
                    remedy=f"leave '{name}' out, with only_var_names, or '{iname}'",
                )
            index.append(axis.place(LinearForm.of_name(iname)))
        return ex.Subscript(ex.Variable(name), index[0] if len(index) == 1 else tuple(index))
