"""The target C (C11) with OpenMP.

``int`` has 32 bits wherever NumPy and OpenMP run; types of other widths are those of stdint.h.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polygen.analysis.typing.functions import FAST
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import MemoryOrdering, MemoryScope
from polygen.ir.dtype import DType, is_integer
from polygen.ir.layout import VECTOR_BYTES, VECTOR_LENGTHS
from polygen.targets.languages.target import COMMON_HELPERS, VECTOR_TYPES, Atomics, Bits, Target
from polygen.targets.languages.vector_math import vector_functions
from polygen.targets.texts.named_texts import Texts, texts_of

_TEXTS = texts_of("c.h")


def _parallel_loop(loops: int, condition: str, part: str, vectors: bool) -> str:
    clauses = " simd" if vectors else ""
    clauses += f" collapse({loops})" if loops > 1 else ""
    clauses += f" if({condition})" if condition else ""
    return f"#pragma omp parallel for{clauses}" + (f" schedule(dynamic, {part})" if part else "")


def _team_loop(loops: int, _condition: str, part: str, vectors: bool) -> str:
    return _parallel_loop(loops, "", part, vectors).replace("parallel for", "for") + " nowait"


def _team(condition: str) -> str:
    return "#pragma omp parallel" + (f" if({condition})" if condition else "")


def _vector_loop(accumulated: Sequence[tuple[str, str]]) -> str:
    clauses = [f" reduction({operation}:{name})" for operation, name in accumulated]
    return f"#pragma omp simd{''.join(clauses)}"


_MOST_COPIES, _SOME_COPIES = 64, 8


def _unroll(count: int | None) -> str:
    copies = _SOME_COPIES if count is None else max(1, min(count, _MOST_COPIES))
    return f"#pragma GCC unroll {copies}"


_SIGNS = {"sum": "+", "product": "*", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}


def _updated(operation: str, dtype: DType) -> str:
    """Return the update of an integer such that it wraps around: as the hardware's sums do."""
    one = "1ULL" if dtype.itemsize == 8 else "1u"
    operand = f"{one} * ($x)" if operation == "product" and is_integer(dtype) else "$x"
    return f"$at {_SIGNS[operation]}= {operand};"


def _atomic(operation: str, dtype: DType) -> str | None:
    if operation not in _SIGNS:
        return None
    return f"#pragma omp atomic$clause\n{_updated(operation, dtype)}"


def _fetch(operation: str, dtype: DType) -> str | None:
    if operation not in _SIGNS:
        return None
    return f"""$T $old;
#pragma omp atomic capture$clause
{{ $old = $at; {_updated(operation, dtype)} }}"""


def _ordering(name: str) -> dict[str, str]:
    # A stronger one than was asked for does no harm.
    clause = "" if name == "RELAXED" else " seq_cst"
    return {"clause": clause, "order": f"__ATOMIC_{name}"}


_ATOMICS = Atomics(
    shared=frozenset((AddressSpace.GLOBAL,)),  # a group runs on one thread
    orderings={
        MemoryOrdering.RELAXED: _ordering("RELAXED"),
        MemoryOrdering.ACQUIRE: _ordering("ACQUIRE"),
        MemoryOrdering.RELEASE: _ordering("RELEASE"),
        MemoryOrdering.ACQUIRE_RELEASE: _ordering("ACQ_REL"),
        MemoryOrdering.SEQUENTIALLY_CONSISTENT: _ordering("SEQ_CST"),
    },
    scopes={scope: {} for scope in MemoryScope},
    sizes=(1, 2, 4, 8),
    native=_atomic,
    native_floats=frozenset(("sum", "product")),
    fetch=_fetch,
    exchange=lambda _: _TEXTS["exchange"],
    compare_exchange=lambda _: _TEXTS["compare_exchange"],
    retry=lambda _: _TEXTS["retry"],
    forms=lambda _: Bits(),
    store=lambda _: "#pragma omp atomic write$clause\n$at = $bits;",
)

_TYPE_NAMES = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float16": "half",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float complex",
    "complex128": "double complex",
}


def _array_vector_line(dtype: str, count: int) -> str:
    size = np.dtype(dtype).itemsize
    bytes_ = size * (4 if count == 3 else count)
    # Arrays of NumPy's need not lie on multiples of a vector's size.
    attributes = f"vector_size({bytes_}), aligned({size}), may_alias"
    return f"typedef {_TYPE_NAMES[dtype]} pg_{dtype}_vec{count} __attribute__(({attributes}));"


def _same_lanes(vector: str, number: str, count: int) -> str:
    zero = number in ("0", "0.0", "0.0f")  # what is not written is 0
    return f"({vector}) {{{', '.join([number] * (1 if zero else count))}}}"


def _lines() -> dict[str, str]:
    vectors = {
        f"{dtype}_vec{count}": _array_vector_line(dtype, count)
        for dtype in VECTOR_TYPES
        for count in VECTOR_LENGTHS[1:]
    }
    return {**_TEXTS, **vectors}


C_OPENMP = Target(
    name="c",
    type_names=_TYPE_NAMES,
    literal_suffixes={
        "uint32": "u",
        "int64": "LL",
        "uint64": "ULL",
        "float32": "f",
    },
    type_lines=Texts(_lines),
    math_suffixes={"float32": "f"},
    missing_functions=frozenset(
        """abs_diff acospi add_sat asinpi atan2pi atanpi bitselect clz cospi ctz degrees exp10 hadd
        mad mad24 mad_hi mad_sat maxmag minmag mix mul24 mul_hi popcount pown powr radians rhadd
        rootn rotate rsqrt sign sincos sinpi smoothstep step sub_sat tanpi
        upsample""".split()  # noqa: SIM905
    )
    | FAST.keys(),
    helpers=texts_of(*COMMON_HELPERS, "c.h", "complex.h"),
    helper_prefix="static inline",
    function_head=lambda _, __: "void ",
    qualifiers=dict.fromkeys(AddressSpace, ""),
    constant_qualifier="",
    table_qualifier="static const ",
    table_nan="NAN",
    complex_operators=True,
    complex_literal="{1} + {2} * _Complex_I",
    complex_elements={"complex64": "CMPLXF({0}, {1})", "complex128": "CMPLX({0}, {1})"},
    complex_forms={
        "conj": "conj{1}({0})",
        "real": "creal{1}({0})",
        "imag": "cimag{1}({0})",
        "carg": "carg{1}({0})",
        "cproj": "cproj{1}({0})",
        **{
            name: f"c{name}{{1}}({{0}})"
            for name in """abs acos acosh asin asinh atan atanh cos cosh exp log pow sin sinh sqrt
            tan tanh""".split()  # noqa: SIM905
        },
    },
    vector_names={
        (dtype, count): f"pg_{dtype}x{count}"
        for dtype in ("uint32", "uint64", "float32", "float64")
        for count in (2, 4)
    },
    vector_literal=("({0}){{", "}}"),
    array_vector="pg_{1}_vec{2}",
    array_component="{0}[{1}]",
    array_number="(({0}{1} *) &{2})[{3}]",
    vector_bytes=max(VECTOR_BYTES),
    load_vector="*({2} const *) ({0})",
    store_vector="*({2} *) ({0}) = {4}",
    lanes="({0}) {{{1}}}",
    convert_lanes="__builtin_convertvector({1}, {0})",
    select_lanes="({3}) (({0} & ({4}) {1}) | (~{0} & ({4}) {2}))",
    choose_lanes="{0} ? ({3}) ({1}) : ({3}) ({2})",  # vectors that are aligned otherwise are others
    same_lanes=_same_lanes,
    math_of_vectors=vector_functions,
    # Else GCC takes two of AVX2's for one of AVX-512's.
    each_lane="""
    {0} result;
    #pragma omp simd simdlen({1})
    for (int i = 0; i < {1}; ++i)
        result[i] = {2};
    return result;
""",
    aligned=" __attribute__((aligned({0})))",
    assume_aligned="{0} = __builtin_assume_aligned({0}, {1});",
    restrict="restrict",
    atomics=_ATOMICS,
    parallel_loop=_parallel_loop,
    team=_team,
    team_loop=_team_loop,
    team_state="int pg_team[17] = {0}; // who has come, and how often all have",
    team_alone="#pragma omp master",
    team_waits="pg_wait_for_team(pg_team);",
    vector_loop=_vector_loop,
    accumulation="""
#pragma omp declare reduction({0} : {1} : omp_out = {0}(omp_out, omp_in)) \\
    initializer(omp_priv = omp_orig)
""",
    uncontracted_options=("-ffp-contract=off",),
    unroll=_unroll,
    asks_in_turn=True,
    runs_host=True,
    has_libraries=True,
)
