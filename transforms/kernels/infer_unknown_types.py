"""`polygen.infer_unknown_types`."""

from __future__ import annotations

from dataclasses import replace

from polygen.analysis.typing.inference import infer_types, sizes
from polygen.ir.array import ValueArg
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation


@transformation(declared=True, says_more=True)
def infer_unknown_types(kernel: Kernel, expect_completion: bool = True) -> Kernel:
    r"""Find the types that nobody declared, from those that are known, by NumPy's rules.

    A variable has the type of what is written to it, of several values the type that NumPy
    computes with them in.  Sizes stay without a type: whether they need 64 bits is decided by what
    a call passes.

    Kind: change of interface.

    Requires:
        1. The type of each variable follows from those that are declared, or `expect_completion`
           is off: then what does not follow stays without a type, and what needs it.
        2. Each operation and each assignment exists for the types of its operands.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "<> t = a[i] + 1.5\nout[i] = t*t")
        >>> knl = pg.infer_unknown_types(pg.add_dtypes(knl, {"a": "int16"}))
        >>> for variable in knl.variables.values():
        ...     print(variable.name, variable.dtype)
        a int16
        n None
        out float64
        t float64

    Parameters:
        kernel: any kernel.
        expect_completion: whether all types have to be found.  Loo.py's default is False.

    Raises:
        TypeNotFound: if 1 does not hold: the variable and the reason are named.
        TypeMismatch: if 2 does not hold.
    """
    counted = sizes(kernel)

    def open_again(argument: ValueArg) -> ValueArg:
        old = kernel.variables[argument.name]
        return replace(argument, dtype=old.dtype) if argument.name in counted else argument

    typed = infer_types(kernel, complete=expect_completion)
    return typed.copy(
        arguments=tuple([open_again(a) if isinstance(a, ValueArg) else a for a in typed.arguments])
    )
