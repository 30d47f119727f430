"""`polygen.absorb_identity`."""

from __future__ import annotations

from polygen.errors import NotAnAccumulation
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation
from polygen.transforms.instructions.remove_instructions import remove_instructions
from polygen.transforms.reductions.accumulation_forms import accumulation


@transformation
def absorb_identity(kernel: Kernel, insn: InsnId) -> Rearranged:
    r"""Let a reduction be the value of a variable that begins with the operation's identity.

    So ``t = 0`` and ``t = t + sum(...)`` are ``t = sum(...)``: a sum begins with 0 itself.

    Kind: order and storage.

    Requires:
        1. The instruction combines an element with a reduction of the same operation, under no
           condition, and reads it nowhere else.
        2. One other instruction writes the variable, the same element in the same loops, under no
           condition: 0 before a sum, 1 before a product.  It comes before.
        3. Nothing that comes before the instruction reads the variable.

    Parameters:
        insn: the id of the instruction.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }",
        ...     '''
        ...     <> t = 0  {id=start, inames=i}
        ...     t = t + sum(j, a[i,j])  {id=add, dep=start}
        ...     b[i] = 2*t  {dep=add}
        ...     ''',
        ... )
        >>> knl = pg.absorb_identity(pg.add_dtypes(knl, {"a": "float64"}), "add")
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] t = sum(j, a[i, j])  {id=add}
        [i] b[i] = 2*t  {id=insn, dep=add}

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NotAnAccumulation: if 1, 2 or 3 does not hold.
    """
    insn = to_id(kernel, insn)
    update, value = _update(kernel, insn)
    start = _start(kernel, update, value)
    made = update.copy(expression=value)
    new = kernel.copy(
        instructions=tuple([made if i.id == insn else i for i in kernel.instructions])
    )
    new = remove_instructions(new, f"id:{start.id}")
    check_made(new)
    # In each iteration of the loops around both, the variable is the identity before.
    return Rearranged(new, restated=new)


def _update(kernel: Kernel, insn_id: str) -> tuple[Assignment, ex.Reduction]:
    """Return the instruction, and the reduction that it combines an element with."""
    insn = kernel.instruction(insn_id)
    if not isinstance(insn, Assignment) or insn.predicates or insn.atomicity is not None:
        raise _not(kernel, insn_id, "it is no assignment, or has a condition, or is atomic")
    found = accumulation(insn)
    value = None if found is None else expand(found.operand, kernel.rules)
    if (
        found is None
        or not isinstance(value, ex.Reduction)
        or name_of(value.operation) != found.operation
    ):
        raise _not(kernel, insn_id, "it does not combine an element with a reduction of its kind")
    (name,) = insn.written_names
    if name in walk.free_variables(value) or insn.happens_after:
        raise _not(kernel, insn_id, f"what it adds up reads '{name}', or data orders its instances")
    return insn, value


def _start(kernel: Kernel, update: Assignment, value: ex.Reduction) -> Instruction:
    """Return the instruction that stores the identity before."""
    (name,) = update.written_names
    others = [insn for insn in kernel.writers[name] if insn.id != update.id]
    start = others[0] if len(others) == 1 else None
    if (
        not isinstance(start, Assignment)
        or start.predicates
        or start.happens_after
        or start.atomicity is not None
        or start.assignee != update.assignee
        or start.within_inames != update.within_inames
    ):
        raise _not(
            kernel, update.id, f"'{name}' is not written by one other instruction in its loops"
        )
    before = _before(kernel, update)
    if start.id not in before:
        raise _not(kernel, update.id, f"'{start.id}' does not come before it")
    readers = [i for i in sorted(before) if name in kernel.expanded.instruction(i).read_names]
    if readers:
        raise _not(kernel, update.id, f"'{readers[0]}' reads '{name}' before it")
    if not _is_identity(start.expression, value):
        raise _not(kernel, update.id, f"'{start.id}' does not store what changes nothing")
    return start


def _before(kernel: Kernel, insn: Instruction) -> set[str]:
    """Return the ids of the instructions that one depends on, and these depend on."""
    found: set[str] = set()
    pending = [insn]
    while pending:
        new = pending.pop().depends_on - found
        found |= new
        pending += [kernel.instruction(name) for name in new]
    return found


def _is_identity(value: Expression, reduction: ex.Reduction) -> bool:
    identities = {"sum": 0, "product": 1}
    wanted = identities.get(name_of(reduction.operation))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value == wanted and not str(value).startswith("-")


def _not(kernel: Kernel, insn_id: str, why: str) -> NotAnAccumulation:
    return NotAnAccumulation(
        f"absorb_identity: '{insn_id}' does not begin with an identity: {why}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn_id),
        remedy="t = 0, and then t = t + sum(k, a[k]) in the same loops",
    )
