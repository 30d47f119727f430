"""Translation validation: a loop program is compared with the kernel that it was made of.

Nothing here was used to make the program, but the analysis that says what a kernel means.
"""

from __future__ import annotations

from polygen.analysis.integers.proving import limited
from polygen.analysis.typing.call_arguments import functions_of
from polygen.errors import NotValidated, ProofLimit, WrongStatement
from polygen.ir.kernel import Kernel
from polygen.lower.program import LoopProgram
from polygen.source import warn
from polygen.validation.copies import check_copies
from polygen.validation.early_ends import check_early_ends
from polygen.validation.exchange import Exchange
from polygen.validation.faults import fault
from polygen.validation.heads import check_heads
from polygen.validation.instances import Instances
from polygen.validation.promises import check_promises
from polygen.validation.sequence import check_sequence
from polygen.validation.shuffles import check_shuffles
from polygen.validation.statements import check_statements
from polygen.validation.storage import check_storage
from polygen.validation.uniform import check_uniform
from polygen.validation.view import View
from polygen.validation.works import works_of


def validate(kernel: Kernel, program: LoopProgram) -> None:
    """Check that a loop program does what its kernel means.

    If that takes more work than is reasonable, a warning says so: `NotValidated`.

    Parameters:
        kernel: what was lowered: with types, and without substitution rules.
        program: what it became.

    Raises:
        WrongLoopProgram: the subclass that says what is wrong, with a witness.
    """
    functions = list(functions_of(kernel))
    if [f.name for f in program.functions] != [f.name for f in functions]:
        raise fault(WrongStatement, kernel, "its program has other functions than it calls")
    for function, its_program in zip(functions, program.functions, strict=True):
        validate(function, its_program)
    try:
        what = f"the loop program of kernel '{kernel.name}' could not be checked"
        with limited(kernel, what, ""):
            check(kernel, program)
    except ProofLimit:
        warn(
            NotValidated(
                f"the loop program of kernel '{kernel.name}' was not compared with the kernel: "
                "that takes more work than is reasonable (fix_parameters may help)"
            )
        )


def check(kernel: Kernel, program: LoopProgram) -> None:
    """Do what `validate` does, however much work it is."""
    view = View(kernel, program)
    works = works_of(view)  # what has to be executed, and the statements that do it
    instances = Instances(view)
    for work in works.all:
        check_statements(view, work)  # each does what its instruction says
        instances.check(work)  # once at each point of its domain
    check_sequence(view, works)  # a work item does it in the kernel's order
    check_uniform(view)  # all work items of a group reach the same barriers
    Exchange(view, works).check()  # what they exchange comes in the kernel's order
    check_shuffles(view, works)  # and read each other's registers where the value is that they need
    check_storage(view, works)  # variables hold what is written until it is read
    check_copies(view, works)  # and each work item finds its own
    check_early_ends(view, works)  # loops end where nothing is left to be done
    check_heads(view, works)  # conditions may be asked, and mean what they say
    check_promises(view)
