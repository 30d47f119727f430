"""`polygen.use_tensor_cores`."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.errors import NotOnTensorCores
from polygen.ir import walk
from polygen.ir.added_product import added_product
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import MatrixTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Inames, InsnId, to_names, transformation
from polygen.transforms.inames.tag_arguments import with_tags


@transformation
def use_tensor_cores(kernel: Kernel, insn: InsnId, inames: Inames) -> Kernel:
    r"""Let the tensor cores of a GPU execute the loops around a sum of products.

    The loops are tagged ``mma``.  The 32 work items of a *warp*, four along ``l.0`` and eight along
    ``l.1``, multiply small matrices together.  They add up what the loops do; the order of a sum is
    the hardware's.  On targets without tensor cores, the loops are loops, which the compiler is
    asked to unroll.

    Kind: order and storage.

    Requires:
        1. The instruction adds a product of two factors to a variable: ``c[h,v] = c[h,v] +
           a[i,h,k]*b[k,j,v]``.
        2. Each iname is one of rows (the variable and the first factor depend on it), of columns
           (the variable and the second factor), or the one of the sum (both factors).
        3. Nothing else is in their loops.
        4. They are untagged, or tagged ``for``.
        5. When code is generated for CUDA, so that other steps may come between (`NotOnTensorCores`
           as well): there are four work items along ``l.0`` and a multiple of eight along ``l.1``.
           The first factor depends on the one along ``l.1`` and not on that along ``l.0``, the
           second one the other way around.  The variable is private, its elements the same for all
           work items, and the factors are elements of arrays in local or global memory.  All work
           items of a warp come there together.
        6. Then, too: types are float64; or float32 with the option ``allow_tf32``, by which factors
           are rounded; or the factors are float16 or bfloat16 and the variable is float32 (of
           float16, as ``float32(a[i,h,k])``: products of halves are halves).  One loop over columns
           has an even number of iterations, and that of the sum a multiple of 4; of numbers of
           16 bits, of 16, and one loop over rows an even number, and eight of them side by side
           begin at a multiple of 16 bytes in local memory.
        7. The options ``allow_reassociation`` and ``contract`` permit another order, and fused
           multiply-adds.

    Parameters:
        insn: the id of the instruction.
        inames: the loops over rows, columns and terms of the sum.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,v,k]: 0<=i<8 and 0<=j<4 and 0<=v<2 and 0<=k<4 }",
        ...     "s[v] = 0                         {id=clear, inames=i:j:v}\n"
        ...     "s[v] = s[v] + a[i,k]*b[k,2*j+v]  {id=add, inames=i:j:v:k, dep=clear}\n"
        ...     "c[i,2*j+v] = s[v]                {id=store, dep=add}",
        ...     [pg.TemporaryVariable("s", "float64", 2), "..."], name="small", target="cuda",
        ...     loop_priority="v, k",
        ... )
        >>> knl = pg.add_dtypes(pg.tag_inames(knl, "i: l.1, j: l.0"), {"a, b": "float64"})
        >>> for id in "clear", "store":
        ...     knl = pg.duplicate_inames(knl, "v", within=f"id:{id}")
        >>> knl = pg.use_tensor_cores(knl, "add", "v, k")
        >>> [line.strip() for line in str(pg.generate_code(knl)).splitlines() if "({" in line]
        ['pg_multiply_float64({&s[0], &s[1]}, {a[4 * i + j]}, {b[8 * j + i]});']

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if it has no such instruction.
        NotOnTensorCores: if 1, 2 or 3 does not hold.
        TagConflict: if 4 does not hold.

    Source: the instruction ``mma`` of NVIDIA's PTX ISA.
    """
    names = to_names(inames)
    why = _why_not(kernel, insn, names)
    if why:
        raise NotOnTensorCores(
            f"tensor cores cannot execute instruction '{insn}': {why}",
            where=caller_location(),
            excerpt=excerpt(kernel, insn),
            remedy="c[h,v] = c[h,v] + a[i,h,k]*b[k,j,v], in loops over h, v and k of its own",
        )
    return with_tags(kernel, [(name, MatrixTag()) for name in names], force=False)


def _why_not(kernel: Kernel, insn_id: str, names: Sequence[str]) -> str:
    """Return why an instruction is no product in loops of its own; nothing if it is."""
    insn = kernel.instruction(insn_id)
    factors = None
    if isinstance(insn, Assignment) and insn.atomicity is None and not insn.predicates:
        factors = added_product(insn.assignee, insn.expression)
    if not isinstance(insn, Assignment) or factors is None:
        return "it does not add a product of two factors, without a condition, to a variable"
    used = [walk.free_variables(node) for node in (insn.assignee, *factors)]
    depths = 0
    for iname in names:
        if iname not in insn.within_inames:
            return f"it is not in the loop over '{iname}'"
        where = tuple([iname in name for name in used])
        if where not in _ROLES:
            return f"'{iname}' is no loop over rows, columns or terms of the sum"
        depths += where == _DEPTH
        inside = [kernel.instructions[n].id for n in kernel.in_loops((iname,))]
        others = [i for i in inside if i != insn_id]
        if others:
            return f"'{others[0]}' is in the loop over '{iname}', too"
    return "" if depths == 1 else f"its sums run over {depths} of the loops, not one"


_DEPTH = (False, True, True)
_ROLES = ((True, True, False), (True, False, True), _DEPTH)
