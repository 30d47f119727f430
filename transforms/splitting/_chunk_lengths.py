"""A loop in a number of chunks whose lengths follow from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transforms.loops.loop_extents import Sizes, apart, box_of, domains_with, holds


def chunked(kernel: Kernel, iname: str, chunks: int, outer: str, inner: str) -> Rearranged:
    """Return a kernel in which a loop is two, the outer one of a constant number of iterations.

    Of ``count`` iterations, each chunk has ``length = count // chunks``, and the first ``count %
    chunks`` have one more: so chunk `c` begins at ``length*c + min(c, count % chunks)``, and has
    ``(count - c) / chunks`` iterations, rounded up, which is affine.  By construction, it computes
    what the kernel does: its instances come in the same order.

    Parameters:
        kernel: the kernel.
        iname: the loop.
        chunks: how many iterations the outer loop has.
        outer, inner: the names of the new loops.

    Raises:
        TagConflict: if it is tagged.
        ExtentNotConstant: if its bounds depend on other inames, or on data, or if it bounds others.
    """
    kernel = apart(kernel, [iname])
    box = box_of(kernel, [iname])
    sizes = Sizes(kernel, (outer, inner))
    count = sizes.count(box.ranges[0].count, iname)
    value = box.ranges[0].value(_offset(kernel, count, chunks, (outer, inner), iname, sizes))
    first, second = ex.Variable(outer), ex.Variable(inner)
    last: Expression = ex.product_of(chunks, second)
    if not _is_divisible(kernel, count, chunks):
        last = ex.sum_of(last, first)
    ends = (
        holds(first, ">=", 0),
        holds(first, "<", chunks),
        holds(second, ">=", 0),
        holds(last, "<", count.expression()),
    )
    news = (outer, inner)
    inames = [n for i in kernel.inames for n in (news if i == iname else (i,))]
    values = {iname: value}
    new = kernel.copy(
        domains=domains_with(kernel, [iname], news, reduce(isl.Set.intersect, ends, box.rest)),
        instructions=tuple([instruction_at(i, values, inames) for i in kernel.instructions]),
        tags={i: t for i, t in kernel.tags.items() if i != iname},
        priorities=_priorities(kernel, iname, news),
        separations=tuple([c for c in kernel.separations if iname not in walk.free_variables(c)]),
        derived_sizes=sizes.all,
    )
    return Rearranged(new, values, computes_as=kernel)


def _offset(
    kernel: Kernel,
    count: LinearForm,
    chunks: int,
    news: Sequence[str],
    iname: str,
    sizes: Sizes,
) -> Expression:
    """Return which iteration that of the new loops is."""
    outer, inner = map(ex.Variable, news)
    length, more = count // chunks, (count % chunks).expression()
    if length.is_constant:
        whole: Expression = ex.product_of(length.constant, outer)
    else:
        whole = ex.product_of(sizes.named(f"{iname}_length", (length.expression(),)), outer)
    if _is_divisible(kernel, count, chunks):
        return ex.sum_of(whole, inner)
    return ex.sum_of(whole, ex.Min((outer, more)), inner)


def _is_divisible(kernel: Kernel, count: LinearForm, chunks: int) -> bool:
    """Tell whether all chunks are as long."""
    rest = (count % chunks).expression()
    return known_parameters(kernel).is_subset(holds(rest, "==", 0))


def _priorities(kernel: Kernel, iname: str, news: tuple[str, str]) -> tuple[tuple[str, ...], ...]:
    found = [
        tuple([n for i in priority for n in (news if i == iname else (i,))])
        for priority in kernel.priorities
    ]
    return tuple(dict.fromkeys((*found, news)))
