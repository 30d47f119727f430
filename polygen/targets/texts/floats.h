//# Operators and functions on floats that a target has no operator for.  Minima and maxima are not a
//# number if an operand is none; `fmin` and `fmax` differ there, and in gcc they are calls of a library.

//: floor_div f
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

//: mod f
$T $name($T a, $T b)
{
    $T const remainder = $fmod(a, b);
    if (remainder == 0)
        return $copysign(($T) 0, b);
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

//: min f
$T $name($T a, $T b)
{
    return (!(a > b) & (b == b)) ? a : b; // without a branch: compilers make vectors of it
}

//: max f
$T $name($T a, $T b)
{
    return (!(a < b) & (b == b)) ? a : b; // without a branch: compilers make vectors of it
}

//: square f
$T $name($T a)
{
    return a * a;
}

//: cube f
$T $name($T a)
{
    return a * a * a;
}

//: fourth_power f
$T $name($T a)
{
    return a * a * (a * a);
}

//: rsqrt f
$T $name($T a)
{
    return 1 / $sqrt(a);
}

//: exp10 f
$T $name($T a)
{
    return $pow(($T) 10, a);
}

//: mad f
$T $name($T a, $T b, $T c)
{
    return a * b + c;
}

//: maxmag f
$T $name($T a, $T b)
{
    return $fabs(a) > $fabs(b) || b != b ? a : $fabs(a) < $fabs(b) || a != a || a < b ? b : a;
}

//: minmag f
$T $name($T a, $T b)
{
    return $fabs(a) < $fabs(b) || b != b ? a : $fabs(a) > $fabs(b) || a != a || b < a ? b : a;
}

//: powr f
$T $name($T a, $T b)
{
    return a < 0 ? $sqrt(a) : $pow(a, b);
}

//: pown f
$T $name($T a, int exponent)
{
    return $pow(a, ($T) exponent);
}

//: rootn f
$T $name($T a, int degree)
{
    if (degree % 2 == 0)
        return $pow(a, 1 / ($T) degree);
    return $copysign($pow($fabs(a), 1 / ($T) degree), a);
}

//: sinpi f
$T $name($T a)
{
    $T const rest = a - 2 * $rint(a / 2);
    if ($fabs(rest) <= ($T) 0.5)
        return $sin(($T) $pi * rest);
    return $copysign($sin(($T) $pi * (1 - $fabs(rest))), rest);
}

//: cospi f
$T $name($T a)
{
    return $sin(($T) $pi * (($T) 0.5 - $fabs(a - 2 * $rint(a / 2))));
}

//: tanpi f
$T $name($T a)
{
    return $tan(($T) $pi * (a - $rint(a)));
}

//: acospi f
$T $name($T a)
{
    return $acos(a) / ($T) $pi;
}

//: asinpi f
$T $name($T a)
{
    return $asin(a) / ($T) $pi;
}

//: atanpi f
$T $name($T a)
{
    return $atan(a) / ($T) $pi;
}

//: atan2pi f
$T $name($T a, $T b)
{
    return $atan2(a, b) / ($T) $pi;
}

//# 65504 is the largest half, and 2^-24 the least.
//: nextafter_half f
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

//: sign f
$T $name($T a)
{
    return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? a : 0;
}

//: degrees f
$T $name($T a)
{
    return a * ($T) (180 / $pi);
}

//: radians f
$T $name($T a)
{
    return a * ($T) ($pi / 180);
}

//: mix f
$T $name($T a, $T b, $T share)
{
    return a + (b - a) * share;
}

//: step f
$T $name($T edge, $T a)
{
    return a < edge ? 0 : 1;
}

//: smoothstep f
$T $name($T low, $T high, $T a)
{
    $T const share = (a - low) / (high - low);
    $T const bounded = share < 0 ? 0 : share > 1 ? 1 : share;
    return bounded * bounded * (3 - 2 * bounded);
}
