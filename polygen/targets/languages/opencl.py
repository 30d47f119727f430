"""The target OpenCL C (1.2 and up)."""

from __future__ import annotations

import numpy as np

from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import MemoryOrdering, MemoryScope
from polygen.ir.dtype import DType
from polygen.targets.languages.target import COMMON_HELPERS, Atomics, Bits, Target
from polygen.targets.texts.named_texts import texts_of

_TEXTS = texts_of("opencl.cl")

_FENCES = {
    AddressSpace.LOCAL: "CLK_LOCAL_MEM_FENCE",
    AddressSpace.GLOBAL: "CLK_GLOBAL_MEM_FENCE",
}


def _head(local_size: tuple[int, ...], _resident_groups: int) -> str:
    size = ", ".join(str(s) for s in local_size + (1,) * (3 - len(local_size)))
    return f"__kernel void __attribute__((reqd_work_group_size({size})))\n"


def _barrier(address_spaces: frozenset[AddressSpace]) -> str:
    flags = [flag for space, flag in _FENCES.items() if space in address_spaces]
    return f"barrier({' | '.join(flags or [_FENCES[AddressSpace.LOCAL]])});"


_INDICES = {"g": "get_group_id", "l": "get_local_id"}


def _shuffle(value: str, distance: int) -> str:
    sign = "+" if distance > 0 else "-"
    return f"sub_group_shuffle({value}, get_sub_group_local_id() {sign} {abs(distance)}u)"


_ATOMIC_NAMES = {
    "sum": "add",
    "min": "min",
    "max": "max",
    "bit_and": "and",
    "bit_or": "or",
    "bit_xor": "xor",
}


def _prefix(size: int) -> str:
    return "atomic" if size == 4 else "atom"


def _atomic(operation: str, dtype: DType) -> str | None:
    if operation not in _ATOMIC_NAMES or dtype.itemsize < 4:
        return None
    return f"{_prefix(dtype.itemsize)}_{_ATOMIC_NAMES[operation]}(&$at, $x);"


def _fetch(operation: str, dtype: DType) -> str | None:
    native = _atomic(operation, dtype)
    return None if native is None else f"$T const $old = {native}"


def _exchange(dtype: DType) -> str | None:
    if dtype.itemsize < 4 or (dtype.itemsize == 8 and dtype.kind == "f") or dtype.kind == "c":
        return None
    return f"$T const $old = {_prefix(dtype.itemsize)}_xchg(&$at, $x);"


def _compare_exchange(dtype: DType) -> str | None:
    if dtype.itemsize < 4:
        return None
    return f"$T const $old = {_prefix(dtype.itemsize)}_cmpxchg(&$at, $expected, $x);"


def _needs(operation: str, dtype: DType) -> str:
    return "extended64" if dtype.itemsize == 8 and operation != "sum" else ""


def _retry(size: int) -> str:
    if size < 4:
        return _TEXTS["retry part"]
    return _TEXTS["retry"].replace("$swap", f"{_prefix(size)}_cmpxchg")


def _store(size: int) -> str:
    if size < 4:
        return "*(volatile $space$U *) &$at = $bits;"
    return f"{_prefix(size)}_xchg((volatile $space$U *) &$at, $bits);"


def _forms(dtype: DType) -> Bits:
    if dtype == np.float16:
        return Bits("pg_half_of_bits({0})", "pg_bits_of_half({0})", "half_bits")
    return Bits("as_{T}({0})", "as_{U}({0})")


_ATOMICS = Atomics(
    shared=frozenset((AddressSpace.LOCAL, AddressSpace.GLOBAL)),
    orderings={MemoryOrdering.RELAXED: {}},  # as those of OpenCL 1.2 are
    scopes={scope: {} for scope in MemoryScope if scope is not MemoryScope.ALL_DEVICES},
    sizes=(1, 2, 4, 8),
    native=_atomic,
    fetch=_fetch,
    exchange=_exchange,
    compare_exchange=_compare_exchange,
    retry=_retry,
    forms=_forms,
    store=_store,
    needs={8: "atomic64"},
    native_needs=_needs,
)

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
        "bfloat16": "ushort",
        "float32": "float",
        "float64": "double",
        "complex64": "float2",
        "complex128": "double2",
    },
    literal_suffixes={
        "uint32": "u",
        "int64": "L",
        "uint64": "UL",
        "float32": "f",
    },
    type_lines=_TEXTS,
    extensions={
        **dict.fromkeys(("float64", "complex128"), ("cl_khr_fp64",)),
        "shuffle": ("cl_khr_subgroups", "cl_khr_subgroup_shuffle"),
        "atomic64": ("cl_khr_int64_base_atomics",),
        "extended64": ("cl_khr_int64_extended_atomics",),
    },
    math_names={"nearbyint": "rint", "scalbln": "ldexp", "scalbn": "ldexp"},
    # What its own smoothstep makes of numbers that are none is not said, and ctz came with 2.0.
    missing_functions=frozenset(("ctz", "smoothstep")),
    integer_extremes={"min": "min", "max": "max"},
    helpers=texts_of(*COMMON_HELPERS, "opencl.cl", "complex_vectors.h"),
    helper_prefix="static inline",
    function_head=_head,
    qualifiers={
        AddressSpace.PRIVATE: "",
        AddressSpace.LOCAL: "__local ",
        AddressSpace.GLOBAL: "__global ",
    },
    constant_qualifier="__constant ",
    table_qualifier="__constant ",
    table_infinity="1.0f / 0.0f",  # INFINITY and NAN may be calls: they are on NVIDIA's
    table_nan="0.0f / 0.0f",
    hardware_index=lambda letter, axis: f"{_INDICES[letter]}({axis})",
    barrier=_barrier,
    load_half="vload_half({0}, {1})",
    store_half="vstore_half_rte({0}, {1}, {2})",
    image_names={2: "read_only image2d_t", 3: "read_only image3d_t"},
    pixels={
        (dtype, axes): f"read_image{letters}({{0}}, pg_sampler, {coordinates}).x"
        for dtype, letters in (("float32", "f"), ("int32", "i"), ("uint32", "ui"))
        for axes, coordinates in ((2, "(int2)({1})"), (3, "(int4)({1}, 0)"))
    },
    complex_operators=False,
    complex_literal="({0})({1}, {2})",
    complex_elements={"complex64": "(float2)({0}, {1})", "complex128": "(double2)({0}, {1})"},
    complex_forms={"real": "{0}.x", "imag": "{0}.y"},
    complex_make="({0})",
    complex_convert="convert_{0}({1})",
    complex_comparisons={"==": "all({0} == {1})", "!=": "any({0} != {1})"},
    vector_names={
        (dtype, count): f"{name}{count}"
        for dtype, name in (
            ("uint32", "uint"),
            ("uint64", "ulong"),
            ("float32", "float"),
            ("float64", "double"),
        )
        for count in (2, 4)
    },
    vector_literal=("({0})(", ")"),
    array_vector="{0}{2}",
    array_component="{0}.s{1:x}",
    array_number="(({0}{1} *) &{2})[{3}]",
    load_vector="vload{1}(0, {0})",
    store_vector="vstore{1}({4}, 0, {0})",
    # Those whose results are exactly known.  Others may be computed otherwise than for numbers:
    # PoCL's sine of a vector is off by a hundredth for small numbers.
    vector_functions=frozenset(
        """ceil copysign fabs fdim floor fma fmax fmin fmod maxmag minmag nextafter remainder rint
        round select sign sqrt step trunc""".split()  # noqa: SIM905
    ),
    lanes="({0})({1})",
    convert_lanes="convert_{0}({1})",
    select_lanes="select({2}, {1}, {0})",
    load_halves="vload_half{1}(0, {0})",
    store_halves="vstore_half{1}_rte({4}, 0, {0})",
    load_aligned="*({3}{2} const *) ({0})",
    store_aligned="*({3}{2} *) ({0}) = {4}",
    memory_begins=128,
    same_lanes=lambda vector, number, _: f"({vector}) ({number})",
    aligned=" __attribute__((aligned({0})))",
    shuffle=_shuffle,
    restrict="restrict",
    atomics=_ATOMICS,
)
