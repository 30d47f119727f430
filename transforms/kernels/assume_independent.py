"""`polygen.assume_independent`."""

from __future__ import annotations

from polygen.analysis.integers.proving import limited
from polygen.analysis.pairs.independence import contradiction
from polygen.errors import ClaimContradicted
from polygen.ir.claims import Independent
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation


@transformation(declared=True, says_more=True)
def assume_independent(kernel: Kernel, insn1: InsnId, insn2: InsnId) -> Kernel:
    r"""State that no instance of one instruction touches what one of the other does, if one writes.

    Of one and the same instruction, it says that of each two of its instances.  Proofs use it where
    data decides which elements are touched.  The claim is printed with the kernel for good, and
    checked by calls with ``check_assumptions=True``.

    Kind: expression rewrite, by a claim.

    Requires:
        1. Data decides it: no two instances touch one element for certain.

    Parameters:
        insn1: the id of an instruction.
        insn2: the id of another, or the same.

    Before -> After:

        >>> import polygen as pg
        >>> a = pg.GlobalArg("a", shape="m")
        >>> text = "a[lower[i]] = b[i]  {id=low}\na[upper[i]] = c[i]  {id=high, dep=low}"
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [a, "..."])
        >>> knl = pg.assume_injective(pg.assume_injective(knl, "lower"), "upper")
        >>> knl = pg.assume_independent(knl, "low", "high")
        >>> knl = pg.tag_inames(knl, {"i": "g.0"})
        >>> print(*knl.claims, sep="\n")
        assume_injective('lower')
        assume_injective('upper')
        assume_independent('low', 'high')

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        ClaimContradicted: if 1 does not hold.
        ProofLimit: if isl has more to do than is reasonable.
    """
    insn1, insn2 = to_id(kernel, insn1), to_id(kernel, insn2)
    claim = Independent(insn1, insn2)
    if claim in kernel.claims:
        return kernel
    with limited(
        kernel,
        f"whether instructions of kernel '{kernel.name}' are independent could not be seen",
        "or use assume_injective",
    ):
        story = contradiction(kernel.expanded, insn1, insn2)
    if story is not None:
        raise ClaimContradicted(
            f"'{insn1}' and '{insn2}' are not independent: {story}",
            where=caller_location(),
            excerpt=excerpt(kernel, insn1, insn2),
            remedy="such instances are ordered by loops or by dependencies: claim nothing of them",
        )
    return kernel.copy(claims=(*kernel.claims, claim))
