"""Functions of OpenCL's that other targets spell out, and those with several results.

Templates as in `polygen.targets.expressions.helper_functions`; ``$W`` is the type of twice the
size, of the same sign.  The integer ones are for each width, as what they return depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping

# The upper half of a product, from products of halves: as `high`, without signs.
_HALVES = """
    $U const mask = (($U) 1 << $bits / 2) - 1;
    $U const a_low = ($U) a & mask, a_high = ($U) a >> $bits / 2;
    $U const b_low = ($U) b & mask, b_high = ($U) b >> $bits / 2;
    $U const middle = a_high * b_low + (a_low * b_low >> $bits / 2);
    $U const carry = a_low * b_high + (middle & mask);
    $U high = a_high * b_high + (middle >> $bits / 2) + (carry >> $bits / 2);
""".strip("\n")
# What two negative numbers add to it when they are taken for positive ones.
_SIGNS = """
    high -= (a < 0 ? ($U) b : 0) + (b < 0 ? ($U) a : 0);
""".strip("\n")
_LARGEST = "($T) (($U) -1 >> 1)"
_SMALLEST = f"(-{_LARGEST} - 1)"

INTEGER: Mapping[str, str] = {
    "abs_diff": """
$U $name($T a, $T b)
{
    return a > b ? ($U) a - ($U) b : ($U) b - ($U) a;
}
""",
    "bitselect": """
$T $name($T a, $T b, $T c)
{
    return (a & ~c) | (b & c);
}
""",
    "clz": """
$T $name($T a)
{
    $T zeros = $bits;
    for ($U rest = ($U) a; rest != 0; rest >>= 1)
        --zeros;
    return zeros;
}
""",
    "ctz": """
$T $name($T a)
{
    $T zeros = 0;
    for ($U rest = ($U) a; zeros < $bits && rest % 2 == 0; rest >>= 1)
        ++zeros;
    return zeros;
}
""",
    "popcount": """
$T $name($T a)
{
    $T ones = 0;
    for ($U rest = ($U) a; rest != 0; rest &= rest - 1)
        ++ones;
    return ones;
}
""",
    "hadd": """
$T $name($T a, $T b)
{
    return (a & b) + ((a ^ b) >> 1);
}
""",
    "rhadd": """
$T $name($T a, $T b)
{
    return (a | b) - ((a ^ b) >> 1);
}
""",
    "rotate": """
$T $name($T a, $T count)
{
    $U const by = ($U) count % $bits;
    return ($T) (($U) (($U) a << by) | ($U) a >> ($bits - by) % $bits);
}
""",
    "mul24": """
$T $name($T a, $T b)
{
    return ($T) (($U) a * ($U) b);
}
""",
    "mad24": """
$T $name($T a, $T b, $T c)
{
    return ($T) (($U) a * ($U) b + ($U) c);
}
""",
    "upsample": """
$W $name($T upper, $U lower)
{
    return ($W) ((($W) upper * (($W) 1 << $bits)) | lower);
}
""",
    "mul_hi": """
$T $name($T a, $T b)
{
    return ($T) (($W) a * b >> $bits);
}
""",
    "mad_hi": """
$T $name($T a, $T b, $T c)
{
    return ($T) (($U) (($W) a * b >> $bits) + ($U) c);
}
""",
}

SIGNED: Mapping[str, str] = {
    "sign": """
$T $name($T a)
{
    return (a > 0) - (a < 0);
}
""",
    "add_sat": f"""
$T $name($T a, $T b)
{{
    $T const sum = ($T) (($U) a + ($U) b);
    if ((a < 0) == (b < 0) && (sum < 0) != (a < 0))
        return a < 0 ? {_SMALLEST} : {_LARGEST};
    return sum;
}}
""",
    "sub_sat": f"""
$T $name($T a, $T b)
{{
    $T const difference = ($T) (($U) a - ($U) b);
    if ((a < 0) != (b < 0) && (difference < 0) != (a < 0))
        return a < 0 ? {_SMALLEST} : {_LARGEST};
    return difference;
}}
""",
    "mad_sat": f"""
$T $name($T a, $T b, $T c)
{{
    $W const value = ($W) a * b + c;
    if (value > {_LARGEST})
        return {_LARGEST};
    return value < {_SMALLEST} ? {_SMALLEST} : ($T) value;
}}
""",
}

UNSIGNED: Mapping[str, str] = {
    "sign": """
$T $name($T a)
{
    return a != 0;
}
""",
    "add_sat": """
$T $name($T a, $T b)
{
    $T const sum = ($T) (a + b);
    return sum < a ? ($T) -1 : sum;
}
""",
    "sub_sat": """
$T $name($T a, $T b)
{
    return a < b ? 0 : a - b;
}
""",
    "mad_sat": """
$T $name($T a, $T b, $T c)
{
    $W const value = ($W) a * b + c;
    return value > ($T) -1 ? ($T) -1 : ($T) value;
}
""",
}

# Of the widest integers, for which there is no type of twice the size; by the letter of the type.
LONG: Mapping[str, Mapping[str, str]] = {
    kind: {
        "mul_hi": f"""
$T $name($T a, $T b)
{{
{product}
    return ($T) high;
}}
""",
        "mad_hi": f"""
$T $name($T a, $T b, $T c)
{{
{product}
    return ($T) (high + ($U) c);
}}
""",
        "mad_sat": f"""
$T $name($T a, $T b, $T c)
{{
{product}
    $U const low = ($U) a * ($U) b + ($U) c;
    high += low < ($U) c;
{saturated}
}}
""",
    }
    for kind, product, saturated in (
        (
            "i",
            f"{_HALVES}\n{_SIGNS}",
            f"""
    high -= c < 0;
    if (high == (($T) low < 0 ? ($U) -1 : 0))
        return ($T) low;
    return ($T) high < 0 ? {_SMALLEST} : {_LARGEST};""".strip("\n"),
        ),
        ("u", _HALVES, "    return high != 0 ? ($T) -1 : low;"),
    )
}

# Of a half: 65504 is the largest, and 2^-24 the least.
_NEXTAFTER_HALF = """
$T $name($T a, $T b)
{
    if (a == b || a != a || b != b)
        return a == b ? a : a + b;
    if (a == 0 || isinf(a))
        return $copysign(a == 0 ? 0x1p-24f : 65504, a == 0 ? b : a);
    int exponent;
    $T const size = $fabs(a), mantissa = $frexp(size, &exponent);
    $T const unit = size / mantissa < 0x1p-13f ? 0x1p-24f : size / mantissa * 0x1p-11f;
    if ((a < b) == (a > 0))
        return $copysign(size == 65504 ? INFINITY : size + unit, a);
    return $copysign(size - (mantissa == 0.5f && size > 0x1p-14f ? unit / 2 : unit), a);
}
"""

FLOATING: Mapping[str, str] = {
    "nextafter_half": _NEXTAFTER_HALF,
    "sign": """
$T $name($T a)
{
    return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? a : 0;
}
""",
    "degrees": """
$T $name($T a)
{
    return a * ($T) (180 / $pi);
}
""",
    "radians": """
$T $name($T a)
{
    return a * ($T) ($pi / 180);
}
""",
    "mix": """
$T $name($T a, $T b, $T share)
{
    return a + (b - a) * share;
}
""",
    "step": """
$T $name($T edge, $T a)
{
    return a < edge ? 0 : 1;
}
""",
    "smoothstep": """
$T $name($T low, $T high, $T a)
{
    $T const share = (a - low) / (high - low);
    $T const bounded = share < 0 ? 0 : share > 1 ? 1 : share;
    return bounded * bounded * (3 - 2 * bounded);
}
""",
}

# The fraction of a small negative number may not be rounded to 1.
_FRACT = """
    result.r1 = $floor(a);
    result.r0 = a - result.r1;
    if (a == 0 || isinf(a))
        result.r0 = $copysign(($T) 0, a);
    else if (result.r0 > LARGEST)
        result.r0 = LARGEST;
"""
# Those with two results, which are members of a structure.
PAIRS: Mapping[str, str] = {
    "sincos": """
    result.r0 = $sin(a);
    result.r1 = $cos(a);
""",
    "modf": """
    result.r0 = $modf(a, &result.r1);
""",
    "fract": _FRACT.replace("LARGEST", "$below_one"),
    "fract_half": _FRACT.replace("LARGEST", "0x1.ffcp-1f"),
    "frexp": """
    result.r0 = $frexp(a, &result.r1);
    if (!isfinite(a))
        result.r1 = 0;
""",
    "lgamma_r": """
    result.r0 = $lgamma(a);
    $T const whole = $floor(a);
    if (a <= 0 && a == whole)
        result.r1 = 0;
    else
        result.r1 = a < 0 && whole != 2 * $floor(whole / 2) ? -1 : 1;
""",
    # Multiples of 128 of the divisor are left out first: the quotient is then exact.
    "remquo": """
    $T const divisor = $fabs(b), rest = $fmod($fabs(a), 128 * divisor);
    result.r0 = $remainder(a, b);
    if (isnan(result.r0)) {
        result.r1 = 0;
    } else {
        int const quotient =
            (int) $rint(rest / divisor - $remainder(rest, divisor) / divisor) % 128;
        result.r1 = (a < 0) != (b < 0) ? -quotient : quotient;
    }
""",
}
_NATIVE_SINCOS = """
    result.r0 = sincos(a, &result.r1);
"""


def pair_template(name: str, *, whole: bool, native: bool) -> str:
    """Return a function that returns two results as a structure.

    Parameters:
        name: one of `PAIRS`.
        whole: whether the second result is an ``int``.
        native: whether the target has the function.
    """
    body = _NATIVE_SINCOS if native and name == "sincos" else PAIRS[name]
    parameters = "$T a, $T b" if name == "remquo" else "$T a"
    return "\n".join(
        [
            "struct ${name}_results {",
            "    $T r0;",
            f"    {'int' if whole else '$T'} r1;",
            "};",
            "",
            f"$prefix struct ${{name}}_results $name({parameters})",
            "{",
            "    struct ${name}_results result;",
            body.strip("\n"),
            "    return result;",
            "}",
        ]
    )
