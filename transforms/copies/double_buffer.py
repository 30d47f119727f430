"""`polygen.double_buffer`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.access.domains import (
    surrounding_inames,
)
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.order.instance_order import order_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.layout import with_outer_axes
from polygen.ir.tags import GroupTag, LocalTag, is_parallel
from polygen.source import caller_location
from polygen.transformation import Iname, to_names, transformation
from polygen.transforms.arrays.array_rewriting import (
    Index,
    Temporaries,
    check_rewritable,
    redeclared,
    with_subscripts,
    without_rules_about,
)
from polygen.transforms.copies._next_iteration import Ahead, is_own, refused


@transformation
def double_buffer(kernel: Kernel, names: Temporaries, iname: Iname) -> Kernel:
    """Let an iteration of a loop compute what the next one needs of temporaries.

    A temporary gets two halves, which iterations use in turn.  What computes it, a prefetch for
    instance, does so before the loop for the first iteration, and in each iteration for the next
    one, at its beginning: so loads are under way while others are used, and work items that share
    what is loaded wait for each other once in an iteration, not twice.

    Kind: order and storage.

    Requires:
        1. The iname is that of a loop, or of an unrolled one, which begins at an affine function of
           what is outside of it.
        2. Each temporary is written by assignments with one assignee, not updated atomically, and
           all that uses it is in the loop; it is no bound of another one.
        3. Each use of it is in sight: none in verbatim C, in a call of another kernel.
        4. What is read for the next iteration is the same ahead of this one.

    Parameters:
        names: the temporaries: ``"s, t"``, or a sequence.
        iname: the iname of the loop.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [g,k,j]: 0<=g<n and 0<=k<m and 0<=j<16 }", "out[g,j] = sum(k, a[g,k,15-j])"
        ... )
        >>> knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"g": "g.0", "j": "l.0"})
        >>> knl = pg.add_prefetch(knl, "a", "j", temporary_name="t", dim_arg_names="p, q, i")
        >>> knl = pg.double_buffer(knl, "t", "k")
        >>> print(str(pg.generate_code(knl, "opencl")).partition("{")[2])
        <BLANKLINE>
            int const g = get_group_id(0);
            int const j = get_local_id(0);
            __local float t[32];
        <BLANKLINE>
            if (m >= 1)
                t[j] = a[g * m * 16 + j];
            barrier(CLK_LOCAL_MEM_FENCE);
            float acc_k = 0.0f;
            for (int k = 0; k < m; ++k) {
                if (k + 1 < m)
                    t[16 * ((k + 1) % 2) + j] = a[(g * m + k + 1) * 16 + j];
                acc_k += t[16 * (k % 2) + 15 - j];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            out[16 * g + j] = acc_k;
        }

    Raises:
        UnknownArgument, UnknownIname: if the kernel has no such temporary or iname.
        InvalidArgument: if a variable is no temporary.
        NotBufferable: if 1 or 2 does not hold.
        AxisNotPossible, VerbatimNotPossible: if 3 does not hold.
        NoLoopNest, DependencyCycle: if nothing can be computed ahead of the loop.
        IllegalStep, CannotProve, UninitializedRead, NewObligation: if 4 does not hold.

    Source: the CUDA C++ Best Practices Guide, 2023; software pipelining: Lam, 1988.
    """
    given = tuple(dict.fromkeys(to_names(names)))
    check_rewritable(kernel, given)
    new = without_rules_about(kernel, given)
    _check_loop(new, iname)
    for name in _in_order(new, given, iname):  # what others are computed from first
        new = _buffered(new, name, iname)
    why = why_none_is_permitted(new)
    if why is not None:
        raise type(why)(
            f"what {' and '.join(given)} hold cannot be computed ahead of the loop of '{iname}': "
            f"{why.what}",
            where=caller_location(),
            excerpt=why.excerpt,
            remedy="name a loop in which all that they are computed from is there before",
        )
    return new


# --- what is looked at


def _check_loop(kernel: Kernel, iname: str) -> None:
    if is_parallel(kernel.tags.get(iname)):
        raise refused(
            kernel,
            f"'{iname}' is tagged {kernel.tags[iname]}: it has no next iteration",
            remedy="name a loop",
        )


def _in_order(kernel: Kernel, names: Sequence[str], iname: str) -> list[str]:
    """Return temporaries in the order in which they are written."""
    path = order_of(kernel.expanded).path
    return sorted(names, key=lambda name: path(_writers(kernel, name, iname)[0].id))


def _writers(kernel: Kernel, name: str, iname: str) -> tuple[Assignment, ...]:
    """Return the instructions that write a temporary.

    Raises:
        NotBufferable: if there is none or another kind of instruction among them, or if the
            temporary is used outside of the loop.
    """
    found = kernel.writers.get(name, ())
    writers = [w for w in found if isinstance(w, Assignment) and w.atomicity is None]
    if not found or len(writers) < len(found):
        raise refused(
            kernel,
            f"'{name}' is not written by plain assignments, each with one assignee",
            *(w.id for w in found),
            remedy="write it so, or prefetch it: add_prefetch",
        )
    ids = {w.id for w in found}
    for insn in kernel.instructions:
        if insn.happens_after and (insn.id in ids or {r.first for r in insn.happens_after} & ids):
            raise refused(
                kernel,
                f"of '{insn.id}' is said which of its instances come after which others",
                insn.id,
                remedy="say that whole instructions depend on each other: {dep=...}",
            )
    for use in references_by_name(kernel)[name]:
        if iname not in use.inames:
            raise refused(
                kernel,
                f"'{use.insn.id}' uses '{name}' outside of the loop of '{iname}'",
                use.insn.id,
                remedy="name a loop around all that uses it",
            )
    if any(name in domain.parameters for domain in kernel.domains):
        raise refused(
            kernel, f"'{name}' is the bound of a loop", remedy="leave it, or name another"
        )
    return tuple(writers)


# --- two halves


def _buffered(kernel: Kernel, name: str, iname: str) -> Kernel:
    """Return the kernel with two halves of one temporary."""
    copied = {w.id: _copied(kernel, w, iname) for w in _writers(kernel, name, iname)}
    following = LinearForm.of_name(iname) + 1
    new = _halved(kernel, name, iname)
    for insn_id, inames in copied.items():
        writer = new.instruction(insn_id)
        assert isinstance(writer, Assignment)
        ahead = Ahead(new, writer, iname, inames)
        new = ahead.kernel_with(ahead.at(ahead.first(), "first"), ahead.at(following, "next"))
    return new


def _copied(kernel: Kernel, writer: Assignment, iname: str) -> tuple[str, ...]:
    """Return the inames of the writer which, ahead of the loop, have to be others."""
    loops = [
        i for i in order_of(kernel.expanded).loops(writer.id) if not is_parallel(kernel.tags.get(i))
    ]
    inside = loops[loops.index(iname) + 1 :]

    def is_copied(other: str) -> bool:
        if iname in surrounding_inames(kernel, other):
            return True
        on_axis = isinstance(kernel.tags.get(other), GroupTag | LocalTag)
        return not on_axis and (other in inside or is_own(kernel, writer, other))

    return tuple([i for i in kernel.inames if i in writer.within_inames - {iname} and is_copied(i)])


def _halved(kernel: Kernel, name: str, iname: str) -> Kernel:
    """Return the kernel with another axis of a temporary, for even and odd iterations."""
    array = kernel.array(name)
    half = (LinearForm.of_name(iname) % 2).expression()

    def index(old: Index) -> Index:
        return (half, *old)

    if array.shape:
        new = with_subscripts(kernel, {name: index})
    else:
        element = ex.Subscript(ex.Variable(name), half)
        new = kernel.copy(
            instructions=tuple(
                [
                    i.map_expressions(lambda e: walk.substitute(e, {name: element}))
                    for i in kernel.instructions
                ]
            )
        )
    tags = with_outer_axes(array, (2,))
    tags = None if tags is None else (tags[-1], *tags[:-1])
    names = (
        array.dim_names if array.dim_names is None else (kernel.new_name("half"), *array.dim_names)
    )
    shape = (2, *(array.shape or ()))
    return redeclared(new, {name: replace(array, shape=shape, dim_tags=tags, dim_names=names)})
