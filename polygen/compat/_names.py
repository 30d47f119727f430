"""What of Loo.py's is not here, and what to use instead."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_INSIDE = (
    "how Loo.py orders instructions is its own affair: print(polygen.lower_kernel(knl)) shows loops"
)

_TARGETS = "targets are texts: 'opencl', 'cuda' and 'c'"
_FUNCTIONS = "use register_callable, with a ScalarCallable"
_EXPRESSIONS = "map_instructions changes instructions; knl.expanded has none that invoke rules"

NOT_HERE = {
    "linearize": _INSIDE,
    "generate_loop_schedules": _INSIDE,
    "get_subkernels": "generate_code(knl).launches lists the functions that are launched",
    "ISPCTarget": "there is no such target; OpenCL C, CUDA C++ and C are generated",
    "parse_fortran": "kernels are not read from Fortran",
    "parse_transformed_fortran": "kernels are not read from Fortran",
    "register_reduction_parser": "use register_reduction",
    "set_default_target": "say make_kernel(..., target=)",
    "add_inames_for_unused_hw_axes": "instructions that lack an axis are executed once along it",
    "Reduction": "write sum(i, ...) in the text",
    "TypeCast": "write cast(float64, x) in the text",
    "TaggedVariable": "write name$tag in the text",
    "HappensAfter": "see the reference of dependencies: {dep=...}",
    "AtomicInit": "write {atomic=init} in the text",
    "AtomicUpdate": "write {atomic} in the text",
    "OrderedAtomic": "write {atomic} in the text",
    "VarAtomicity": "write {atomic} in the text",
    "ASTBuilderBase": _TARGETS,
    "CFamilyTarget": _TARGETS,
    "CallMangleInfo": _FUNCTIONS,
    "CallableKernel": "programs hold kernels: program['name']",
    "ExecutorBase": "knl.executor() returns what runs a kernel",
    "GeneratedProgram": "generate_code(knl) returns a Program",
    "InKernelCallable": _FUNCTIONS,
    "KernelState": "kernels have no state: code generation does all that is needed",
    "LegacyStringInstructionTag": "tags of instructions are texts",
    "LinearSubscript": "write a[[i]] in the text",
    "ToLoopyTypeConvertible": "what to_loopy_type takes: a type of NumPy's, or its name",
    "UniqueName": "knl.new_name('t') returns a name that is not used",
    "UseStreamingStoreTag": "there are no streaming stores",
    "allocate_temporaries_for_base_storage": "use alias_temporaries",
    "c_preprocess": "kernels are not read from Fortran",
    "find_most_recent_global_barrier": _INSIDE,
    "get_global_barrier_order": _INSIDE,
    "get_kennedy_unweighted_fusion_candidates": "use fuse_loops, or find_schedule",
    "get_subkernel_to_insn_id_map": _INSIDE,
    "infer_arg_descr": "shapes of what functions take are found when programs are merged",
    "memoize_on_disk": "generated code is kept by itself",
    "pack_and_unpack_args_for_call": "a function takes parts of arrays as they lie",
    "parse_tag": "tag_inames takes texts",
    "Iname": "inames are texts; knl.iname_tags(iname) returns the tag",
    "MissingBarrierError": "barriers are found",
    "AtomicNumpyType": "write {atomic} in the text of the instruction",
    "AtomicType": "write {atomic} in the text of the instruction",
    "OpaqueType": "there are no types but NumPy's",
    "InKernel": "a query is about one kernel",
    "RuleAwareIdentityMapper": _EXPRESSIONS,
    "RuleAwareSubstitutionMapper": _EXPRESSIONS,
    "SubstitutionRuleMappingContext": _EXPRESSIONS,
}

_MODULES = """
auto_test codegen isl_helpers kernel.array kernel.creation kernel.instruction kernel.tools
kernel.function_interface library library.function library.reduction schedule statistics
tools transform transform.add_barrier transform.arithmetic transform.batch transform.buffer
transform.callable transform.concatenate transform.data transform.diff transform.fusion
transform.iname transform.instruction transform.loop_fusion transform.padding transform.parameter
transform.precompute transform.privatize transform.realize_reduction transform.save transform.subst
translation_unit typing
"""
# These are files here.
_OWN = "diagnostic kernel.data match symbolic target.c target.opencl target.pyopencl types version"


def imported(name: str) -> Any:
    """Return a name that a script imports from one of Loo.py's modules: all are in one place.

    Raises:
        ImportError: if Loo.py alone has it, with what to use instead.
        AttributeError: if there is no such name.
    """
    if name.startswith("_"):
        raise AttributeError(f"there is no '{name}'")
    whole = importlib.import_module("polygen.compat")
    try:
        return getattr(whole, name)
    except AttributeError as error:
        if name not in NOT_HERE:
            raise
        raise ImportError(f"{error}") from None


def offer_modules(package: str) -> None:
    """Let scripts import from Loo.py's modules what polygen.compat has."""
    for name in _MODULES.split():
        module = ModuleType(f"{package}.{name}", f"What scripts import from ``loopy.{name}``.")
        module.__path__ = []
        module.__dict__["__getattr__"] = imported
        sys.modules[module.__name__] = module
        parent, _, last = module.__name__.rpartition(".")
        setattr(importlib.import_module(parent), last, module)
    for name in _OWN.split():
        importlib.import_module(f"{package}.{name}")
