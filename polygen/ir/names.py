"""Checks that a name may appear in generated code."""

from __future__ import annotations

import re

from polygen.errors import ReservedName
from polygen.ir.library_names import is_in_library, without_other_type
from polygen.source import caller_location

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 200  # PoCL makes folders that are called like kernels; file systems allow 255

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
    sampler_t event_t barrier vec_step
    read_imagef read_imagei read_imageui CLK_NORMALIZED_COORDS_FALSE CLK_ADDRESS_CLAMP
    CLK_FILTER_NEAREST
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t

    float2 double2 convert_float2 convert_double2 all any cabs cacos cacosh casin casinh catan
    catanh ccos ccosh cexp cimag clog conj cpow creal csin csinh csqrt ctan ctanh cabsf cacosf
    cacoshf casinf casinhf catanf catanhf ccosf ccoshf cexpf cimagf clogf conjf cpowf crealf
    csinf csinhf csqrtf ctanf ctanhf
    threadIdx blockIdx blockDim gridDim warpSize main printf vload_half vstore_half vstore_half_rte
    NULL NAN INFINITY linux unix math_errhandling fpclassify iscanonical iseqsig isgreater
    isgreaterequal isless islessequal islessgreater isnormal issignaling issubnormal isunordered
    iszero

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

# Families of names: macros of the headers that generated code begins with, and what OpenCL C has
# for each of its types.
_FAMILIES = re.compile(
    r"""
    __.* | _[A-Z].* | get_.* | pg_.* | omp_.* | CLK_.*
    | CL_VERSION_.* | cl_(khr|amd|arm|clang|intel|ext|nv)_.* | cles_khr_.*
    | U?INT(8|16|32|64|MAX)_C | CMPLX(F|L|F\d+X?)?
    | (bool|u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)
    | (as|convert)_(u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)?(_.*)?
    | atom(ic)?_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor|init|load|store)
    | atomic_(exchange|fetch)_.* | ATOMIC_(FLAG|VAR)_INIT
    | atomic[A-Z].* | (rsqrt|exp10|cospi|sinpi)f | CUDART_.*  # CUDA's
    | CUDARTAPI(_CDECL)? | CUDA_IPC_HANDLE_SIZE | CU_UUID_HAS_BEEN_DEFINED | NV_IF(_ELSE)?_TARGET
    | va_(arg|copy|end|start)
    | CLANG_(MAJOR|HAS_RW_IMAGES) | IMG_(RO|RW|WO)_AQ | INTTYPE | LLVM_\d+_\d+ | POCL_.*  # PoCL's
    | image[123]d_.*t | MAX_WORK_DIM | CL_(COMPLETE|QUEUED|RUNNING|SUBMITTED)
    """,
    re.VERBOSE,
)

# Numbers that C has, as macros.
_NUMBERS = re.compile(
    r"""
    U?INT(_LEAST|_FAST)?(8|16|32|64)_(MAX|MIN|WIDTH)
    | (U?INTMAX|U?INTPTR|PTRDIFF|SIZE|SIG_ATOMIC|WCHAR|WINT)_(MAX|MIN|WIDTH)
    | (FLT|DBL|LDBL|HALF)_(DIG|EPSILON|MANT_DIG|RADIX|MAX|MIN|TRUE_MIN|M(AX|IN)(_10)?_EXP)
    | U?(CHAR|SHRT|INT|LONG|LLONG)_(BIT|MAX|MIN) | SCHAR_(MAX|MIN)
    | M_(1_PI|2_PI|2_SQRTPI|E|LN2|LN10|LOG2E|LOG10E|PI|PI_2|PI_4|SQRT2|SQRT1_2)(_[FH]|[fl]|f\d+x?)?
    | HUGE_VAL[FL]? | HUGE_VAL_F\d+X? | SNAN(F|L|F\d+X?)? | MAXFLOAT | MATH_ERR(NO|EXCEPT)
    | FP_(FAST_FMA[FL]?|L?L?ILOGB.*|L?LOGB.*|INFINITE|NAN|NORMAL|SUBNORMAL|ZERO|INT_.*)
    """,
    re.VERBOSE,
)

# Functions that C has.
_MATH = re.compile(
    r"""
    c?(acos|asin|atan|cos|sin|tan)h?[fl]? | c?(exp|log|pow|sqrt)[fl]?
    | c(abs|arg|imag|proj|real)[fl]? | (atan2|cbrt|ceil|copysign|erfc?|exp(2|10|m1))[fl]?
    | (fabs|fdim|floor|fma|fmax|fmin|fmod|frexp|hypot)[fl]?
    | (i?logb|ldexp|lgamma|llrint|llround|log(10|1p|2)|lrint|lround|modf|nan|nearbyint)[fl]?
    | (nextafter|nexttoward|remainder|remquo|rint|round|scalbl?n|tgamma|trunc)[fl]?
    """,
    re.VERBOSE,
)

# Functions that OpenCL C or CUDA has: variables may have these names, kernels not.
_FUNCTIONS = frozenset(
    """
    abs abs_diff add_sat async_work_group_copy async_work_group_strided_copy bitselect clamp clz
    cross ctz degrees distance dot fast_distance fast_length fast_normalize fract hadd isequal
    isnotequal isordered length lgamma_r mad24 mad_hi mad_sat mem_fence mix mul24 mul_hi normalize
    popcount prefetch radians read_mem_fence rhadd rotate select shuffle shuffle2 sign sincos
    smoothstep step sub_sat upsample wait_group_events work_group_barrier write_mem_fence
    """.split()  # noqa: SIM905
)
_FUNCTION_FAMILIES = re.compile(
    r"(native|half)_(cos|divide|exp(2|10)?|log(2|10)?|powr|recip|rsqrt|sin|sqrt|tan)"
    r"|v(load|store)(a?_half)?(2|3|4|8|16)?(_rt[ezpn])?|(read|write)_image.*"
    # of POSIX, in math.h; and types
    r"|(drem|finite|gamma|isinf|isnan|[jy][01n]|lgamma|scalb|significand)[fl]?(_r)?|conj[fl]?|signgam"
    r"|u?int(_fast|_least)(8|16|32|64)_t|u?intmax_t|(float|double)_t|as_(u?intptr|ptrdiff|size)_t"
    r"|cl_mem_fence_flags|kernel_exec|intel_sub_group_.*|(clk_profiling_info|reserve_id_t)"
    r"|atomic_(double|flag|float|u?int|u?intptr_t|u?long)|memory_(order|scope)(_.*)?"
    r"|dev_(image|sampler)_t|kernel_enqueue_flags_t"
    # of CUDA
    r"|assert|clock(64|_t)?|cuda.*|dim3|free|l?labs|malloc|std|va_list"
    r"|r?norm[34]df?|r?normf?|normcdf(inv)?f?|(rcbrt|rhypot|erfcx|erfc?inv|sincos|sincospi|fdivide)f?"
    r"|CUDA_[CR]_\d+.*|CUDA_EMULATION_.*|CUaccessPolicyWindow|CUuuid|libraryPropertyType"
    r"|(MAJOR|MINOR)_VERSION|PATCH_LEVEL|make_[a-z]+[1-4](_\w+)?"
    r"|cyl_bessel_i[01]f?|(u|ll|ull)(max|min)"
)


def usable_name(like: str) -> str:
    """Return a name much like another one that anything in a kernel may have: ``half_``.

    Numbers may follow it, as in ``half__0``.
    """
    word = re.sub(r"\W", "_", like, flags=re.ASCII)[: _LONGEST // 2]
    likes = (word, _other_name(word), f"my_{word}", f"my_{word.strip('_')}")
    return next(n for n in likes if _is_usable(n) and _is_usable(f"{n}_0"))


def usable_function_name(like: str) -> str:
    """Return a name much like another one that a kernel may have: ``exp_`` for ``exp``."""
    word = usable_name(like)
    return word if not _is_function(word) else _other_function(word)


def _is_usable(name: str) -> bool:
    try:
        for check in (check_name, check_declared, check_argument_name, check_in_domain):
            check(name)
    except ReservedName:
        return False
    return True


def _other_name(name: str) -> str:
    """Return a name that is much like one that is taken, and is free."""
    other = f"{name.strip('_')}_"
    return f"my_{name.strip('_')}" if _FAMILIES.fullmatch(other) else other


# What isl's notation means, whichever of its letters are capitals.
_ISL_WORDS = frozenset(
    """
    exists and or implies not infty infinity nan min max rat true false ceild floord mod ceil floor
    """.split()  # noqa: SIM905
)


def is_isl_word(name: str) -> bool:
    """Tell whether isl's notation has a meaning for a name."""
    return name.lower() in _ISL_WORDS


def check_in_domain(name: str) -> None:
    """Raise ReservedName if domains cannot mention a name: isl reads it as something else."""
    if is_isl_word(name):
        raise ReservedName(
            f"'{name}' is a word of isl's notation, which no iname and no size can be called like",
            where=caller_location(),
            remedy=f"use another name, such as '{name}_'; arrays may have this one",
        )


# What calls of kernels and programs, and steps, take by name themselves.  (`out`, too; but where a
# kernel has an argument of that name, that is meant.)
_OF_CALLS = frozenset(("queue", "wait_for", "check_assumptions", "entrypoint", "unsafe"))


def check_argument_name(name: str) -> None:
    """Raise ReservedName if calls cannot pass an argument of this name: it means something else."""
    if name in _OF_CALLS:
        raise ReservedName(
            f"'{name}' can be no argument of a kernel: calls and steps take something else by that "
            "name",
            where=caller_location(),
            remedy=f"call it '{name}_'; inames and temporaries may have this name",
        )


def check_function_name(name: str) -> None:
    """Raise ReservedName if `name` cannot be that of a kernel."""
    check_name(name)
    check_declared(name)
    if _is_function(name):
        raise ReservedName(
            f"'{name}' is a function or a type of C, OpenCL C or CUDA, or of their libraries: no "
            "function can be called like that",
            where=caller_location(),
            remedy=f"use another name, such as '{_other_function(name)}'",
        )


def _other_function(name: str) -> str:
    """Return a name that is much like that of a function, and is free."""
    core = name.strip("_")
    return f"my_{core}" if _is_function(f"{core}_") else f"{core}_"


def _is_function(name: str) -> bool:
    if name.startswith("_"):  # which C leaves to libraries
        return True
    known = name in _FUNCTIONS or _FUNCTION_FAMILIES.fullmatch(name) or is_in_library(name)
    return bool(known or _MATH.fullmatch(without_other_type(name)))


def check_declared(name: str) -> None:
    """Raise ReservedName if generated code cannot declare a variable of this name.

    Until then, a scalar argument may stand for such a number of the target's.
    """
    if _NUMBERS.fullmatch(name):
        raise ReservedName(
            f"'{name}' is a number in C, and cannot be that of a variable",
            where=caller_location(),
            remedy=f"use another name, such as '{name}_'; register_symbol_manglers lets a scalar "
            "argument be that number",
        )


def check_name(name: str, *, foreign: bool = False) -> None:
    """Raise ReservedName if `name` cannot be used for something in a kernel.

    Parameters:
        name: the name.
        foreign: whether it is that of a function of a target's, which may be one of C's.

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
    if len(name) > _LONGEST:
        raise ReservedName(
            f"'{name[:40]}...' is a name of {len(name)} characters",
            where=caller_location(),
            remedy=f"use {_LONGEST} at most",
        )
    is_math = _MATH.fullmatch(name) and not foreign
    if name in RESERVED or _FAMILIES.fullmatch(name) or is_math:
        raise ReservedName(
            f"'{name}' has a meaning in one of the languages that polygen generates, or in isl's",
            where=caller_location(),
            remedy=f"write {name.capitalize()}"
            if name in ("true", "false")
            else f"use another name, such as '{_other_name(name)}'",
        )
