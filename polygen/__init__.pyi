"""The public names, for type checkers; `__init__.py` reads here where each is to be loaded from."""

from polygen import errors as errors
from polygen.analysis.dataflow.dependences import Dependence as Dependence
from polygen.analysis.dataflow.dependences import dependences as dependences
from polygen.analysis.integers.proving import without_proofs as without_proofs
from polygen.analysis.wellformed.all_obligations import obligations as obligations
from polygen.analysis.wellformed.check import check_well_formed as check_well_formed
from polygen.analysis.wellformed.obligations import Obligation as Obligation
from polygen.emission.build import build as build
from polygen.emission.emit import Emitted as Emitted
from polygen.emission.emit import emit as emit
from polygen.errors import AmbiguousNesting as AmbiguousNesting
from polygen.errors import IllFormedKernel as IllFormedKernel
from polygen.errors import InternalError as InternalError
from polygen.errors import PolygenError as PolygenError
from polygen.errors import PolygenWarning as PolygenWarning
from polygen.errors import PriorityIgnored as PriorityIgnored
from polygen.errors import UserError as UserError
from polygen.inspection.compare.auto_test import AutoTest as AutoTest
from polygen.inspection.compare.auto_test import auto_test_vs_ref as auto_test_vs_ref
from polygen.inspection.compare.equivalent import Equivalence as Equivalence
from polygen.inspection.compare.equivalent import equivalent as equivalent
from polygen.inspection.compare.text_difference import diff as diff
from polygen.inspection.counts.access_footprints import (
    gather_access_footprint_bytes as gather_access_footprint_bytes,
)
from polygen.inspection.counts.access_footprints import (
    gather_access_footprint_elements as gather_access_footprint_elements,
)
from polygen.inspection.counts.access_footprints import (
    gather_access_footprints as gather_access_footprints,
)
from polygen.inspection.counts.address_spaces import address_spaces as address_spaces
from polygen.inspection.counts.bank_conflicts import bank_conflicts as bank_conflicts
from polygen.inspection.counts.count import Count as Count
from polygen.inspection.counts.count_keys import CountGranularity as CountGranularity
from polygen.inspection.counts.count_keys import MemAccess as MemAccess
from polygen.inspection.counts.count_keys import Op as Op
from polygen.inspection.counts.count_keys import Sync as Sync
from polygen.inspection.counts.count_map import CountMap as CountMap
from polygen.inspection.counts.mem_access_map import get_mem_access_map as get_mem_access_map
from polygen.inspection.counts.op_map import get_op_map as get_op_map
from polygen.inspection.counts.padding import find_padding_multiple as find_padding_multiple
from polygen.inspection.counts.synchronization_map import (
    get_synchronization_map as get_synchronization_map,
)
from polygen.inspection.devices.limits import Limits as Limits
from polygen.inspection.devices.measure_limits import measure_limits as measure_limits
from polygen.inspection.devices.profile import Profile as Profile
from polygen.inspection.devices.profile import profile as profile
from polygen.inspection.devices.profile_table import ProfileRow as ProfileRow
from polygen.inspection.devices.profile_table import ProfileTable as ProfileTable
from polygen.inspection.devices.roofline import Roofline as Roofline
from polygen.inspection.devices.roofline import roofline as roofline
from polygen.inspection.order.explain_order import explain_order as explain_order
from polygen.inspection.order.find_instructions import find_instructions as find_instructions
from polygen.inspection.order.find_rules_matching import find_rules_matching as find_rules_matching
from polygen.inspection.order.find_schedule import find_schedule as find_schedule
from polygen.inspection.order.legal_steps import Verdict as Verdict
from polygen.inspection.order.legal_steps import is_legal as is_legal
from polygen.inspection.order.parallel_conditions import ParallelConditions as ParallelConditions
from polygen.inspection.order.parallel_conditions import parallel_conditions as parallel_conditions
from polygen.inspection.order.parallelism import ParallelInames as ParallelInames
from polygen.inspection.order.parallelism import Parallelism as Parallelism
from polygen.inspection.order.parallelism import parallel_inames as parallel_inames
from polygen.inspection.order.schedulable import (
    get_iname_duplication_options as get_iname_duplication_options,
)
from polygen.inspection.order.schedulable import (
    has_schedulable_iname_nesting as has_schedulable_iname_nesting,
)
from polygen.inspection.pages.dot_graph import get_dot_dependency_graph as get_dot_dependency_graph
from polygen.inspection.pages.dot_graph import show_dependency_graph as show_dependency_graph
from polygen.inspection.pages.report import report as report
from polygen.inspection.pages.script import kernel_to_python as kernel_to_python
from polygen.inspection.plots.plot_domain import plot_domain as plot_domain
from polygen.ir.array import AddressSpace as AddressSpace
from polygen.ir.array import ConstantArg as ConstantArg
from polygen.ir.array import GlobalArg as GlobalArg
from polygen.ir.array import ImageArg as ImageArg
from polygen.ir.array import TemporaryVariable as TemporaryVariable
from polygen.ir.array import ValueArg as ValueArg
from polygen.ir.atomicity import Atomicity as Atomicity
from polygen.ir.atomicity import MemoryOrdering as MemoryOrdering
from polygen.ir.atomicity import MemoryScope as MemoryScope
from polygen.ir.callables import ScalarCallable as ScalarCallable
from polygen.ir.instruction import Assignment as Assignment
from polygen.ir.instruction import Barrier as Barrier
from polygen.ir.instruction import CInstruction as CInstruction
from polygen.ir.instruction import Instruction as Instruction
from polygen.ir.instruction import KernelCall as KernelCall
from polygen.ir.instruction import MultiAssignment as MultiAssignment
from polygen.ir.instruction import NoOp as NoOp
from polygen.ir.kernel import Kernel as Kernel
from polygen.ir.kernel import Step as Step
from polygen.ir.layout import auto as auto
from polygen.ir.library_call import LibraryCall as LibraryCall
from polygen.jitting.analyse import Analysis as Analysis
from polygen.jitting.analyse import analyse as analyse
from polygen.jitting.jit import jit as jit
from polygen.jitting.plain_runs import debug as debug
from polygen.language.builder.builder import Builder as Builder
from polygen.language.copy_kernel import make_copy_kernel as make_copy_kernel
from polygen.language.einsum import make_einsum as make_einsum
from polygen.language.make_kernel import make_function as make_function
from polygen.language.make_kernel import make_kernel as make_kernel
from polygen.language.parse_kernel import parse_kernel as parse_kernel
from polygen.language.parse_kernel import parse_program as parse_program
from polygen.language.programs import TranslationUnit as TranslationUnit
from polygen.language.programs import merge as merge
from polygen.language.sympy_expressions import from_sympy as from_sympy
from polygen.language.sympy_expressions import to_sympy as to_sympy
from polygen.language.user_reductions import register_reduction as register_reduction
from polygen.lower.unneeded import unneeded_barriers as unneeded_barriers
from polygen.pipeline import generate_code as generate_code
from polygen.pipeline import lower_kernel as lower_kernel
from polygen.proof import Rearranged as Rearranged
from polygen.python.annotations import MVL as MVL
from polygen.python.annotations import atomic_add as atomic_add
from polygen.python.annotations import atomic_max as atomic_max
from polygen.python.annotations import atomic_min as atomic_min
from polygen.python.annotations import atomic_sub as atomic_sub
from polygen.python.annotations import prange as prange
from polygen.python.annotations import vidx as vidx
from polygen.python.annotations import where as where
from polygen.python.atomic_fetches import atomic_compare_exchange as atomic_compare_exchange
from polygen.python.atomic_fetches import atomic_exchange as atomic_exchange
from polygen.python.atomic_fetches import atomic_fetch_add as atomic_fetch_add
from polygen.python.atomic_fetches import atomic_fetch_and as atomic_fetch_and
from polygen.python.atomic_fetches import atomic_fetch_max as atomic_fetch_max
from polygen.python.atomic_fetches import atomic_fetch_min as atomic_fetch_min
from polygen.python.atomic_fetches import atomic_fetch_mul as atomic_fetch_mul
from polygen.python.atomic_fetches import atomic_fetch_or as atomic_fetch_or
from polygen.python.atomic_fetches import atomic_fetch_sub as atomic_fetch_sub
from polygen.python.atomic_fetches import atomic_fetch_xor as atomic_fetch_xor
from polygen.python.print_formats import printf as printf
from polygen.recipes import apply as apply
from polygen.recipes import replay as replay
from polygen.runtime.devices import default_target as default_target
from polygen.runtime.executor import Executor as Executor
from polygen.schedules.explain import Explanation as Explanation
from polygen.schedules.explain import explain as explain
from polygen.schedules.optimize import optimize as optimize
from polygen.schedules.optimize_by_size import optimize_by_size as optimize_by_size
from polygen.schedules.propose import propose as propose
from polygen.schedules.variants import Variant as Variant
from polygen.schedules.variants import Variants as Variants
from polygen.schedules.variants import variants as variants
from polygen.source import SourceLocation as SourceLocation
from polygen.transformation import transformation as transformation
from polygen.transforms.arrays.add_bank_padding import add_bank_padding as add_bank_padding
from polygen.transforms.arrays.add_padding import add_padding as add_padding
from polygen.transforms.arrays.alias_temporaries import alias_temporaries as alias_temporaries
from polygen.transforms.arrays.change_arg_to_image import change_arg_to_image as change_arg_to_image
from polygen.transforms.arrays.change_arg_to_temporary import (
    change_arg_to_temporary as change_arg_to_temporary,
)
from polygen.transforms.arrays.concatenate_arrays import concatenate_arrays as concatenate_arrays
from polygen.transforms.arrays.join_array_dims import join_array_dims as join_array_dims
from polygen.transforms.arrays.permute_array_dims import permute_array_dims as permute_array_dims
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames as privatize_temporaries_with_inames,
)
from polygen.transforms.arrays.set_array_axis_names import (
    set_array_axis_names as set_array_axis_names,
)
from polygen.transforms.arrays.set_temporary_address_space import (
    set_temporary_address_space as set_temporary_address_space,
)
from polygen.transforms.arrays.split_array_dim import split_array_dim as split_array_dim
from polygen.transforms.arrays.tag_array_axes import tag_array_axes as tag_array_axes
from polygen.transforms.arrays.unprivatize_temporaries_with_inames import (
    unprivatize_temporaries_with_inames as unprivatize_temporaries_with_inames,
)
from polygen.transforms.atomics.privatize_atomics import privatize_atomics as privatize_atomics
from polygen.transforms.copies.add_prefetch import add_prefetch as add_prefetch
from polygen.transforms.copies.buffer_array import buffer_array as buffer_array
from polygen.transforms.copies.double_buffer import double_buffer as double_buffer
from polygen.transforms.copies.precompute import precompute as precompute
from polygen.transforms.copies.save_and_reload_temporaries import (
    save_and_reload_temporaries as save_and_reload_temporaries,
)
from polygen.transforms.derivatives.diff_kernel import diff_kernel as diff_kernel
from polygen.transforms.fusion.distribute_loop import distribute_loop as distribute_loop
from polygen.transforms.fusion.fuse_loops import fuse_loops as fuse_loops
from polygen.transforms.fusion.rename_iname import rename_iname as rename_iname
from polygen.transforms.fusion.rename_inames import rename_inames as rename_inames
from polygen.transforms.inames.add_inames_to_insn import add_inames_to_insn as add_inames_to_insn
from polygen.transforms.inames.duplicate_inames import duplicate_inames as duplicate_inames
from polygen.transforms.inames.join_domains import join_domains as join_domains
from polygen.transforms.inames.prioritize_loops import prioritize_loops as prioritize_loops
from polygen.transforms.inames.remove_inames_from_insn import (
    remove_inames_from_insn as remove_inames_from_insn,
)
from polygen.transforms.inames.remove_unused_inames import (
    remove_unused_inames as remove_unused_inames,
)
from polygen.transforms.inames.tag_inames import tag_inames as tag_inames
from polygen.transforms.inames.untag_inames import untag_inames as untag_inames
from polygen.transforms.inames.use_tensor_cores import use_tensor_cores as use_tensor_cores
from polygen.transforms.instructions.add_barrier import add_barrier as add_barrier
from polygen.transforms.instructions.add_dependency import add_dependency as add_dependency
from polygen.transforms.instructions.add_nosync import add_nosync as add_nosync
from polygen.transforms.instructions.collect_common_factors import (
    collect_common_factors as collect_common_factors,
)
from polygen.transforms.instructions.fold_constants import fold_constants as fold_constants
from polygen.transforms.instructions.map_instructions import map_instructions as map_instructions
from polygen.transforms.instructions.recompute_temporaries import (
    recompute_temporaries as recompute_temporaries,
)
from polygen.transforms.instructions.remove_dependency import remove_dependency as remove_dependency
from polygen.transforms.instructions.remove_instructions import (
    remove_instructions as remove_instructions,
)
from polygen.transforms.instructions.replace_instruction_ids import (
    replace_instruction_ids as replace_instruction_ids,
)
from polygen.transforms.instructions.set_instruction_priority import (
    set_instruction_priority as set_instruction_priority,
)
from polygen.transforms.instructions.simplify_indices import simplify_indices as simplify_indices
from polygen.transforms.instructions.tag_instructions import tag_instructions as tag_instructions
from polygen.transforms.kernels.add_dtypes import add_dtypes as add_dtypes
from polygen.transforms.kernels.assume import assume as assume
from polygen.transforms.kernels.assume_independent import assume_independent as assume_independent
from polygen.transforms.kernels.assume_injective import assume_injective as assume_injective
from polygen.transforms.kernels.fix_parameters import fix_parameters as fix_parameters
from polygen.transforms.kernels.fuse_kernels import fuse_kernels as fuse_kernels
from polygen.transforms.kernels.infer_unknown_types import (
    infer_unknown_types as infer_unknown_types,
)
from polygen.transforms.kernels.inline_callable_kernel import (
    inline_callable_kernel as inline_callable_kernel,
)
from polygen.transforms.kernels.register_callable import register_callable as register_callable
from polygen.transforms.kernels.register_preamble_generators import PreambleInfo as PreambleInfo
from polygen.transforms.kernels.register_preamble_generators import (
    register_preamble_generators as register_preamble_generators,
)
from polygen.transforms.kernels.register_symbol_manglers import (
    register_symbol_manglers as register_symbol_manglers,
)
from polygen.transforms.kernels.remove_unused_arguments import (
    remove_unused_arguments as remove_unused_arguments,
)
from polygen.transforms.kernels.rename_argument import rename_argument as rename_argument
from polygen.transforms.kernels.rename_callable import rename_callable as rename_callable
from polygen.transforms.kernels.set_argument_order import set_argument_order as set_argument_order
from polygen.transforms.kernels.set_options import set_options as set_options
from polygen.transforms.kernels.to_batched import to_batched as to_batched
from polygen.transforms.loops.affine_map_inames import affine_map_inames as affine_map_inames
from polygen.transforms.loops.interchange import interchange as interchange
from polygen.transforms.loops.map_domain import map_domain as map_domain
from polygen.transforms.loops.reverse import reverse as reverse
from polygen.transforms.loops.shift import shift as shift
from polygen.transforms.loops.skew import skew as skew
from polygen.transforms.loops.wavefront import wavefront as wavefront
from polygen.transforms.parallel_reductions.parallelize_reduction import (
    parallelize_reduction as parallelize_reduction,
)
from polygen.transforms.parallel_reductions.realize_reduction import (
    realize_reduction as realize_reduction,
)
from polygen.transforms.parallel_reductions.share_rows import share_rows as share_rows
from polygen.transforms.parallel_reductions.split_scan import split_scan as split_scan
from polygen.transforms.reductions.absorb_identity import absorb_identity as absorb_identity
from polygen.transforms.reductions.coalesce_reduction import (
    coalesce_reduction as coalesce_reduction,
)
from polygen.transforms.reductions.collect_reduction import collect_reduction as collect_reduction
from polygen.transforms.reductions.fuse_epilogue import fuse_epilogue as fuse_epilogue
from polygen.transforms.reductions.fuse_reductions import fuse_reductions as fuse_reductions
from polygen.transforms.reductions.narrow_sum import narrow_sum as narrow_sum
from polygen.transforms.reductions.pad_reduction import pad_reduction as pad_reduction
from polygen.transforms.reductions.pair_factors import pair_factors as pair_factors
from polygen.transforms.reductions.pairwise_sums import pairwise_sums as pairwise_sums
from polygen.transforms.reductions.propagate_reduction import (
    propagate_reduction as propagate_reduction,
)
from polygen.transforms.reductions.reduce_in_parts import reduce_in_parts as reduce_in_parts
from polygen.transforms.reductions.reduce_online import reduce_online as reduce_online
from polygen.transforms.reductions.split_argmax import split_argmax as split_argmax
from polygen.transforms.reductions.split_complex_sum import split_complex_sum as split_complex_sum
from polygen.transforms.reductions.split_reduction_inward import (
    split_reduction_inward as split_reduction_inward,
)
from polygen.transforms.reductions.split_reduction_outward import (
    split_reduction_outward as split_reduction_outward,
)
from polygen.transforms.reductions.unroll_reduction import unroll_reduction as unroll_reduction
from polygen.transforms.rules.assignment_to_subst import assignment_to_subst as assignment_to_subst
from polygen.transforms.rules.expand_subst import expand_subst as expand_subst
from polygen.transforms.rules.extract_subst import extract_subst as extract_subst
from polygen.transforms.splitting.chunk_iname import chunk_iname as chunk_iname
from polygen.transforms.splitting.index_set_split import index_set_split as index_set_split
from polygen.transforms.splitting.join_inames import join_inames as join_inames
from polygen.transforms.splitting.overlap_time_tiles import (
    overlap_time_tiles as overlap_time_tiles,
)
from polygen.transforms.splitting.pad_iname import pad_iname as pad_iname
from polygen.transforms.splitting.pad_tiles import pad_tiles as pad_tiles
from polygen.transforms.splitting.peel import peel as peel
from polygen.transforms.splitting.separate_full_tiles import (
    separate_full_tiles as separate_full_tiles,
)
from polygen.transforms.splitting.split_iname import split_iname as split_iname
from polygen.transforms.splitting.strip_mine_to_vector import (
    strip_mine_to_vector as strip_mine_to_vector,
)
from polygen.transforms.splitting.tile import tile as tile
from polygen.transforms.splitting.unroll_and_jam import unroll_and_jam as unroll_and_jam
from polygen.tuning.optimize_reductions import optimize_reductions as optimize_reductions
from polygen.tuning.order_sums import order_sums as order_sums
from polygen.tuning.pack_product import pack_product as pack_product

__version__: str
__all__ = [
    "MVL",
    "AddressSpace",
    "AmbiguousNesting",
    "Analysis",
    "Assignment",
    "Atomicity",
    "AutoTest",
    "Barrier",
    "Builder",
    "CInstruction",
    "ConstantArg",
    "Count",
    "CountGranularity",
    "CountMap",
    "Dependence",
    "Emitted",
    "Equivalence",
    "Executor",
    "Explanation",
    "GlobalArg",
    "IllFormedKernel",
    "ImageArg",
    "Instruction",
    "InternalError",
    "Kernel",
    "KernelCall",
    "LibraryCall",
    "Limits",
    "MemAccess",
    "MemoryOrdering",
    "MemoryScope",
    "MultiAssignment",
    "NoOp",
    "Obligation",
    "Op",
    "ParallelConditions",
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
    "SourceLocation",
    "Step",
    "Sync",
    "TemporaryVariable",
    "TranslationUnit",
    "UserError",
    "ValueArg",
    "Variant",
    "Variants",
    "Verdict",
    "absorb_identity",
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
    "analyse",
    "apply",
    "assignment_to_subst",
    "assume",
    "assume_independent",
    "assume_injective",
    "atomic_add",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_mul",
    "atomic_fetch_or",
    "atomic_fetch_sub",
    "atomic_fetch_xor",
    "atomic_max",
    "atomic_min",
    "atomic_sub",
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
    "collect_reduction",
    "concatenate_arrays",
    "debug",
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
    "explain",
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
    "jit",
    "join_array_dims",
    "join_domains",
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
    "optimize",
    "optimize_by_size",
    "optimize_reductions",
    "order_sums",
    "overlap_time_tiles",
    "pack_product",
    "pad_iname",
    "pad_reduction",
    "pad_tiles",
    "pair_factors",
    "pairwise_sums",
    "parallel_conditions",
    "parallel_inames",
    "parallelize_reduction",
    "parse_kernel",
    "parse_program",
    "peel",
    "permute_array_dims",
    "plot_domain",
    "prange",
    "precompute",
    "printf",
    "prioritize_loops",
    "privatize_atomics",
    "privatize_temporaries_with_inames",
    "profile",
    "propagate_reduction",
    "propose",
    "realize_reduction",
    "recompute_temporaries",
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
    "split_complex_sum",
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
    "use_tensor_cores",
    "variants",
    "vidx",
    "wavefront",
    "where",
    "without_proofs",
]
