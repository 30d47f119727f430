"""`polygen.assume_injective`."""

from __future__ import annotations

from polygen.ir.claims import Injective
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation


@transformation(declared=True, says_more=True)
def assume_injective(kernel: Kernel, array: str) -> Kernel:
    """State that an array holds no value twice, so that what it points to is distinct.

    Proofs use it: of two different instances, ``a[array[i]]`` then is another element.  The claim
    is printed with the kernel for good, and checked by calls with ``check_assumptions=True``.

    Kind: expression rewrite, by a claim.

    Requires:
        1. It is an array argument that the kernel does not write.

    Parameters:
        array: the name of the array.

    Before -> After:

        >>> import polygen as pg
        >>> a = pg.GlobalArg("a", shape="n")
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[idx[i]] = b[i]", [a, "..."])
        >>> knl = pg.assume_injective(knl, "idx")
        >>> knl = pg.tag_inames(knl, {"i": "g.0"})
        >>> print(*knl.claims)
        assume_injective('idx')

    Raises:
        UnknownArgument: if the kernel has no such argument or temporary.
        MalformedKernel: if 1 does not hold.
    """
    claim = Injective(array)
    return kernel if claim in kernel.claims else kernel.copy(claims=(*kernel.claims, claim))
