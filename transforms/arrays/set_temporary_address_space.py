"""`polygen.set_temporary_address_space`."""

from __future__ import annotations

from polygen.ir.kernel import Kernel
from polygen.transformation import to_names, transformation
from polygen.transforms.arrays.array_rewriting import Space, Temporaries, redeclared, to_space


@transformation(says_more=True)
def set_temporary_address_space(
    kernel: Kernel, temp_var_names: Temporaries, address_space: Space
) -> Kernel:
    """Let each work item, each group, or all together have one copy of temporaries.

    Kind: order and storage.

    Requires:
        1. What is read from the temporaries is still there, in the copy that is read.
        2. Where more share a copy than before, those that touch one element come in an order.

    Parameters:
        temp_var_names: the temporaries: ``"s, t"``, or a sequence.
        address_space: an `AddressSpace`, or its value: ``"private"``, ``"local"``, ``"global"``;
            ``"auto"`` for the narrowest that will do: see `polygen.address_spaces`.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     ["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<16 }"],
        ...     ["t[i] = a[i]  {id=load}", "out[j] = t[15 - j]"],
        ...     [pg.TemporaryVariable("t", "float32", 16), pg.GlobalArg("a", "float32", 16), "..."],
        ...     name="turn",
        ... )
        >>> knl = pg.set_temporary_address_space(knl, "t", "local")
        >>> knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
        >>> print(pg.generate_code(knl, "opencl"))
        __kernel void __attribute__((reqd_work_group_size(16, 1, 1)))
        turn(__global float const *restrict a, __global float *restrict out)
        {
            int const i = get_local_id(0);
            __local float t[16];
        <BLANKLINE>
            t[i] = a[i];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = t[15 - i];
        }

    Raises:
        UnknownArgument: if the kernel has no such temporary.
        InvalidArgument: if one is an argument, or if there is no such address space.
        IllegalStep, CannotProve: if 1 or 2 does not hold.

    Source: Loo.py's transformation of this name.
    """
    space = to_space(address_space)
    changed = {
        t.name: t.in_space(space) for t in kernel.temporaries if t.name in to_names(temp_var_names)
    }
    return redeclared(kernel, changed)
