//# OpenCL C that a source begins with, and its helper functions.

//: uncontracted
#pragma OPENCL FP_CONTRACT OFF

//: float64, complex128
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

//: sampler
__constant sampler_t pg_sampler =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

//: shuffle
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable

//: atomic64
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

//: extended64
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

//# Devices need not have halves, only load and store them.
//: half_bits
static inline float pg_half_of_bits(ushort bits)
{
    return vload_half(0, (half const *) &bits);
}
static inline ushort pg_bits_of_half(float a)
{
    ushort bits;
    vstore_half_rte(a, 0, (half *) &bits);
    return bits;
}

//: to_half f
float $name($T a)
{
    ushort bits;
    vstore_half_rte(a, 0, (half *) &bits);
    return vload_half(0, (half const *) &bits);
}

//: from_bfloat16 f
float $name(ushort a)
{
    return as_float((uint) a << 16);
}

//: to_bfloat16 f
ushort $name(float a)
{
    uint const bits = as_uint(a);
    // to the nearest one, to an even one from halfway
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (ushort) (bits >> 16 | 0x40u);
    return (ushort) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

//: sincos f
struct ${name}_results {
    $T r0;
    $T r1;
};

$prefix struct ${name}_results $name($T a)
{
    struct ${name}_results result;
    result.r0 = sincos(a, &result.r1);
    return result;
}

//: retry
{
    volatile $space$U *const $place = (volatile $space$U *) &$at;
    $U $new = *$place, $seen;
    do {
        $seen = $new;
        $begin$old = $number;
        $new = $swap($place, $seen, $bits);
    } while ($new != $seen);
}

//# Numbers of less than 32 bits are swapped with the rest of their word, which has to be as it was.
//: retry part
{
    volatile ${space}uint *const $place = (volatile ${space}uint *) ((size_t) &$at & ~(size_t) 3);
    int const $shift = 8 * (int) ((size_t) &$at & 3);
    uint $new = *$place, $seen;
    do {
        $seen = $new;
        $U const $part = ($U) ($seen >> $shift);
        $begin$old = $number;
        $new = $seen & ~(${mask}u << $shift) | (uint) $bits << $shift;
        $new = atomic_cmpxchg($place, $seen, $new);
    } while ($new != $seen);
}
