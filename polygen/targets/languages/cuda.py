"""The target CUDA C++.

The text needs no headers: NVRTC compiles it as it stands, and so does nvcc.
"""

from __future__ import annotations

from math import prod

import numpy as np

from polygen.analysis.typing.functions import FAST
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import MemoryOrdering, MemoryScope
from polygen.ir.dtype import DType
from polygen.ir.layout import VECTOR_LENGTHS
from polygen.targets.languages.target import (
    COMMON_HELPERS,
    VECTOR_TYPES,
    Atomics,
    Bits,
    Copies,
    Target,
    TensorCores,
)
from polygen.targets.texts.named_texts import Texts, texts_of

_TEXTS = texts_of("cuda.cu")

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


def _fetch(operation: str, dtype: DType) -> str | None:
    if dtype == np.float16:  # its sums return nothing
        return None
    native = _atomic(operation, dtype)
    return None if native is None else _declaring("$T const $old", native)


def _exchange(dtype: DType) -> str | None:
    if dtype.itemsize < 4 or (dtype.itemsize == 8 and dtype.kind == "f") or dtype.kind == "c":
        return None
    swap = "atomicExch$scope(&$at, $x)"
    if dtype.kind != "f":
        swap = "($T) atomicExch$scope(($U *) &$at, ($U) ($x))"
    return f"${{before}}$T const $old = {swap};$after"


def _compare_exchange(dtype: DType) -> str | None:
    if dtype.itemsize < 4:
        return None
    swap = "atomicCAS$scope(($U *) &$at, ($U) ($expected), ($U) ($x))"
    return f"${{before}}$T const $old = ($T) {swap};$after"


def _declaring(variable: str, native: str) -> str:
    """Return a statement that declares a variable with the result of another one."""
    return native.replace("${before}", f"${{before}}{variable} = ")


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


def _retry(size: int) -> str:
    if size == 1:
        return _TEXTS["retry part"]
    # Of 16 bits, there is only the one for all of a device.
    return _TEXTS["retry"].replace("$scope", "") if size == 2 else _TEXTS["retry"]


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
    fetch=_fetch,
    exchange=_exchange,
    compare_exchange=_compare_exchange,
    retry=_retry,
    forms=_forms,
    store=_store,
    native_needs=lambda _, dtype: "add_half" if dtype.name == "float16" else "",
    retry_needs="bits",
)

_COPIES = Copies(sizes=(16, 8, 4), begin="pg_copy({0}, {1})", wait="pg_wait()", needs="copies")

_TENSOR_CORES = TensorCores(
    multiply="pg_multiply_{0}({{{1}}}, {{{2}}}, {{{3}}})",
    needs="multiply_{0}",
    parts="pg_parts<{0}>",
    parts_need="parts",
    load="pg_load_matrices<{0}>({1}, {{{2}}})",
    multiply_loaded="pg_multiply_{0}({{{1}}}, {2}, {3})",
)


def _lines() -> dict[str, str]:
    types = (*VECTOR_TYPES, "bfloat16")  # which is copied
    vectors = [f"{dtype}_vec{count}" for dtype in types for count in VECTOR_LENGTHS[1:]]
    return {**_TEXTS, **dict.fromkeys(vectors, _TEXTS["vectors"])}


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
    type_lines=Texts(_lines),
    math_suffixes={"float32": "f"},
    math_names=_QUICK,
    missing_functions=frozenset(
        """abs_diff acospi add_sat asinpi atan2pi atanpi bitselect clz ctz degrees hadd isnormal mad
        mad24 mad_hi mad_sat maxmag minmag mix mul24 mul_hi popcount pown powr radians rhadd rootn
        rotate sign sincos smoothstep step sub_sat tanpi upsample""".split()  # noqa: SIM905
    )
    | (FAST.keys() - _QUICK.keys()),
    helpers=texts_of(*COMMON_HELPERS, "cuda.cu", "complex_vectors.h"),
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
    has_libraries=True,
    barrier=lambda _: "__syncthreads();",
    half_arrays=True,
    half_updates=False,
    read_again="pg_read_again({0});",
    wide_registers=True,
    complex_operators=False,
    complex_literal="{0}({1}, {2})",
    complex_elements={
        "complex64": "pg_complex<float>({0}, {1})",
        "complex128": "pg_complex<double>({0}, {1})",
    },
    complex_forms={"real": "{0}.x", "imag": "{0}.y"},
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
    uncontracted_options=("--fmad=false",),
    restrict="__restrict__",
    atomics=_ATOMICS,
    copies=_COPIES,
    tensor_cores=_TENSOR_CORES,
)
