"""Operators and functions on integers and floats that a target has no operator for.

Templates as in `polygen.targets.expressions.helper_functions`.  The integer ones are total, as
NumPy's are: dividing by zero gives zero, and the one quotient that does not fit wraps around.  In
C, both would end the process.  An integer's negative power, which NumPy refuses, is 1.  Minima and
maxima of floats are not a number if an operand is none; ``fmin`` and ``fmax`` differ there, and in
gcc they are calls of a library.
"""

from __future__ import annotations

from collections.abc import Mapping

SIGNED: Mapping[str, str] = {
    "floor_div": """
$T $name($T a, $T b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return ($T) (0 - ($U) a);
    $T const quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
""",
    "mod": """
$T $name($T a, $T b)
{
    if (b == 0 || b == -1)
        return 0;
    $T const remainder = a % b;
    return remainder != 0 && (a < 0) != (b < 0) ? remainder + b : remainder;
}
""",
    "fmod": """
$T $name($T a, $T b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}
""",
    "abs": """
$T $name($T a)
{
    return a < 0 ? ($T) (0 - ($U) a) : a;
}
""",
    "shift_right": """
$T $name($T a, $T count)
{
    return ($U) count < $bits ? a >> count : a < 0 ? -1 : 0;
}
""",
}

UNSIGNED: Mapping[str, str] = {
    "floor_div": """
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a / b;
}
""",
    "mod": """
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}
""",
    "fmod": """
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}
""",
    "compare": """
int $name($S a, $T b)
{
    if (a < 0 || ($T) a < b)
        return -1;
    return ($T) a > b;
}
""",
    "shift_right": """
$T $name($T a, $T count)
{
    return count < $bits ? a >> count : 0;
}
""",
}

INTEGER: Mapping[str, str] = {
    "power": """
$T $name($T base, $T exponent)
{
    $U result = 1;
    for ($U factor = ($U) base; exponent > 0; exponent /= 2, factor *= factor) {
        if (exponent % 2 != 0)
            result *= factor;
    }
    return ($T) result;
}
""",
    "square": """
$T $name($T a)
{
    return ($T) (($U) a * ($U) a);
}
""",
    "cube": """
$T $name($T a)
{
    return ($T) (($U) a * ($U) a * ($U) a);
}
""",
    "fourth_power": """
$T $name($T a)
{
    $U const square = ($U) a * ($U) a;
    return ($T) (square * square);
}
""",
    "min": """
$T $name($T a, $T b)
{
    return a < b ? a : b;
}
""",
    "max": """
$T $name($T a, $T b)
{
    return a > b ? a : b;
}
""",
    "shift_left": """
$T $name($T a, $T count)
{
    return ($U) count < $bits ? ($T) (($U) a << count) : 0;
}
""",
}

FLOATING: Mapping[str, str] = {
    "floor_div": """
$T $name($T a, $T b)
{
    if (b == 0)
        return a / b;
    $T remainder = $fmod(a, b);
    $T quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0))
        quotient -= 1;
    if (quotient == 0)
        return $copysign(($T) 0, a / b);
    $T const whole = $floor(quotient);
    return quotient - whole > ($T) 0.5 ? whole + 1 : whole;
}
""",
    "mod": """
$T $name($T a, $T b)
{
    $T const remainder = $fmod(a, b);
    if (remainder == 0)
        return $copysign(($T) 0, b);
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
""",
    "min": """
$T $name($T a, $T b)
{
    return (!(a > b) & (b == b)) ? a : b; // without a branch: compilers make vectors of it
}
""",
    "max": """
$T $name($T a, $T b)
{
    return (!(a < b) & (b == b)) ? a : b; // without a branch: compilers make vectors of it
}
""",
    "square": """
$T $name($T a)
{
    return a * a;
}
""",
    "cube": """
$T $name($T a)
{
    return a * a * a;
}
""",
    "fourth_power": """
$T $name($T a)
{
    return a * a * (a * a);
}
""",
    "rsqrt": """
$T $name($T a)
{
    return 1 / $sqrt(a);
}
""",
    "exp10": """
$T $name($T a)
{
    return $pow(($T) 10, a);
}
""",
    "mad": """
$T $name($T a, $T b, $T c)
{
    return a * b + c;
}
""",
    "maxmag": """
$T $name($T a, $T b)
{
    return $fabs(a) > $fabs(b) || b != b ? a : $fabs(a) < $fabs(b) || a != a || a < b ? b : a;
}
""",
    "minmag": """
$T $name($T a, $T b)
{
    return $fabs(a) < $fabs(b) || b != b ? a : $fabs(a) > $fabs(b) || a != a || b < a ? b : a;
}
""",
    "powr": """
$T $name($T a, $T b)
{
    return a < 0 ? $sqrt(a) : $pow(a, b);
}
""",
    "pown": """
$T $name($T a, int exponent)
{
    return $pow(a, ($T) exponent);
}
""",
    "rootn": """
$T $name($T a, int degree)
{
    if (degree % 2 == 0)
        return $pow(a, 1 / ($T) degree);
    return $copysign($pow($fabs(a), 1 / ($T) degree), a);
}
""",
    "sinpi": """
$T $name($T a)
{
    $T const rest = a - 2 * $rint(a / 2);
    if ($fabs(rest) <= ($T) 0.5)
        return $sin(($T) $pi * rest);
    return $copysign($sin(($T) $pi * (1 - $fabs(rest))), rest);
}
""",
    "cospi": """
$T $name($T a)
{
    return $sin(($T) $pi * (($T) 0.5 - $fabs(a - 2 * $rint(a / 2))));
}
""",
    "tanpi": """
$T $name($T a)
{
    return $tan(($T) $pi * (a - $rint(a)));
}
""",
    "acospi": """
$T $name($T a)
{
    return $acos(a) / ($T) $pi;
}
""",
    "asinpi": """
$T $name($T a)
{
    return $asin(a) / ($T) $pi;
}
""",
    "atanpi": """
$T $name($T a)
{
    return $atan(a) / ($T) $pi;
}
""",
    "atan2pi": """
$T $name($T a, $T b)
{
    return $atan2(a, b) / ($T) $pi;
}
""",
}
