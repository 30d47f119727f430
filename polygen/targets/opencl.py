"""What OpenCL C (1.2 and up) does differently."""

from __future__ import annotations

from polygen.ir.array import AddressSpace
from polygen.targets.target import Target

_FENCES = {
    AddressSpace.LOCAL: "CLK_LOCAL_MEM_FENCE",
    AddressSpace.GLOBAL: "CLK_GLOBAL_MEM_FENCE",
}


def _head(local_size: tuple[int, ...]) -> str:
    size = ", ".join(str(s) for s in local_size + (1,) * (3 - len(local_size)))
    return f"__kernel void __attribute__((reqd_work_group_size({size})))\n"


def _barrier(address_spaces: frozenset[AddressSpace]) -> str:
    flags = [flag for space, flag in _FENCES.items() if space in address_spaces]
    return f"barrier({' | '.join(flags or [_FENCES[AddressSpace.LOCAL]])});"


OPENCL = Target(
    name="opencl",
    type_names={
        "bool": "uchar",  # arguments of kernels cannot be of type bool
        "int8": "char",
        "uint8": "uchar",
        "int16": "short",
        "uint16": "ushort",
        "int32": "int",
        "uint32": "uint",
        "int64": "long",
        "uint64": "ulong",
        "float16": "half",
        "float32": "float",
        "float64": "double",
    },
    literal_suffixes={
        "uint32": "u",
        "int64": "L",
        "uint64": "UL",
        "float32": "f",
    },
    type_lines={
        "float64": "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    },
    integer_extremes={"min": "min", "max": "max"},
    helper_prefix="static inline",
    function_head=_head,
    qualifiers={
        AddressSpace.PRIVATE: "",
        AddressSpace.LOCAL: "__local ",
        AddressSpace.GLOBAL: "__global ",
    },
    hardware_indices={"g": "get_group_id", "l": "get_local_id"},
    barrier=_barrier,
    # Devices need not compute with halves, only load and store them.
    to_half="""
float $name($T a)
{
    ushort bits;
    vstore_half_rte(a, 0, (half *) &bits);
    return vload_half(0, (half const *) &bits);
}
""",
    load_half="vload_half({0}, {1})",
    store_half="vstore_half_rte({0}, {1}, {2})",
    restrict="restrict",
)
