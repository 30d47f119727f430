"""Counts bank conflicts of accesses to local memory."""

from __future__ import annotations

from polygen.analysis.access.banks import BankConflicts, Banks, conflicts_of
from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.source import caller_location
from polygen.transforms.arrays.array_rewriting import is_temporary
from polygen.transforms.arrays.banked_temporaries import in_banks


@public
def bank_conflicts(
    kernel: Kernel, name: str, banks: int = 32, bank_bytes: int = 4
) -> tuple[BankConflicts, ...]:
    r"""Return how many words of one bank each access of a local temporary asks for at a time.

    That is counted over the work items of a group, in their order: as many ask together as there
    are banks, fewer where an element, or a vector, takes several words.  Work items that ask for
    the same word get it together.  Which iteration of the loops around it is has no part in it, but
    where it decides remainders: then the worst one counts.

    Parameters:
        kernel: the kernel.
        name: a temporary in local memory.
        banks: how many banks there are.
        bank_bytes: how many bytes a word of a bank has.

    Returns:
        For each access `insn_id`, the instruction; `access`, as text; `is_write`; and `ways`, how
        many words of one bank it asks for at most: 1 where nobody waits, None where data decides.

    Raises:
        UnknownArgument: if the kernel has no such variable.
        InvalidArgument: if it is no temporary in local memory, or a number is not positive.
        AxisNotPossible: if its strides are given.
        TypeNotFound: if its type does not follow from what is known.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     ["{ [i]: 0<=i<64 }", "{ [j]: 0<=j<64 }"],
    ...     "t[2*i] = a[i]  {id=load}\nout[j] = t[2*(63 - j)]",
    ...     [pg.TemporaryVariable("t", "float32", 128, address_space=pg.AddressSpace.LOCAL), "..."],
    ... )
    >>> for access in pg.bank_conflicts(pg.tag_inames(knl, {"i": "l.0", "j": "l.0"}), "t"):
    ...     print(access.insn_id, access.access, access.ways)
    load t[2*i] 2
    insn t[2*(63 - j)] 2
    """
    if not is_temporary(kernel, name) or banks < 1 or bank_bytes < 1:
        raise InvalidArgument(
            f"bank_conflicts was given {name!r}, {banks!r} and {bank_bytes!r}",
            where=caller_location(),
            remedy="pass the name of a temporary, a number of banks and one of bytes",
        )
    plain, (array,) = in_banks(kernel, (name,))
    return conflicts_of(plain, array, Banks(banks, bank_bytes))
