"""Loo.py's names: ``import polygen.compat as lp`` in the place of ``import loopy as lp``.

All of polygen's names are here, and those of Loo.py's that differ: other names, other defaults,
other arguments.  What polygen does without, and where scripts have to change, docs/porting.md says.
"""

from typing import Any

import polygen
from polygen import __version__ as VERSION  # noqa: N812
from polygen.compat._names import NOT_HERE, offer_modules
from polygen.compat.arguments import (
    ArrayArg,
    ConstantArg,
    GlobalArg,
    ImageArg,
    KernelArgument,
    TemporaryVariable,
    ValueArg,
)
from polygen.compat.check import auto_test_vs_ref
from polygen.compat.code import (
    CacheMode,
    CodeGenerationResult,
    clear_in_mem_caches,
    generate_body,
    generate_code,
    generate_code_v2,
    generate_header,
    get_one_linearized_kernel,
    get_one_scheduled_kernel,
    preprocess_kernel,
    preprocess_program,
    set_caching_enabled,
)
from polygen.compat.counts import (
    MemAccess,
    ToCountMap,
    ToCountPolynomialMap,
    gather_access_footprint_bytes,
    gather_access_footprints,
    get_mem_access_map,
    get_op_map,
    get_synchronization_map,
)
from polygen.compat.creation import make_function, make_kernel
from polygen.compat.diagnostic import LoopyError, LoopyWarning
from polygen.compat.inspection import (
    find_instructions,
    find_padding_multiple,
    find_rules_matching,
    find_unused_axis_tag,
    get_dot_dependency_graph,
    get_iname_duplication_options,
    has_schedulable_iname_nesting,
    show_dependency_graph,
    t_unit_to_python,
)
from polygen.compat.instructions import (
    Assignment,
    BarrierInstruction,
    CallInstruction,
    NoOpInstruction,
    Optional,
    SubstitutionRule,
)
from polygen.compat.kernels import offer_attributes
from polygen.compat.more_steps import (
    add_barrier,
    assignment_to_subst,
    find_one_rule_matching,
    for_each_kernel,
    join_inames,
    make_program,
    make_reduction_inames_unique,
    merge,
    realize_reduction,
    remove_predicates_from_insn,
    remove_unused_inames,
    rename_inames,
    rename_inames_in_batch,
    save_and_reload_temporaries,
)
from polygen.compat.options import Options, set_options
from polygen.compat.steps import (
    add_and_infer_dtypes,
    add_prefetch,
    assume,
    chunk_iname,
    diff_kernel,
    fix_parameters,
    infer_unknown_types,
    precompute,
    rename_iname,
    set_array_dim_names,
    set_loop_priority,
    set_temporary_scope,
    split_arg_axis,
    split_array_axis,
    split_iname,
    tag_data_axes,
)
from polygen.compat.targets import (
    CTarget,
    CudaTarget,
    CWithGNULibcTarget,
    ExecutableCTarget,
    ExecutableCWithGNULibcTarget,
    OpenCLTarget,
    PyOpenCLTarget,
    TargetBase,
)
from polygen.compat.types import LoopyType, NumpyType, to_loopy_type
from polygen.compat.version import MOST_RECENT_LANGUAGE_VERSION
from polygen.ir.instruction import Assigning as MultiAssignmentBase
from polygen.ir.instruction import Instruction as InstructionBase
from polygen.ir.kernel import Kernel as LoopKernel
from polygen.transforms.instructions.collect_common_factors import (
    collect_common_factors as collect_common_factors_on_increment,
)

__all__ = [
    "MOST_RECENT_LANGUAGE_VERSION",
    "VERSION",
    "ArrayArg",
    "Assignment",
    "BarrierInstruction",
    "CTarget",
    "CWithGNULibcTarget",
    "CacheMode",
    "CallInstruction",
    "CodeGenerationResult",
    "ConstantArg",
    "CudaTarget",
    "ExecutableCTarget",
    "ExecutableCWithGNULibcTarget",
    "GlobalArg",
    "ImageArg",
    "InstructionBase",
    "KernelArgument",
    "LoopKernel",
    "LoopyError",
    "LoopyType",
    "LoopyWarning",
    "MemAccess",
    "MultiAssignmentBase",
    "NoOpInstruction",
    "NumpyType",
    "OpenCLTarget",
    "Optional",
    "Options",
    "PyOpenCLTarget",
    "SubstitutionRule",
    "TargetBase",
    "TemporaryVariable",
    "ToCountMap",
    "ToCountPolynomialMap",
    "ValueArg",
    "add_and_infer_dtypes",
    "add_barrier",
    "add_prefetch",
    "assignment_to_subst",
    "assume",
    "auto_test_vs_ref",
    "chunk_iname",
    "clear_in_mem_caches",
    "collect_common_factors_on_increment",
    "diff_kernel",
    "find_instructions",
    "find_one_rule_matching",
    "find_padding_multiple",
    "find_rules_matching",
    "find_unused_axis_tag",
    "fix_parameters",
    "for_each_kernel",
    "gather_access_footprint_bytes",
    "gather_access_footprints",
    "generate_body",
    "generate_code",
    "generate_code_v2",
    "generate_header",
    "get_dot_dependency_graph",
    "get_iname_duplication_options",
    "get_mem_access_map",
    "get_one_linearized_kernel",
    "get_one_scheduled_kernel",
    "get_op_map",
    "get_synchronization_map",
    "has_schedulable_iname_nesting",
    "infer_unknown_types",
    "join_inames",
    "make_function",
    "make_kernel",
    "make_program",
    "make_reduction_inames_unique",
    "merge",
    "precompute",
    "preprocess_kernel",
    "preprocess_program",
    "realize_reduction",
    "remove_predicates_from_insn",
    "remove_unused_inames",
    "rename_iname",
    "rename_inames",
    "rename_inames_in_batch",
    "save_and_reload_temporaries",
    "set_array_dim_names",
    "set_caching_enabled",
    "set_loop_priority",
    "set_options",
    "set_temporary_scope",
    "show_dependency_graph",
    "split_arg_axis",
    "split_array_axis",
    "split_iname",
    "t_unit_to_python",
    "tag_data_axes",
    "to_loopy_type",
]


offer_attributes()
offer_modules(__name__)


def __getattr__(name: str) -> Any:
    """Return what is polygen's; say of what Loo.py alone has what to use instead."""
    if name in polygen.__all__:
        return getattr(polygen, name)
    hint = NOT_HERE.get(name, "" if name.startswith("_") else "see docs/porting.md")
    raise AttributeError(f"polygen.compat has no '{name}'" + (f": {hint}" if hint else ""))


def __dir__() -> list[str]:
    return sorted({*__all__, *polygen.__all__})
