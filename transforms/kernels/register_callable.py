"""Functions of the user's, registered for a kernel that has calls of their name."""

from __future__ import annotations

from polygen.errors import NothingMatches
from polygen.ir.callables import ScalarCallable
from polygen.ir.kernel import Kernel
from polygen.language.functions import with_functions
from polygen.source import caller_location
from polygen.transformation import transformation


@transformation(declared=True, says_more=True)
def register_callable(
    kernel: Kernel,
    function_identifier: str,
    callable: ScalarCallable,  # noqa: A002  (as Loo.py calls it)
) -> Kernel:
    r"""Let calls of a name be calls of a function, instead of another one of the user's.

    `make_kernel` takes functions, too, with ``functions={"f": ...}``; a kernel may call what nobody
    knows until types or code are asked for.

    Kind: change of meaning.

    Requires:

    1. The kernel calls a function of this name.
    2. No function that kernels can call anyway, such as ``sqrt`` or ``clamp``, has the name.

    Parameters:
        kernel: the kernel.
        function_identifier: the name in the kernel.
        callable: the function.

    Before -> After:

    >>> import polygen as pg
    >>> slow = pg.ScalarCallable({"twice": "float64 -> float64"}, "")
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = f(a[i])", functions={"f": slow})
    >>> fast = pg.ScalarCallable({"twice_fast": "float32 -> float32"}, "")
    >>> text = str(pg.register_callable(knl, "f", fast))
    >>> print(text[text.index("FUNCTIONS") :].partition("\n---")[0])
    FUNCTIONS:
    f = twice_fast(float32) -> float32

    Raises:
        NothingMatches: if 1 does not hold.
        BuiltInFunction: if 2 does not hold.
        InvalidArgument: if `callable` is no `ScalarCallable`.

    Source: Loo.py's function of this name.
    """
    new = with_functions(kernel, {function_identifier: callable})
    if new is kernel:
        raise NothingMatches(
            f"register_callable: nothing in kernel '{kernel.name}' calls '{function_identifier}', "
            "or it is this function already",
            where=caller_location(),
        )
    return new
