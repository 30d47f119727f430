"""The address spaces of a kernel's temporaries."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.lower.spaces import chosen_spaces


@public
def address_spaces(kernel: Kernel) -> Mapping[str, AddressSpace]:
    r"""Return who shares each temporary: private, local or global.

    What a temporary that is declared ``AddressSpace.AUTO`` is depends on the tags of the inames:
    it is in the narrowest address space in which every read finds the value that was written last
    before it.  Each work item has a copy of what is private, and each group one of what is local.
    Neither lives longer than a launch: what has to is global, if the work items then write no
    element in no order.

    Parameters:
        kernel: the kernel.

    Returns:
        The address spaces by name, in the order of the temporaries.

    Raises:
        UserError: as `generate_code` does, if one is declared ``AUTO`` and there is no such code.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     ["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<16 }"],
    ...     "t[i] = a[i]\nout[j] = t[15 - j]",
    ...     [pg.TemporaryVariable("t", shape=16, address_space=pg.AddressSpace.AUTO), "..."],
    ... )
    >>> pg.address_spaces(knl)["t"].value
    'private'
    >>> knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    >>> pg.address_spaces(knl)["t"].value
    'local'
    """
    return chosen_spaces(kernel)
