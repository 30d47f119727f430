"""`polygen.change_arg_to_temporary`."""

from __future__ import annotations

from polygen.errors import InvalidArgument
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, ConstantArg, GlobalArg, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.language.kernel_assembly import check_made
from polygen.source import caller_location
from polygen.transformation import to_names, transformation
from polygen.transforms.arrays.array_rewriting import Arrays


@transformation(declared=True)
def change_arg_to_temporary(kernel: Kernel, arg_names: Arrays) -> Kernel:
    """Keep what a kernel computes and uses for itself in temporaries instead of arguments.

    That is what kernels pass each other before they are one (`fuse_kernels`).  It is in the
    narrowest address space that will do, or in global memory if its size depends on parameters.

    Kind: change of interface: a call passes these arrays no more, and does not get them.

    Requires:
        1. They are array arguments that the kernel writes, not declared ``may_alias``.
        2. Nothing is read of them that the kernel has not written before.

    Parameters:
        arg_names: the arguments: ``"a, b"``, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]", "c[i] = b[i] + 1"], name="both"
        ... )
        >>> knl = pg.change_arg_to_temporary(pg.add_dtypes(knl, {"a": "float32"}), "b")
        >>> knl = pg.assignment_to_subst(knl, "b")
        >>> print(pg.generate_code(knl, "c"))
        void both(float const *restrict a, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i)
                c[i] = 2.0f * a[i] + 1.0f;
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        InvalidArgument: if 1 does not hold.
        UninitializedRead: if 2 does not hold.
    """
    changed: dict[str, TemporaryVariable] = {}
    for name in to_names(arg_names):
        changed[name] = _temporary(kernel, name)
    new = kernel.copy(
        arguments=tuple([a for a in kernel.arguments if a.name not in changed]),
        temporaries=(*kernel.temporaries, *changed.values()),
    )
    check_made(new)
    return new


def _temporary(kernel: Kernel, name: str) -> TemporaryVariable:
    argument = kernel.variables[name]
    why = ""
    if not isinstance(argument, GlobalArg) or isinstance(argument, ConstantArg):
        why = "is no array that a call passes and the kernel may write"
    elif name not in kernel.writers:
        why = "is written by nothing: its values are those that a call passes"
    elif argument.may_alias:
        why = "may overlap other arguments"
    if why or not isinstance(argument, GlobalArg):
        raise InvalidArgument(
            f"change_arg_to_temporary: '{name}' {why}",
            where=caller_location(),
            remedy="name arguments that the kernel writes before it reads them",
        )
    return TemporaryVariable(
        name,
        argument.dtype,
        argument.shape or (),
        _space(argument),
        argument.dim_tags,
        argument.dim_names,
        alignment=argument.alignment,
    )


def _space(argument: Argument) -> AddressSpace:
    """Return global if its size depends on parameters, else what is found to suit."""
    extents = argument.shape or () if isinstance(argument, GlobalArg) else ()
    sized = any(walk.free_variables(extent) for extent in extents)
    return AddressSpace.GLOBAL if sized else AddressSpace.AUTO
