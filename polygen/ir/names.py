"""Which names may appear in generated code."""

from __future__ import annotations

import re

from polygen.errors import ReservedName
from polygen.source import caller_location

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Keywords and type names of C, C++ (which CUDA C is), OpenCL C and polygen's own language, and
# what isl's notation means.
RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    char8_t class compl concept const const_cast consteval constexpr constinit continue decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw true
    try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq complex imaginary

    kernel global local constant generic read_only write_only read_write uniform pipe half
    bool2 bool3 bool4 size_t ptrdiff_t intptr_t uintptr_t uchar ushort uint ulong quad
    image1d_t image2d_t image3d_t sampler_t event_t barrier
    read_imagef read_imagei read_imageui CLK_NORMALIZED_COORDS_FALSE CLK_ADDRESS_CLAMP
    CLK_FILTER_NEAREST
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t

    float2 double2 convert_float2 convert_double2 all any cabs cacos cacosh casin casinh catan
    catanh ccos ccosh cexp cimag clog conj cpow creal csin csinh csqrt ctan ctanh cabsf cacosf
    cacoshf casinf casinhf catanf catanhf ccosf ccoshf cexpf cimagf clogf conjf cpowf crealf
    csinf csinhf csqrtf ctanf ctanhf
    threadIdx blockIdx blockDim gridDim warpSize main printf vload_half vstore_half vstore_half_rte
    NULL NAN INFINITY INT_MAX INT_MIN

    True False

    acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cbrt copysign cos cosh
    cospi erf erfc exp exp10 exp2 expm1 fabs fdim fma fmax fmin fmod hypot ilogb isfinite isinf
    isnan ldexp lgamma log log10 log1p log2 logb mad maxmag minmag nextafter pow pown powr remainder
    rint rootn round rsqrt signbit sin sinh sinpi sqrt tan tanh tanpi tgamma trunc
    acosf acoshf asinf asinhf atanf atan2f atanhf cbrtf copysignf cosf coshf erff erfcf expf exp2f
    expm1f fabsf fdimf fmaf fmaxf fminf fmodf hypotf ilogbf ldexpf lgammaf logf log10f log1pf log2f
    logbf nextafterf powf remainderf rintf roundf sinf sinhf sqrtf tanf tanhf tgammaf truncf floorf
    ceilf

    exists mod floor ceil min max implies
    """.split()  # noqa: SIM905  (a list of two hundred quoted words would be harder to read)
)


def check_name(name: str) -> None:
    """Raise ReservedName if `name` cannot be used for something in a kernel.

    >>> check_name("x; }")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    polygen.errors.ReservedName: 'x; }' is no identifier
      ...remedy: use letters, digits and underscores, not beginning with a digit
    """
    if not _IDENTIFIER.fullmatch(name):
        raise ReservedName(
            f"'{name}' is no identifier",
            where=caller_location(),
            remedy="use letters, digits and underscores, not beginning with a digit",
        )
    if name in RESERVED or name.startswith(
        ("__", "_Bool", "_Complex", "_Float", "get_", "pg_", "omp_", "CLK_")
    ):
        raise ReservedName(
            f"'{name}' has a meaning in one of the languages that polygen generates, or in isl's",
            where=caller_location(),
            remedy=f"use another name, such as '{name.strip('_')}_'",
        )
