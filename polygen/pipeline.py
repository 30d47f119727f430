"""From a kernel to a device program: a table of contents of what happens on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygen.analysis.integers.proving import proofs_are_on
from polygen.analysis.order.empty_loops import warn_of_unused_inames
from polygen.analysis.typing.determinism import check_deterministic
from polygen.analysis.typing.index_type import INT32, index_type
from polygen.analysis.typing.inference import infer_types
from polygen.analysis.wellformed.integer_powers import has_powers, power_obligations
from polygen.errors import LibraryNotPossible, SubGroupTooLarge, UserError
from polygen.ir.collection import without_collection
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.names import check_function_name
from polygen.ir.public import public
from polygen.ir.target_facts import facts_of
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import finished
from polygen.language.programs import TranslationUnit
from polygen.lower.extrema import with_candidates
from polygen.lower.guarded_values import with_guarded_values
from polygen.lower.hidden import without_auto
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Call, LoopProgram
from polygen.lower.sizes import without_size_arguments
from polygen.lower.table_elements import with_table_elements
from polygen.lower.tensor_products import with_tensor_products
from polygen.lower.wraps import without_wraps
from polygen.targets.languages.registry import get_target
from polygen.targets.languages.target import Target
from polygen.targets.programs.host_numbers import check_call_of_library
from polygen.targets.programs.launches import calls_library, launches_of
from polygen.targets.programs.nodes import all_nodes
from polygen.targets.programs.printer import print_program
from polygen.targets.programs.program import Program
from polygen.validation.tensor_products import check_tensor_products
from polygen.validation.validate import validate

DEFAULT_TARGET = "opencl"  # where nobody says for what: there are devices of all kinds


@without_collection
def build_program(kernel: Kernel, target: str, index_dtype: DType = INT32) -> Program:
    """Return the device program of a kernel for a target.

    Parameters:
        kernel: the types of its inputs are known.
        target: ``"opencl"``, ``"cuda"`` or ``"c"``.
        index_dtype: the type of loop counters and subscripts.
    """
    check_function_name(kernel.name)  # whoever copies a kernel may give it any name
    kernel = finished(kernel)
    description = get_target(target, clusters=kernel.options.clusters)
    program = _loop_program(kernel, description, index_dtype)
    try:
        return print_program(program, description)
    except UserError as error:
        insn = kernel.expanded.instructions_by_id.get(error.insn_id)
        if insn is not None and error.excerpt is None:
            error.where, error.excerpt = insn.location, excerpt(kernel.expanded, insn.id)
        raise


@dataclass(frozen=True, eq=False)
class Generated:
    """Code that was generated, and for what: the parameters of `build_program`."""

    kernel: Kernel
    target: str
    index_dtype: DType
    program: Program


def generated(kernel: Kernel) -> Generated:
    """Return the code of a kernel for its own target, or the default one."""
    target, index_dtype = kernel.target or DEFAULT_TARGET, index_type(kernel)
    return Generated(kernel, target, index_dtype, build_program(kernel, target, index_dtype))


def keep_code(kernel: Kernel, code: Generated) -> None:
    """Keep the code that the schedule of a kernel was looked at with, for `build_as_called`."""
    if proofs_are_on():  # what was not looked at is no code for a call that wants it to be
        kernel.memo[Generated] = code


def build_as_called(
    kernel: Kernel, called: Kernel, target: str, index_dtype: DType = INT32
) -> Program:
    """Return the program of what a kernel is with the arguments of a call.

    If its schedule was looked at as that, the code is there already.
    """
    before: Generated | None = kernel.memo.get(Generated)
    if before is None or not proofs_are_on():
        return build_program(called, target, index_dtype)
    if (before.target, before.index_dtype) != (target, index_dtype) or before.kernel != called:
        return build_program(called, target, index_dtype)
    return before.program


@public
def generate_code(kernel: Kernel | TranslationUnit, target: str | None = None) -> Program:
    """Return the generated source of a kernel, without running anything.

    The text does not depend on the machine that it is generated on.

    Parameters:
        kernel: the types of its inputs are known: see `polygen.add_dtypes`; of a program, the only
            entry point counts.
        target: ``"opencl"``, ``"cuda"`` or ``"c"``; the kernel's own, or else OpenCL, if not given.

    Returns:
        A program: ``str()`` of it is the device source; its launches, and the order and types of
        its arguments are attributes.

    Raises:
        TypeNotFound: if the type of a variable cannot be inferred.
        NoLoopNest, NotUnrollable, LocalSizeNotConstant, ...: if there is no such code.
        WrongLoopProgram: if polygen made a mistake: it checks what it made of the kernel, unless
            proofs are switched off.
    """
    kernel = finished(_one(kernel))
    return build_program(kernel, target or kernel.target or DEFAULT_TARGET, index_type(kernel))


def _one(kernel: Kernel | TranslationUnit) -> Kernel:
    """Return the only entry point of a program."""
    return kernel.default_entrypoint if isinstance(kernel, TranslationUnit) else kernel


@public
def lower_kernel(kernel: Kernel | TranslationUnit, target: str | None = None) -> LoopProgram:
    """Return the loop program of a kernel: the last form before text; print it to read it.

    Parameters and errors are those of `generate_code`.
    """
    kernel = finished(_one(kernel))
    description = get_target(target or kernel.target or DEFAULT_TARGET)
    return _loop_program(kernel, description, index_type(kernel))


def _loop_program(kernel: Kernel, target: Target, index_dtype: DType) -> LoopProgram:
    given, kernel = kernel, _as_exact_as_called(kernel)
    if proofs_are_on() and has_powers(kernel):
        power_obligations(infer_types(kernel, index_dtype))  # those that are met, or it is refused
    kernel = prepare(without_auto(_for_target(kernel, target), index_dtype), index_dtype)
    program = lower_prepared(kernel, _model(target), index_dtype)
    if kernel.options.deterministic:
        check_deterministic(kernel)
    if proofs_are_on():
        validate(kernel, program)
    warn_of_unused_inames(given)
    _check_calls_of_libraries(kernel, program, target)
    program = with_guarded_values(program)
    program = with_candidates(with_table_elements(program), kernel)
    in_loops = _model(target) is Model.LOOPS
    program = without_wraps(program, kernel, apart=in_loops)
    program = without_size_arguments(program, kernel, strips=in_loops)
    if target.tensor_cores is not None:
        program = with_tensor_products(program, kernel)
        if proofs_are_on():
            check_tensor_products(kernel, program)
    return program


def _as_exact_as_called(kernel: Kernel) -> Kernel:
    """Return the kernel without fused multiply-adds if one that it calls is: it is one source."""
    contract = kernel.expanded.options.contract
    if contract == kernel.options.contract:
        return kernel
    return kernel.copy(options=replace(kernel.options, contract=contract))


def _for_target(kernel: Kernel, target: Target) -> Kernel:
    """Return the kernel with what its options leave to the target.

    Raises:
        SubGroupTooLarge: if it counts on more work items in a sub-group than there are.
        LibraryNotPossible: if it calls a library, and the target cannot.
    """
    if not target.has_libraries:
        _check_no_library(kernel, target)
    size = kernel.options.shuffling_on(target.name)
    most = facts_of(target.name).sub_group_size
    if most and size > most:
        raise SubGroupTooLarge(
            f"the option sub_group_size of kernel '{kernel.name}' is {size}, and with target "
            f"'{target.name}', {most} work items read each other's registers",
            where=kernel.location,
            remedy=f"set_options(kernel, sub_group_size={most})",
        )
    if size == kernel.options.shuffling_on(kernel.target):
        return kernel
    return kernel.copy(options=replace(kernel.options, sub_group_size=size), target=target.name)


def _check_no_library(kernel: Kernel, target: Target) -> None:
    calls = [insn for insn in kernel.instructions if isinstance(insn, LibraryCall)]
    if calls:
        routine = calls[0].function
        raise LibraryNotPossible(
            f"target '{target.name}' calls no libraries, and '{calls[0].id}' is a call of "
            f"{routine}",
            where=calls[0].location,
            excerpt=excerpt(kernel, calls[0].id),
            remedy=f"run it on C: kernel.executor('c'); or make loops of it: "
            f"inline_callable_kernel(kernel, '{routine}')",
        )


def _check_calls_of_libraries(kernel: Kernel, program: LoopProgram, target: Target) -> None:
    """Check that the host can make the calls that stand between launches on a grid.

    Raises:
        LibraryNotPossible: if it cannot.
    """
    if target.runs_host or not program.libraries:
        return
    for launch in launches_of(program.host):
        if calls_library(launch, program):
            ids = (n.insn_id for n in all_nodes(launch.body) if isinstance(n, Call))
            insn = kernel.instructions_by_id[next(ids)]
            where = {"where": insn.location, "excerpt": excerpt(kernel, insn.id)}
            check_call_of_library(launch, where)


def _model(target: Target) -> Model:
    return Model.GRID if target.hardware_index else Model.LOOPS
