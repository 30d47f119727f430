"""`polygen.set_argument_order`."""

from __future__ import annotations

from polygen.errors import InvalidArgument, UnknownArgument, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Names, to_names, transformation


@transformation(declared=True, says_more=True)
def set_argument_order(kernel: Kernel, arg_names: Names) -> Kernel:
    """Put the arguments in an order: that of the generated function, and of what a call returns.

    Kernels that call this one pass what it reads, and get what it writes, in this order, too.

    Kind: change of interface.

    Requires:
        1. Each argument is named once.

    Parameters:
        arg_names: all arguments, as ``"out, a, n"``, or a sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.set_argument_order(knl, "n, a, out")
        >>> print(pg.generate_code(knl, "c"))
        void polygen_kernel(int const n, float const *restrict a, float *restrict out)
        {
            for (int i = 0; i < n; ++i)
                out[i] = 2.0f * a[i];
        }

    Raises:
        UnknownArgument: if the kernel has no such argument.
        InvalidArgument: if 1 does not hold.

    Source: Loo.py's transformation of this name.
    """
    names = to_names(arg_names)
    arguments = {a.name: a for a in kernel.arguments}
    for name in names:
        if name not in arguments:
            raise UnknownArgument(
                f"kernel '{kernel.name}' has no argument '{name}'",
                where=caller_location(),
                remedy=did_you_mean(name, arguments),
            )
    wrong = [f"'{n}' is named {names.count(n)} times" for n in arguments if names.count(n) != 1]
    if wrong:
        raise InvalidArgument(
            f"set_argument_order: {wrong[0].replace('named 0 times', 'not named')}",
            where=caller_location(),
            remedy=f"name each argument once: {', '.join(arguments)}",
        )
    return kernel.copy(arguments=tuple([arguments[name] for name in names]))
