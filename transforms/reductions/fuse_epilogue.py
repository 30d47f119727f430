"""`polygen.fuse_epilogue`."""

from __future__ import annotations

from polygen.analysis.access.accesses import references
from polygen.errors import InvalidArgument, NotInOneLaunch
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation
from polygen.transforms.fusion.loop_sharing import (
    check_results,
    in_loops_of,
    is_passed_on,
    kept_by_items,
)


@transformation
def fuse_epilogue(kernel: Kernel, reduction: InsnId, consumer: InsnId) -> Kernel:
    """Do element-wise work with the results of a reduction where these are made, in its launch.

    The loops of the consumer over the results become those of the reduction, divided and tagged
    like these; loops of its own (over the elements of a row that is divided by its sum, say) stay
    inside.  If the results are a temporary that nothing else uses, each work item keeps its own.

    Kind: order and storage.

    Requires:
        1. The consumer reads something that the instruction with the reduction writes, at an
           element that is an affine function of the consumer's loops, which are not tagged.
        2. One loop can hold both, as `fuse_loops` requires it; what is divided in the reduction's
           loops, can be divided so in the consumer's.
        3. Each result is complete before the consumer needs it, in the same launch: no other group
           has a part in it.

    Parameters:
        reduction: the id of the instruction that reduces.
        consumer: the id of the instruction that uses what that writes.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,k]: 0<=i,k<n and 0<=j<m }",
        ...     ["s[i] = sum(j, a[i,j])  {id=s}", "b[k] = s[k]*s[k]  {id=b}"],
        ...     [pg.TemporaryVariable("s", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
        ...     name="squares",
        ... )
        >>> knl = pg.fuse_epilogue(pg.add_dtypes(knl, {"a": "float32"}), "s", "b")
        >>> print(pg.generate_code(knl, "c"))
        void squares(float const *restrict a, float *restrict b, int const m, int const n)
        {
            for (int i = 0; i < n; ++i) {
                float s = 0.0f;
                for (int j = 0; j < m; ++j)
                    s += a[i * m + j];
                b[i] = s * s;
            }
        }

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        InvalidArgument: if 1 does not hold.
        DomainsDiffer, TagConflict, NotFusible, IllegalStep, CannotProve: if 2 does not hold.
        NotInOneLaunch: if 3 does not hold.

    Source: as for `fuse_loops`; Appleyard, CUTLASS: fast linear algebra in CUDA C++, 2017, has the
    word for products.
    """
    reduction, consumer = to_id(kernel, reduction), to_id(kernel, consumer)
    first, last = kernel.instruction(reduction), kernel.instruction(consumer)
    check_results("fuse_epilogue", kernel, [first, last])
    name = _passed(kernel, first, last)
    made = next(r for r in references(_plain(kernel, first)) if r.name == name and r.is_write)
    used = next(r for r in references(_plain(kernel, last)) if r.name == name and not r.is_write)
    kernel = in_loops_of(kernel, made, used)
    _check_launch(kernel, reduction, consumer, name)
    return kept_by_items(kernel, reduction, consumer)


def _passed(kernel: Kernel, first: Instruction, last: Instruction) -> str:
    """Return the variable through which results reach the consumer."""
    reads = {use.name for use in references(_plain(kernel, last)) if not use.is_write}
    for name in first.written_names:
        if name in reads:
            return name
    raise InvalidArgument(
        f"fuse_epilogue: '{last.id}' reads nothing that '{first.id}' writes",
        where=caller_location(),
        excerpt=excerpt(kernel, first.id, last.id),
        remedy="name the instruction that reduces, and then one that uses the result",
    )


def _plain(kernel: Kernel, insn: Instruction) -> Instruction:
    """Return an instruction with what its rules stand for."""
    return kernel.without_rules.instruction(insn.id)


def _check_launch(kernel: Kernel, reduction: str, consumer: str, name: str) -> None:
    """Check that the result is complete before the launch of the reduction ends.

    Raises:
        NotInOneLaunch: if it is not.
    """
    if is_passed_on(kernel, reduction, consumer, name):
        raise NotInOneLaunch(
            f"'{consumer}' has to wait for all groups: '{name}' is complete only when each of them "
            f"has done its part of '{reduction}'",
            where=caller_location(),
            excerpt=excerpt(kernel, reduction, consumer),
            remedy="reduce each result in one group (finish='two_pass' has a last pass that does), "
            "or leave the consumer in a launch of its own",
        )
