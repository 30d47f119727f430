//# Complex numbers as vectors of two; `$R` is the type of the parts, `$make(x, y)` makes a vector.
//# Quotients are computed as NumPy computes them (Smith, 1962), the hyperbolic tangent as Kahan does
//# (1987), so that nothing overflows on the way.

//: isnan c
int $name($T a)
{
    return $isnan(a.x) || $isnan(a.y);
}

//: isinf c
int $name($T a)
{
    return $isinf(a.x) || $isinf(a.y);
}

//: isfinite c
int $name($T a)
{
    return $isfinite(a.x) && $isfinite(a.y);
}

//: mul c
$T $name($T a, $T b)
{
    return $make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

//: div c
$T $name($T a, $T b)
{
    if (b.x == 0 && b.y == 0)
        return a / $fabs(b.x);
    if ($fabs(b.x) >= $fabs(b.y)) {
        $R const ratio = b.y / b.x;
        return $make(a.x + a.y * ratio, a.y - a.x * ratio) / (b.x + b.y * ratio);
    }
    $R const ratio = b.x / b.y;
    return $make(a.x * ratio + a.y, a.y * ratio - a.x) / (b.y + b.x * ratio);
}

//: square c
$T $name($T a)
{
    return $make(a.x * a.x - a.y * a.y, 2 * a.x * a.y);
}

//: cube c
$T $name($T a)
{
    $T const square = $make(a.x * a.x - a.y * a.y, 2 * a.x * a.y);
    return $make(a.x * square.x - a.y * square.y, a.x * square.y + a.y * square.x);
}

//: fourth_power c
$T $name($T a)
{
    $T const square = $make(a.x * a.x - a.y * a.y, 2 * a.x * a.y);
    return $make(square.x * square.x - square.y * square.y, 2 * square.x * square.y);
}

//: conj c
$T $name($T a)
{
    return $make(a.x, -a.y);
}

//: sign c
$T $name($T a)
{
    if (!$isinf(a.x) != !$isinf(a.y))
        return $make($isinf(a.x) ? $copysign(($R) 1, a.x) : 0,
            $isinf(a.y) ? $copysign(($R) 1, a.y) : 0);
    return a.x == 0 && a.y == 0 ? $make(0, 0) : a / $hypot(a.x, a.y);
}

//: carg c
$R $name($T a)
{
    return $atan2(a.y, a.x);
}

//: cproj c
$T $name($T a)
{
    return $isinf(a.x) || $isinf(a.y) ? $make(INFINITY, $copysign(($R) 0, a.y)) : a;
}

//: abs c
$R $name($T a)
{
    return $hypot(a.x, a.y);
}

//: exp c
$T $name($T a)
{
    return $exp(a.x) * $make($cos(a.y), $sin(a.y));
}

//: log c
$T $name($T a)
{
    return $make($log($hypot(a.x, a.y)), $atan2(a.y, a.x));
}

//: sqrt c
$T $name($T a)
{
    if (a.x == 0 && a.y == 0)
        return $make(0, a.y);
    $R const root = $sqrt(($fabs(a.x) + $hypot(a.x, a.y)) / 2);
    if (a.x >= 0)
        return $make(root, a.y / (2 * root));
    return $make($fabs(a.y) / (2 * root), $copysign(root, a.y));
}

//: sin c
$T $name($T a)
{
    return $make($sin(a.x) * $cosh(a.y), $cos(a.x) * $sinh(a.y));
}

//: cos c
$T $name($T a)
{
    return $make($cos(a.x) * $cosh(a.y), -$sin(a.x) * $sinh(a.y));
}

//: sinh c
$T $name($T a)
{
    return $make($sinh(a.x) * $cos(a.y), $cosh(a.x) * $sin(a.y));
}

//: cosh c
$T $name($T a)
{
    return $make($cosh(a.x) * $cos(a.y), $sinh(a.x) * $sin(a.y));
}

//: tan c
$T $name($T a)
{
    if ($fabs(a.y) > 20)
        return $make(4 * $sin(a.x) * $cos(a.x) * $exp(-2 * $fabs(a.y)), $copysign(($R) 1, a.y));
    $R const t = $tan(a.x), s = $sinh(a.y), scale = 1 + (1 + t * t) * s * s;
    return $make(t, (1 + t * t) * $cosh(a.y) * s) / scale;
}

//: tanh c
$T $name($T a)
{
    if ($fabs(a.x) > 20)
        return $make($copysign(($R) 1, a.x), 4 * $sin(a.y) * $cos(a.y) * $exp(-2 * $fabs(a.x)));
    $R const t = $tan(a.y), s = $sinh(a.x), scale = 1 + (1 + t * t) * s * s;
    return $make((1 + t * t) * $cosh(a.x) * s, t) / scale;
}

//: pow c
$T $name($T a, $T b)
{
    if (b.x == 0 && b.y == 0)
        return $make(1, 0);
    if (a.x == 0 && a.y == 0 && b.x > 0)
        return $make(0, 0);
    $R const size = $log($hypot(a.x, a.y)), angle = $atan2(a.y, a.x);
    $R const turned = b.y * size + b.x * angle;
    return $exp(b.x * size - b.y * angle) * $make($cos(turned), $sin(turned));
}
