//# Operators and functions on integers that a target has no operator for.  They are total, as NumPy's
//# are: dividing by zero gives zero, and the one quotient that does not fit wraps around.  In C, both
//# would end the process.  An integer's negative power, which NumPy refuses, is 1.

//: power i, power u
$T $name($T base, $T exponent)
{
    $U result = 1;
    for ($U factor = ($U) base; exponent > 0; exponent /= 2, factor *= factor) {
        if (exponent % 2 != 0)
            result *= factor;
    }
    return ($T) result;
}

//: square i, square u
$T $name($T a)
{
    return ($T) (($U) a * ($U) a);
}

//: cube i, cube u
$T $name($T a)
{
    return ($T) (($U) a * ($U) a * ($U) a);
}

//: fourth_power i, fourth_power u
$T $name($T a)
{
    $U const square = ($U) a * ($U) a;
    return ($T) (square * square);
}

//: min i, min u
$T $name($T a, $T b)
{
    return a < b ? a : b;
}

//: max i, max u
$T $name($T a, $T b)
{
    return a > b ? a : b;
}

//: shift_left i, shift_left u
$T $name($T a, $T count)
{
    return ($U) count < $bits ? ($T) (($U) a << count) : 0;
}

//: abs_diff i, abs_diff u
$U $name($T a, $T b)
{
    return a > b ? ($U) a - ($U) b : ($U) b - ($U) a;
}

//: bitselect i, bitselect u
$T $name($T a, $T b, $T c)
{
    return (a & ~c) | (b & c);
}

//: clz i, clz u
$T $name($T a)
{
    $T zeros = $bits;
    for ($U rest = ($U) a; rest != 0; rest >>= 1)
        --zeros;
    return zeros;
}

//: ctz i, ctz u
$T $name($T a)
{
    $T zeros = 0;
    for ($U rest = ($U) a; zeros < $bits && rest % 2 == 0; rest >>= 1)
        ++zeros;
    return zeros;
}

//: popcount i, popcount u
$T $name($T a)
{
    $T ones = 0;
    for ($U rest = ($U) a; rest != 0; rest &= rest - 1)
        ++ones;
    return ones;
}

//: hadd i, hadd u
$T $name($T a, $T b)
{
    return (a & b) + ((a ^ b) >> 1);
}

//: rhadd i, rhadd u
$T $name($T a, $T b)
{
    return (a | b) - ((a ^ b) >> 1);
}

//: rotate i, rotate u
$T $name($T a, $T count)
{
    $U const by = ($U) count % $bits;
    return ($T) (($U) (($U) a << by) | ($U) a >> ($bits - by) % $bits);
}

//: mul24 i, mul24 u
$T $name($T a, $T b)
{
    return ($T) (($U) a * ($U) b);
}

//: mad24 i, mad24 u
$T $name($T a, $T b, $T c)
{
    return ($T) (($U) a * ($U) b + ($U) c);
}

//: upsample i, upsample u
$W $name($T upper, $U lower)
{
    return ($W) ((($W) upper * (($W) 1 << $bits)) | lower);
}

//: mul_hi i, mul_hi u
$T $name($T a, $T b)
{
    return ($T) (($W) a * b >> $bits);
}

//: mad_hi i, mad_hi u
$T $name($T a, $T b, $T c)
{
    return ($T) (($U) (($W) a * b >> $bits) + ($U) c);
}

//: floor_div i
$T $name($T a, $T b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return ($T) (0 - ($U) a);
    $T const quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//: floor_div u
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a / b;
}

//: mod i
$T $name($T a, $T b)
{
    if (b == 0 || b == -1)
        return 0;
    $T const remainder = a % b;
    return remainder != 0 && (a < 0) != (b < 0) ? remainder + b : remainder;
}

//: mod u
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}

//: fmod i
$T $name($T a, $T b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

//: fmod u
$T $name($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}

//: abs i
$T $name($T a)
{
    return a < 0 ? ($T) (0 - ($U) a) : a;
}

//: shift_right i
$T $name($T a, $T count)
{
    return ($U) count < $bits ? a >> count : a < 0 ? -1 : 0;
}

//: shift_right u
$T $name($T a, $T count)
{
    return count < $bits ? a >> count : 0;
}

//: sign i
$T $name($T a)
{
    return (a > 0) - (a < 0);
}

//: sign u
$T $name($T a)
{
    return a != 0;
}

//: add_sat i
$T $name($T a, $T b)
{
    $T const sum = ($T) (($U) a + ($U) b);
    if ((a < 0) == (b < 0) && (sum < 0) != (a < 0))
        return a < 0 ? (-($T) (($U) -1 >> 1) - 1) : ($T) (($U) -1 >> 1);
    return sum;
}

//: add_sat u
$T $name($T a, $T b)
{
    $T const sum = ($T) (a + b);
    return sum < a ? ($T) -1 : sum;
}

//: sub_sat i
$T $name($T a, $T b)
{
    $T const difference = ($T) (($U) a - ($U) b);
    if ((a < 0) != (b < 0) && (difference < 0) != (a < 0))
        return a < 0 ? (-($T) (($U) -1 >> 1) - 1) : ($T) (($U) -1 >> 1);
    return difference;
}

//: sub_sat u
$T $name($T a, $T b)
{
    return a < b ? 0 : a - b;
}

//: mad_sat i
$T $name($T a, $T b, $T c)
{
    $W const value = ($W) a * b + c;
    if (value > ($T) (($U) -1 >> 1))
        return ($T) (($U) -1 >> 1);
    return value < (-($T) (($U) -1 >> 1) - 1) ? (-($T) (($U) -1 >> 1) - 1) : ($T) value;
}

//: mad_sat u
$T $name($T a, $T b, $T c)
{
    $W const value = ($W) a * b + c;
    return value > ($T) -1 ? ($T) -1 : ($T) value;
}

//: compare u
int $name($S a, $T b)
{
    if (a < 0 || ($T) a < b)
        return -1;
    return ($T) a > b;
}

//# The upper half of a product, from products of halves: as `high`, without signs.
//: halves
    $U const mask = (($U) 1 << $bits / 2) - 1;
    $U const a_low = ($U) a & mask, a_high = ($U) a >> $bits / 2;
    $U const b_low = ($U) b & mask, b_high = ($U) b >> $bits / 2;
    $U const middle = a_high * b_low + (a_low * b_low >> $bits / 2);
    $U const carry = a_low * b_high + (middle & mask);
    $U high = a_high * b_high + (middle >> $bits / 2) + (carry >> $bits / 2);

//# What two negative numbers add to it when they are taken for positive ones.
//: signs
    high -= (a < 0 ? ($U) b : 0) + (b < 0 ? ($U) a : 0);

//: mul_hi i8
$T $name($T a, $T b)
{
//< halves
//< signs
    return ($T) high;
}

//: mad_hi i8
$T $name($T a, $T b, $T c)
{
//< halves
//< signs
    return ($T) (high + ($U) c);
}

//: mad_sat i8
$T $name($T a, $T b, $T c)
{
//< halves
//< signs
    $U const low = ($U) a * ($U) b + ($U) c;
    high += low < ($U) c;
    high -= c < 0;
    if (high == (($T) low < 0 ? ($U) -1 : 0))
        return ($T) low;
    return ($T) high < 0 ? (-($T) (($U) -1 >> 1) - 1) : ($T) (($U) -1 >> 1);
}

//: mul_hi u8
$T $name($T a, $T b)
{
//< halves
    return ($T) high;
}

//: mad_hi u8
$T $name($T a, $T b, $T c)
{
//< halves
    return ($T) (high + ($U) c);
}

//: mad_sat u8
$T $name($T a, $T b, $T c)
{
//< halves
    $U const low = ($U) a * ($U) b + ($U) c;
    high += low < ($U) c;
    return high != 0 ? ($T) -1 : low;
}
