//# Functions with two results, which are members of a structure.

//: sincos f
struct ${name}_results {
    $T r0;
    $T r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r0 = $sin(a);
    result.r1 = $cos(a);
    return result;
}

//: modf f
struct ${name}_results {
    $T r0;
    $T r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r0 = $modf(a, &result.r1);
    return result;
}

//# The fraction of a small negative number may not be rounded to 1.
//: fract f
struct ${name}_results {
    $T r0;
    $T r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r1 = $floor(a);
    result.r0 = a - result.r1;
    if (a == 0 || isinf(a))
        result.r0 = $copysign(($T) 0, a);
    else if (result.r0 > $below_one)
        result.r0 = $below_one;
    return result;
}

//: fract_half f
struct ${name}_results {
    $T r0;
    $T r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r1 = $floor(a);
    result.r0 = a - result.r1;
    if (a == 0 || isinf(a))
        result.r0 = $copysign(($T) 0, a);
    else if (result.r0 > 0x1.ffcp-1f)
        result.r0 = 0x1.ffcp-1f;
    return result;
}

//: frexp f
struct ${name}_results {
    $T r0;
    int r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r0 = $frexp(a, &result.r1);
    if (!isfinite(a))
        result.r1 = 0;
    return result;
}

//: lgamma_r f
struct ${name}_results {
    $T r0;
    int r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r0 = $lgamma(a);
    $T const whole = $floor(a);
    if (a <= 0 && a == whole)
        result.r1 = 0;
    else
        result.r1 = a < 0 && whole != 2 * $floor(whole / 2) ? -1 : 1;
    return result;
}

//# Multiples of 128 of the divisor are left out first: the quotient is then exact.
//: remquo f
struct ${name}_results {
    $T r0;
    int r1;
};

$prefix struct ${name}_results $name($T a, $T b)
{
    struct ${name}_results result;
    $T const divisor = $fabs(b), rest = $fmod($fabs(a), 128 * divisor);
    result.r0 = $remainder(a, b);
    if (isnan(result.r0)) {
        result.r1 = 0;
    } else {
        int const quotient =
            (int) $rint(rest / divisor - $remainder(rest, divisor) / divisor) % 128;
        result.r1 = (a < 0) != (b < 0) ? -quotient : quotient;
    }
    return result;
}
