//# What C's own complex numbers need beside the language; `$R` is the type of the parts.

//: isnan c
int $name($T a)
{
    return $isnan($creal(a)) || $isnan($cimag(a));
}

//: isinf c
int $name($T a)
{
    return $isinf($creal(a)) || $isinf($cimag(a));
}

//: isfinite c
int $name($T a)
{
    return $isfinite($creal(a)) && $isfinite($cimag(a));
}

//: sign c
$T $name($T a)
{
    $R const x = $creal(a), y = $cimag(a);
    if (!$isinf(x) != !$isinf(y))
        return ($isinf(x) ? $copysign(($R) 1, x) : 0)
            + ($isinf(y) ? $copysign(($R) 1, y) : 0) * _Complex_I;
    return x == 0 && y == 0 ? 0 : a / $hypot(x, y);
}

//: square c
$T $name($T a)
{
    return a * a;
}

//: cube c
$T $name($T a)
{
    return a * a * a;
}

//: fourth_power c
$T $name($T a)
{
    $T const square = a * a;
    return square * square;
}
