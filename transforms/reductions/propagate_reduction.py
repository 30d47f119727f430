"""`polygen.propagate_reduction`."""

from __future__ import annotations

from polygen.errors import ProducerNeeded
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation
from polygen.transforms.inames.remove_unused_inames import remove_unused_inames
from polygen.transforms.reductions._elementwise_producers import Producer, producers
from polygen.transforms.reductions.coalesce_reduction import check_reduces
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst


@transformation
def propagate_reduction(kernel: Kernel, insn: InsnId) -> Kernel:
    r"""Let a reduction compute what it reads, where other instructions do so element by element.

    So the loops of these instructions become those of the reduction, and what they computed is
    nowhere in memory.  `coalesce_reduction` follows; it may come before if extents are numbers.
    What computed it reads is looked at likewise, until nothing is left.  Other reductions that read
    such a variable compute it, too: they may become one loop with this one.

    Kind: order and storage.

    Requires:
        1. The instruction has a reduction.
        2. Each temporary that it reads, and that one instruction computes element by element
           (``t[i,j] = ...``, without a condition, a reduction, or its own old value), is needed by
           reductions alone, which read no more elements than are computed: each value is computed
           once for each of them.  A private variable that is read more often stays as it is.
        3. The value has the type of the temporary, or both are floating-point types, which are
           declared: then it is converted, so that what is rounded stays rounded.
        4. What it is computed of is the same where it is reduced.

    What else writes a variable (several instructions, under conditions, or a reduction) is no
    element-wise work, and stays.  A value that is read twice in one instance is written out twice,
    and compilers compute it once.

    Parameters:
        insn: the id of the instruction.

    Before -> After:

        >>> import polygen as pg
        >>> in_memory = dict(shape="n, m, 64", address_space=pg.AddressSpace.GLOBAL)
        >>> knl = pg.make_kernel(
        ...     "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<64 }",
        ...     '''
        ...     t[i,j,k] = a[i,j,k] + bias[k]    {id=t}
        ...     u[i,j,k] = fmax(t[i,j,k], 0.0f)  {id=u}
        ...     s[k] = sum((i,j), u[i,j,k])      {id=s}
        ...     ''',
        ...     [*(pg.TemporaryVariable(name, **in_memory) for name in "tu"), "..."],
        ...     name="relu",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a, bias": "float32"})
        >>> knl = pg.propagate_reduction(knl, "s")
        >>> knl = pg.coalesce_reduction(knl, "s", reduced_iname="r")
        >>> print(pg.generate_code(knl, "c").source.partition("\n\n")[2].rstrip())
        void relu(
            float const *restrict a,
            float const *restrict bias,
            int const m,
            int const n,
            float *restrict s)
        {
            int const n_m = n * m;
            for (int k = 0; k < 64; ++k) {
                float acc_r = 0.0f;
                for (int r = 0; r < n_m; ++r)
                    acc_r += fmaxf(a[64 * r + k] + bias[k], 0.0f);
                s[k] = acc_r;
            }
        }

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NoSuchReduction: if 1 does not hold.
        ProducerNeeded: if 2 does not hold.
        IllegalStep, CannotProve: if 3 or 4 does not hold.

    Source: Zhao et al., Parallelizing neural network models effectively on GPU by implementing
    reductions atomically, PACT 2022, section 3.2.
    """
    insn = to_id(kernel, insn)
    check_reduces(kernel, insn)
    used = [i for i in kernel.inames if any(i in x.within_inames for x in kernel.instructions)]
    while (found := _next(kernel, insn)) is not None:
        kernel = assignment_to_subst(kernel, found.name)
        kernel = expand_subst(kernel, [*found.readers])
    return remove_unused_inames(kernel, used)


def _next(kernel: Kernel, insn_id: str) -> Producer | None:
    """Return a variable that is to be computed where it is reduced; None if there is no more.

    Raises:
        ProducerNeeded: if one has to stay in memory.
    """
    for found in producers(kernel, insn_id):
        if found.why_not is None:
            return found
        if not found.is_kept:
            raise ProducerNeeded(
                f"propagate_reduction: '{insn_id}' cannot compute '{found.name}' itself: "
                f"{found.why_not}",
                where=caller_location(),
                excerpt=excerpt(kernel, found.writer, insn_id),
                remedy=f"assignment_to_subst(knl, '{found.name}') computes it wherever it is read; "
                "an argument becomes a temporary by change_arg_to_temporary",
            )
    return None
