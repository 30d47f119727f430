"""What CUDA C++ does differently.

The text needs no headers: NVRTC compiles it as it stands, and so does nvcc.
"""

from __future__ import annotations

from math import prod

import numpy as np

from polygen.analysis.typing.functions import FAST
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import MemoryOrdering, MemoryScope
from polygen.ir.dtype import DType
from polygen.ir.layout import VECTOR_LENGTHS, has_vectors
from polygen.targets.languages.target import Atomics, Bits, Copies, Target
from polygen.targets.texts.complex_helpers import VECTORS
from polygen.targets.texts.cuda_types import (
    ADD_HALF,
    BITS,
    COMPLEX,
    COPIES,
    EARLY,
    HALF,
    HIDE,
    INFINITIES,
    VECTOR,
)

_TYPE_NAMES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "pg_half",
    "bfloat16": "unsigned short",
    "float32": "float",
    "float64": "double",
    "complex64": "pg_complex<float>",
    "complex128": "pg_complex<double>",
}


def _head(local_size: tuple[int, ...], resident_groups: int) -> str:
    bounds = f"{prod(local_size)}, {resident_groups}" if resident_groups else prod(local_size)
    return f'extern "C" __global__ void __launch_bounds__({bounds})\n'


def _index(letter: str, axis: int) -> str:
    return f"{'blockIdx' if letter == 'g' else 'threadIdx'}.{'xyz'[axis]}"


def _shuffle(value: str, distance: int) -> str:
    way = "down" if distance > 0 else "up"
    return f"__shfl_{way}_sync(0xffffffffu, {value}, {abs(distance)})"


_ATOMIC_NAMES = {
    "sum": "Add",
    "min": "Min",
    "max": "Max",
    "bit_and": "And",
    "bit_or": "Or",
    "bit_xor": "Xor",
}


def _atomic(operation: str, dtype: DType) -> str | None:
    name = _ATOMIC_NAMES.get(operation)
    if dtype == np.float16 and operation == "sum":
        return "${before}pg_add_half(&$at, $x);$after"
    if name is None or dtype.itemsize < 4:
        return None
    # Of the operations on numbers of 64 bits, only extrema know signs: the others are the same.
    unsigned = dtype.kind == "i" and dtype.itemsize == 8 and operation not in ("min", "max")
    at = "($U *) &$at" if unsigned else "&$at"
    return f"${{before}}atomic{name}$scope({at}, $x);$after"


def _store(size: int) -> str:
    if size < 4:
        return "${before}*(volatile $U *) &$at = $bits;$after"
    return "${before}atomicExch$scope(($U *) &$at, $bits);$after"


def _scope(scope: MemoryScope) -> str:
    return {MemoryScope.WORK_GROUP: "_block", MemoryScope.ALL_DEVICES: "_system"}.get(scope, "")


def _ordering(*, before: bool, after: bool) -> dict[str, str]:
    fence = "__threadfence$scope();"
    return {
        "before": f"{fence}\n" if before else "",
        "after": f"\n{fence}" if after else "",
    }


# In single precision; as precise as OpenCL's half_... have to be, they are not.
_QUICK = {
    "native_divide": "__fdivide",
    "native_powr": "__pow",
    **{f"native_{name}": f"__{name}" for name in "cos exp exp10 log log10 log2 sin tan".split()},  # noqa: SIM905
}

# An instruction each, which CUDA C++ has no name for; subnormal numbers count as zeros.
_INSTRUCTIONS = {
    "native_exp2": "ex2.approx.ftz.f32",
    "native_recip": "rcp.approx.ftz.f32",
    "native_rsqrt": "rsqrt.approx.ftz.f32",
    "native_sqrt": "sqrt.approx.ftz.f32",
}
_INSTRUCTION = """
float $name(float a)
{
    float b;
    asm("<instruction> %0, %1;" : "=f"(b) : "f"(a));
    return b;
}
"""

_RETRY = """
{
    $U *const $place = ($U *) &$at;
    $U $new = *$place, $seen;
    ${before}do {
        $seen = $new;
        $T const $old = $number;
        $new = atomicCAS$scope($place, $seen, $bits);
    } while ($new != $seen);$after
}
"""

# A byte is swapped with the three others of its word, which have to be as they were.
_RETRY_PART = """
{
    unsigned int *const $place = (unsigned int *) ((size_t) &$at & ~(size_t) 3);
    int const $shift = 8 * (int) ((size_t) &$at & 3);
    unsigned int $new = *$place, $seen;
    ${before}do {
        $seen = $new;
        $U const $part = ($U) ($seen >> $shift);
        $T const $old = $number;
        $new = $seen & ~(${mask}u << $shift) | (unsigned int) $bits << $shift;
        $new = atomicCAS$scope($place, $seen, $new);
    } while ($new != $seen);$after
}
"""


def _retry(size: int) -> str:
    if size == 1:
        return _RETRY_PART
    # Of 16 bits, there is only the one for all of a device.
    return _RETRY.replace("$scope", "") if size == 2 else _RETRY


def _forms(dtype: DType) -> Bits:
    return Bits(f"pg_bits<{_TYPE_NAMES[dtype.name]}>({{0}})", "pg_bits<{U}>({0})")


_ATOMICS = Atomics(
    shared=frozenset((AddressSpace.LOCAL, AddressSpace.GLOBAL)),
    orderings={
        MemoryOrdering.RELAXED: _ordering(before=False, after=False),
        MemoryOrdering.ACQUIRE: _ordering(before=False, after=True),
        MemoryOrdering.RELEASE: _ordering(before=True, after=False),
        MemoryOrdering.ACQUIRE_RELEASE: _ordering(before=True, after=True),
        MemoryOrdering.SEQUENTIALLY_CONSISTENT: _ordering(before=True, after=True),
    },
    scopes={scope: {"scope": _scope(scope)} for scope in MemoryScope},
    sizes=(1, 2, 4, 8),
    scope_sizes={MemoryScope.ALL_DEVICES: (1, 4, 8)},
    native=_atomic,
    native_floats=frozenset(("sum",)),
    retry=_retry,
    forms=_forms,
    store=_store,
    native_needs=lambda _, dtype: "add_half" if dtype.name == "float16" else "",
    retry_needs="bits",
)

_COPIES = Copies(sizes=(16, 8, 4), begin="pg_copy({0}, {1})", wait="pg_wait()", needs="copies")

_EXTREME = f"""
int $name(int a, int b)
{{
    int c = a <=> b ? a : b;
{HIDE.format("c")}
    return c;
}}
"""

_RESULTS = {
    (dtype, count): f"pg_{dtype}x{count}"
    for dtype in ("uint32", "uint64", "float32", "float64")
    for count in (2, 4)
}

CUDA = Target(
    name="cuda",
    type_names=_TYPE_NAMES,
    literal_suffixes={
        "uint32": "u",
        "int64": "LL",
        "uint64": "ULL",
        "float32": "f",
    },
    type_lines={
        "float16": HALF,
        **dict.fromkeys(("complex64", "complex128"), COMPLEX),
        "bits": BITS,
        "copies": COPIES,
        "early": EARLY,
        "add_half": ADD_HALF,
        **{
            f"{dtype}x{count}": f"struct {name} {{ {_TYPE_NAMES[dtype]} {fields}; }};"
            for (dtype, count), name in _RESULTS.items()
            for fields in (", ".join("xyzw"[:count]),)
        },
        **{
            f"{dtype}_vec{count}": VECTOR
            for dtype in _TYPE_NAMES
            for count in VECTOR_LENGTHS[1:]
            if dtype == "float16" or (dtype != "bfloat16" and has_vectors(np.dtype(dtype)))
        },
    },
    math_lines=(INFINITIES,),
    math_suffixes={"float32": "f"},
    math_names=_QUICK,
    missing_functions=frozenset(
        """abs_diff acospi add_sat asinpi atan2pi atanpi bitselect clz ctz degrees hadd isnormal mad
        mad24 mad_hi mad_sat maxmag minmag mix mul24 mul_hi popcount pown powr radians rhadd rootn
        rotate sign sincos smoothstep step sub_sat tanpi upsample""".split()  # noqa: SIM905
    )
    | (FAST.keys() - _QUICK.keys()),
    own_helpers={
        (name, "int32"): _EXTREME.replace("<=>", operator)
        for name, operator in (("min", "<"), ("max", ">"))
    }
    | {
        (name, "float32"): _INSTRUCTION.replace("<instruction>", instruction)
        for name, instruction in _INSTRUCTIONS.items()
    },
    helper_prefix="static __device__ inline",
    function_head=_head,
    qualifiers=dict.fromkeys(AddressSpace, ""),
    shared_declaration="__shared__ ",
    shared_alignment=16,  # then neighbours are read as vectors
    shared_pool="extern __shared__ __attribute__((aligned(16))) unsigned char pg_shared[];",
    most_shared=48 * 1024,
    constant_qualifier="",
    table_qualifier="static const ",
    table_infinity="1.0f / 0.0f",  # INFINITY and NAN are calls where there are no headers
    table_nan="0.0f / 0.0f",
    launch_begin="pg_after_other_launches();",
    hardware_index=_index,
    unsigned_indices=True,
    barrier=lambda _: "__syncthreads();",
    half_arrays=True,
    wide_registers=True,
    to_half="""
float $name($T a)
{
    return pg_half(a);
}
""",
    bfloat16={
        "from_bfloat16": """
float $name(unsigned short a)
{
    return __uint_as_float((unsigned int) a << 16);
}
""",
        "to_bfloat16": """
unsigned short $name(float a)
{
    unsigned int const bits = __float_as_uint(a);
    // to the nearest one, to an even one from halfway
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short) (bits >> 16 | 0x40u);
    return (unsigned short) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
""",
    },
    complex_operators=False,
    complex_literal="{0}({1}, {2})",
    complex_elements={
        "complex64": "pg_complex<float>({0}, {1})",
        "complex128": "pg_complex<double>({0}, {1})",
    },
    complex_forms={"real": "{0}.x", "imag": "{0}.y"},
    complex_helpers=frozenset(VECTORS),
    complex_make="{0}",
    complex_convert="{0}({1})",
    complex_comparisons={"==": "({0} == {1})", "!=": "({0} != {1})"},
    vector_names=_RESULTS,
    vector_literal=("{0}{{", "}}"),
    array_vector="pg_vector<{0}, {2}>",
    array_component="{0}[{1}]",
    array_number="(({0}{1} *) &{2})[{3}]",
    load_vector="pg_load<{2}>({0})",
    store_vector="pg_store<{2}>({0}, {4})",
    load_aligned="*({2} const *) ({0})",
    store_aligned="*({2} *) ({0}) = {4}",
    most_aligned=16,
    memory_begins=256,
    lanes="pg_lanes<{0}>({1})",
    convert_lanes="pg_convert<{0}>({1})",
    select_lanes="pg_select({0}, {1}, {2})",
    same_lanes=lambda vector, number, _: f"pg_same<{vector}>({number})",
    aligned=" __attribute__((aligned({0})))",
    shuffle=_shuffle,
    most_shuffled=32,
    restrict="__restrict__",
    atomics=_ATOMICS,
    copies=_COPIES,
)
