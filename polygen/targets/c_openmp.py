"""What C (C11) with OpenMP does differently.

``int`` has 32 bits wherever NumPy and OpenMP run; types of other widths are those of stdint.h.
"""

from __future__ import annotations

from polygen.ir.array import AddressSpace
from polygen.targets.target import Target


def _parallel_loop(loops: int) -> str:
    collapse = f" collapse({loops})" if loops > 1 else ""
    return f"#pragma omp parallel for{collapse}"


C_OPENMP = Target(
    name="c",
    type_names={
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
        "float32": "float",
        "float64": "double",
    },
    literal_suffixes={
        "uint32": "u",
        "int64": "LL",
        "uint64": "ULL",
        "float32": "f",
    },
    type_lines={
        "bool": "#include <stdbool.h>",
        **dict.fromkeys(
            ("int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"),
            "#include <stdint.h>",
        ),
        "float16": "__extension__ typedef _Float16 half;",
    },
    math_lines=("#include <math.h>",),
    math_suffixes={"float32": "f"},
    missing_functions=frozenset(
        """acospi asinpi atan2pi atanpi cospi exp10 mad maxmag minmag pown powr rootn rsqrt
        sinpi tanpi""".split()  # noqa: SIM905
    ),
    helper_prefix="static inline",
    function_head=lambda _: "void ",
    qualifiers=dict.fromkeys(AddressSpace, ""),
    to_half="""
float $name($T a)
{
    return (half) a;
}
""",
    restrict="restrict",
    parallel_loop=_parallel_loop,
    runs_host=True,
)
