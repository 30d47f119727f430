"""What of Loo.py's is not here, and what to use instead."""

_COUNTED = "operations and accesses are not counted here"
_INSIDE = (
    "how Loo.py orders instructions is its own affair: print(polygen.lower_kernel(knl)) shows loops"
)

NOT_HERE = {
    "get_op_map": _COUNTED,
    "get_mem_access_map": _COUNTED,
    "get_synchronization_map": _COUNTED,
    "gather_access_footprints": _COUNTED,
    "gather_access_footprint_bytes": _COUNTED,
    "linearize": _INSIDE,
    "generate_loop_schedules": _INSIDE,
    "get_subkernels": "generate_code(knl).launches lists the functions that are launched",
    "CudaTarget": "there is no such target; OpenCL C and C are generated",
    "ISPCTarget": "there is no such target; OpenCL C and C are generated",
    "parse_fortran": "kernels are not read from Fortran",
    "parse_transformed_fortran": "kernels are not read from Fortran",
    "register_reduction_parser": "use register_reduction",
    "Options": "use set_options(knl, ...)",
    "Optional": "an argument that is not said is None",
    "make_program": "use make_kernel",
    "set_default_target": "say make_kernel(..., target=)",
    "remove_predicates_from_insn": "conditions are part of what is computed: map_instructions",
    "add_inames_for_unused_hw_axes": "instructions that lack an axis are executed once along it",
    "find_unused_axis_tag": "tag_inames takes g.auto and l.auto",
    "Reduction": "write sum(i, ...) in the text",
    "TypeCast": "write cast(float64, x) in the text",
    "TaggedVariable": "write name$tag in the text",
    "HappensAfter": "see the reference of dependencies: {dep=...}",
    "AtomicInit": "write {atomic=init} in the text",
    "AtomicUpdate": "write {atomic} in the text",
}
