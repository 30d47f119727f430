"""polygen: a polyhedral, transformation-based code generator for GPUs and CPUs."""

from polygen import errors
from polygen.analysis.dependences import Dependence, dependences
from polygen.analysis.obligations import Obligation
from polygen.analysis.proving import without_proofs
from polygen.analysis.wellformed import check_well_formed, obligations
from polygen.emission.build import build
from polygen.emission.emit import Emitted, emit
from polygen.errors import (
    AmbiguousNesting,
    IllFormedKernel,
    InternalError,
    PolygenError,
    PolygenWarning,
    PriorityIgnored,
    UserError,
)
from polygen.inspection.access_footprints import (
    gather_access_footprint_bytes,
    gather_access_footprint_elements,
    gather_access_footprints,
)
from polygen.inspection.address_spaces import address_spaces
from polygen.inspection.auto_test import AutoTest, auto_test_vs_ref
from polygen.inspection.bank_conflicts import bank_conflicts
from polygen.inspection.count_keys import CountGranularity, MemAccess, Op, Sync
from polygen.inspection.count_map import CountMap
from polygen.inspection.counts import Count
from polygen.inspection.difference import diff
from polygen.inspection.equivalent import Equivalence, equivalent
from polygen.inspection.explain_order import explain_order
from polygen.inspection.find_instructions import find_instructions
from polygen.inspection.find_rules_matching import find_rules_matching
from polygen.inspection.find_schedule import find_schedule
from polygen.inspection.graph import get_dot_dependency_graph, show_dependency_graph
from polygen.inspection.legal import Verdict, is_legal
from polygen.inspection.limits import Limits
from polygen.inspection.measure_limits import measure_limits
from polygen.inspection.mem_access_map import get_mem_access_map
from polygen.inspection.op_map import get_op_map
from polygen.inspection.padding import find_padding_multiple
from polygen.inspection.parallelism import ParallelInames, Parallelism, parallel_inames
from polygen.inspection.plot_domain import plot_domain
from polygen.inspection.profile import Profile, profile
from polygen.inspection.profile_table import ProfileRow, ProfileTable
from polygen.inspection.report import report
from polygen.inspection.roofline import Roofline, roofline
from polygen.inspection.schedulable import (
    get_iname_duplication_options,
    has_schedulable_iname_nesting,
)
from polygen.inspection.script import kernel_to_python
from polygen.inspection.synchronization_map import get_synchronization_map
from polygen.ir.array import (
    AddressSpace,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.atomicity import Atomicity, MemoryOrdering, MemoryScope
from polygen.ir.callables import ScalarCallable
from polygen.ir.instruction import (
    Assignment,
    Barrier,
    CInstruction,
    Instruction,
    KernelCall,
    MultiAssignment,
    NoOp,
)
from polygen.ir.kernel import Kernel, Step
from polygen.ir.layout import auto
from polygen.language.copy_kernel import make_copy_kernel
from polygen.language.einsum import make_einsum
from polygen.language.make_kernel import make_function, make_kernel
from polygen.language.parse_kernel import parse_kernel, parse_program
from polygen.language.programs import TranslationUnit, merge
from polygen.language.sympy_expressions import from_sympy, to_sympy
from polygen.language.user_reductions import register_reduction
from polygen.lower.unneeded import unneeded_barriers
from polygen.pipeline import generate_code, lower_kernel
from polygen.proof import Rearranged
from polygen.recipes import apply, replay
from polygen.runtime.devices import default_target
from polygen.runtime.executor import Executor
from polygen.transformation import transformation
from polygen.transforms.add_bank_padding import add_bank_padding
from polygen.transforms.add_barrier import add_barrier
from polygen.transforms.add_dependency import add_dependency
from polygen.transforms.add_dtypes import add_dtypes
from polygen.transforms.add_inames_to_insn import add_inames_to_insn
from polygen.transforms.add_nosync import add_nosync
from polygen.transforms.add_padding import add_padding
from polygen.transforms.add_prefetch import add_prefetch
from polygen.transforms.affine_map_inames import affine_map_inames
from polygen.transforms.alias_temporaries import alias_temporaries
from polygen.transforms.assignment_to_subst import assignment_to_subst
from polygen.transforms.assume import assume
from polygen.transforms.assume_independent import assume_independent
from polygen.transforms.assume_injective import assume_injective
from polygen.transforms.buffer_array import buffer_array
from polygen.transforms.change_arg_to_image import change_arg_to_image
from polygen.transforms.change_arg_to_temporary import change_arg_to_temporary
from polygen.transforms.chunk_iname import chunk_iname
from polygen.transforms.coalesce_reduction import coalesce_reduction
from polygen.transforms.collect_common_factors import collect_common_factors
from polygen.transforms.concatenate_arrays import concatenate_arrays
from polygen.transforms.diff_kernel import diff_kernel
from polygen.transforms.distribute_loop import distribute_loop
from polygen.transforms.double_buffer import double_buffer
from polygen.transforms.duplicate_inames import duplicate_inames
from polygen.transforms.expand_subst import expand_subst
from polygen.transforms.extract_subst import extract_subst
from polygen.transforms.fix_parameters import fix_parameters
from polygen.transforms.fold_constants import fold_constants
from polygen.transforms.fuse_epilogue import fuse_epilogue
from polygen.transforms.fuse_kernels import fuse_kernels
from polygen.transforms.fuse_loops import fuse_loops
from polygen.transforms.fuse_reductions import fuse_reductions
from polygen.transforms.index_set_split import index_set_split
from polygen.transforms.infer_unknown_types import infer_unknown_types
from polygen.transforms.inline_callable_kernel import inline_callable_kernel
from polygen.transforms.interchange import interchange
from polygen.transforms.join_array_dims import join_array_dims
from polygen.transforms.join_inames import join_inames
from polygen.transforms.map_domain import map_domain
from polygen.transforms.map_instructions import map_instructions
from polygen.transforms.narrow_sum import narrow_sum
from polygen.transforms.pad_iname import pad_iname
from polygen.transforms.parallelize_reduction import parallelize_reduction
from polygen.transforms.peel import peel
from polygen.transforms.permute_array_dims import permute_array_dims
from polygen.transforms.precompute import precompute
from polygen.transforms.prioritize_loops import prioritize_loops
from polygen.transforms.privatize_atomics import privatize_atomics
from polygen.transforms.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.propagate_reduction import propagate_reduction
from polygen.transforms.realize_reduction import realize_reduction
from polygen.transforms.reduce_in_parts import reduce_in_parts
from polygen.transforms.reduce_online import reduce_online
from polygen.transforms.register_callable import register_callable
from polygen.transforms.register_preamble_generators import (
    PreambleInfo,
    register_preamble_generators,
)
from polygen.transforms.register_symbol_manglers import register_symbol_manglers
from polygen.transforms.remove_dependency import remove_dependency
from polygen.transforms.remove_inames_from_insn import remove_inames_from_insn
from polygen.transforms.remove_instructions import remove_instructions
from polygen.transforms.remove_unused_arguments import remove_unused_arguments
from polygen.transforms.remove_unused_inames import remove_unused_inames
from polygen.transforms.rename_argument import rename_argument
from polygen.transforms.rename_callable import rename_callable
from polygen.transforms.rename_iname import rename_iname
from polygen.transforms.rename_inames import rename_inames
from polygen.transforms.replace_instruction_ids import replace_instruction_ids
from polygen.transforms.reverse import reverse
from polygen.transforms.save_and_reload_temporaries import save_and_reload_temporaries
from polygen.transforms.separate_full_tiles import separate_full_tiles
from polygen.transforms.set_argument_order import set_argument_order
from polygen.transforms.set_array_axis_names import set_array_axis_names
from polygen.transforms.set_instruction_priority import set_instruction_priority
from polygen.transforms.set_options import set_options
from polygen.transforms.set_temporary_address_space import set_temporary_address_space
from polygen.transforms.share_rows import share_rows
from polygen.transforms.shift import shift
from polygen.transforms.simplify_indices import simplify_indices
from polygen.transforms.skew import skew
from polygen.transforms.split_argmax import split_argmax
from polygen.transforms.split_array_dim import split_array_dim
from polygen.transforms.split_iname import split_iname
from polygen.transforms.split_reduction_inward import split_reduction_inward
from polygen.transforms.split_reduction_outward import split_reduction_outward
from polygen.transforms.split_scan import split_scan
from polygen.transforms.strip_mine_to_vector import strip_mine_to_vector
from polygen.transforms.tag_array_axes import tag_array_axes
from polygen.transforms.tag_inames import tag_inames
from polygen.transforms.tag_instructions import tag_instructions
from polygen.transforms.tile import tile
from polygen.transforms.to_batched import to_batched
from polygen.transforms.unprivatize_temporaries_with_inames import (
    unprivatize_temporaries_with_inames,
)
from polygen.transforms.unroll_and_jam import unroll_and_jam
from polygen.transforms.unroll_reduction import unroll_reduction
from polygen.transforms.untag_inames import untag_inames
from polygen.transforms.wavefront import wavefront
from polygen.tuning.optimize_reductions import optimize_reductions

__version__ = "0.1.0"

__all__ = [
    "AddressSpace",
    "AmbiguousNesting",
    "Assignment",
    "Atomicity",
    "AutoTest",
    "Barrier",
    "CInstruction",
    "ConstantArg",
    "Count",
    "CountGranularity",
    "CountMap",
    "Dependence",
    "Emitted",
    "Equivalence",
    "Executor",
    "GlobalArg",
    "IllFormedKernel",
    "ImageArg",
    "Instruction",
    "InternalError",
    "Kernel",
    "KernelCall",
    "Limits",
    "MemAccess",
    "MemoryOrdering",
    "MemoryScope",
    "MultiAssignment",
    "NoOp",
    "Obligation",
    "Op",
    "ParallelInames",
    "Parallelism",
    "PolygenError",
    "PolygenWarning",
    "PreambleInfo",
    "PriorityIgnored",
    "Profile",
    "ProfileRow",
    "ProfileTable",
    "Rearranged",
    "Roofline",
    "ScalarCallable",
    "Step",
    "Sync",
    "TemporaryVariable",
    "TranslationUnit",
    "UserError",
    "ValueArg",
    "Verdict",
    "add_bank_padding",
    "add_barrier",
    "add_dependency",
    "add_dtypes",
    "add_inames_to_insn",
    "add_nosync",
    "add_padding",
    "add_prefetch",
    "address_spaces",
    "affine_map_inames",
    "alias_temporaries",
    "apply",
    "assignment_to_subst",
    "assume",
    "assume_independent",
    "assume_injective",
    "auto",
    "auto_test_vs_ref",
    "bank_conflicts",
    "buffer_array",
    "build",
    "change_arg_to_image",
    "change_arg_to_temporary",
    "check_well_formed",
    "chunk_iname",
    "coalesce_reduction",
    "collect_common_factors",
    "concatenate_arrays",
    "default_target",
    "dependences",
    "diff",
    "diff_kernel",
    "distribute_loop",
    "double_buffer",
    "duplicate_inames",
    "emit",
    "equivalent",
    "errors",
    "expand_subst",
    "explain_order",
    "extract_subst",
    "find_instructions",
    "find_padding_multiple",
    "find_rules_matching",
    "find_schedule",
    "fix_parameters",
    "fold_constants",
    "from_sympy",
    "fuse_epilogue",
    "fuse_kernels",
    "fuse_loops",
    "fuse_reductions",
    "gather_access_footprint_bytes",
    "gather_access_footprint_elements",
    "gather_access_footprints",
    "generate_code",
    "get_dot_dependency_graph",
    "get_iname_duplication_options",
    "get_mem_access_map",
    "get_op_map",
    "get_synchronization_map",
    "has_schedulable_iname_nesting",
    "index_set_split",
    "infer_unknown_types",
    "inline_callable_kernel",
    "interchange",
    "is_legal",
    "join_array_dims",
    "join_inames",
    "kernel_to_python",
    "lower_kernel",
    "make_copy_kernel",
    "make_einsum",
    "make_function",
    "make_kernel",
    "map_domain",
    "map_instructions",
    "measure_limits",
    "merge",
    "narrow_sum",
    "obligations",
    "optimize_reductions",
    "pad_iname",
    "parallel_inames",
    "parallelize_reduction",
    "parse_kernel",
    "parse_program",
    "peel",
    "permute_array_dims",
    "plot_domain",
    "precompute",
    "prioritize_loops",
    "privatize_atomics",
    "privatize_temporaries_with_inames",
    "profile",
    "propagate_reduction",
    "realize_reduction",
    "reduce_in_parts",
    "reduce_online",
    "register_callable",
    "register_preamble_generators",
    "register_reduction",
    "register_symbol_manglers",
    "remove_dependency",
    "remove_inames_from_insn",
    "remove_instructions",
    "remove_unused_arguments",
    "remove_unused_inames",
    "rename_argument",
    "rename_callable",
    "rename_iname",
    "rename_inames",
    "replace_instruction_ids",
    "replay",
    "report",
    "reverse",
    "roofline",
    "save_and_reload_temporaries",
    "separate_full_tiles",
    "set_argument_order",
    "set_array_axis_names",
    "set_instruction_priority",
    "set_options",
    "set_temporary_address_space",
    "share_rows",
    "shift",
    "show_dependency_graph",
    "simplify_indices",
    "skew",
    "split_argmax",
    "split_array_dim",
    "split_iname",
    "split_reduction_inward",
    "split_reduction_outward",
    "split_scan",
    "strip_mine_to_vector",
    "tag_array_axes",
    "tag_inames",
    "tag_instructions",
    "tile",
    "to_batched",
    "to_sympy",
    "transformation",
    "unneeded_barriers",
    "unprivatize_temporaries_with_inames",
    "unroll_and_jam",
    "unroll_reduction",
    "untag_inames",
    "wavefront",
    "without_proofs",
]
