//# C that a source begins with, and its helper functions.

//# GCC 12 fuses products with sums and differences that alternate, as in complex products, whatever
//# its option says, if there is an instruction.
//: uncontracted
// To be compiled with -ffp-contract=off: no product is fused with a sum.
#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("no-fma,no-fma4,no-avx512f")
#endif

//: bool
#include <stdbool.h>

//: int8, uint8, int16, uint16, uint32, int64, uint64, bfloat16
#include <stdint.h>

//# I may be the name of a variable.
//: complex64, complex128
#include <complex.h>
#undef I

//# Each operation on halves is rounded.  With AVX512-FP16, GCC contracts them, and GCC 12 drops
//# conversions to halves and back where it finds vectors in straight-line code.
//: float16
#if defined(__AVX512FP16__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("no-avx512fp16")
#endif
__extension__ typedef _Float16 half;

//: math
#include <math.h>

//: team
#ifdef _OPENMP
#include <omp.h>
#include <sched.h>
#endif

//: uint32x2
typedef struct { uint32_t x, y; } pg_uint32x2;

//: uint32x4
typedef struct { uint32_t x, y, z, w; } pg_uint32x4;

//: uint64x2
typedef struct { uint64_t x, y; } pg_uint64x2;

//: uint64x4
typedef struct { uint64_t x, y, z, w; } pg_uint64x4;

//: float32x2
typedef struct { float x, y; } pg_float32x2;

//: float32x4
typedef struct { float x, y, z, w; } pg_float32x4;

//: float64x2
typedef struct { double x, y; } pg_float64x2;

//: float64x4
typedef struct { double x, y, z, w; } pg_float64x4;

//: team_waits
static inline void pg_wait_for_team(int *team)
{
#ifdef _OPENMP
    int const round = __atomic_load_n(&team[16], __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&team[0], 1, __ATOMIC_ACQ_REL) == omp_get_num_threads()) {
        __atomic_store_n(&team[0], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team[16], round + 1, __ATOMIC_RELEASE);
    }
    for (int left = 2000; __atomic_load_n(&team[16], __ATOMIC_ACQUIRE) == round; left -= left > 0) {
        if (left == 0)
            sched_yield(); // there may be more threads than processors
    }
#else
    (void) team;
#endif
}

//: to_half f
float $name($T a)
{
    return (half) a;
}

//: from_bfloat16 f
float $name(uint16_t a)
{
    union { uint32_t bits; float value; } const both = {.bits = (uint32_t) a << 16};
    return both.value;
}

//: to_bfloat16 f
uint16_t $name(float a)
{
    union { float value; uint32_t bits; } const both = {.value = a};
    uint32_t const bits = both.bits;
    // to the nearest one, to an even one from halfway
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t) (bits >> 16 | 0x40u);
    return (uint16_t) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

//: retry
{
    $M $seen, $new;
    __atomic_load(&$at, &$seen, __ATOMIC_RELAXED);
    do {
        $begin$old = $number;
        $new = $bits;
    } while (!__atomic_compare_exchange(&$at, &$seen, &$new, 0, $order, __ATOMIC_RELAXED));
}

//: exchange
$T $new = $x;
$T $old;
__atomic_exchange(&$at, &$new, &$old, $order);

//: compare_exchange
$T $new = $x;
$T $old = $expected;
__atomic_compare_exchange(&$at, &$old, &$new, 0, $order, __ATOMIC_RELAXED);
