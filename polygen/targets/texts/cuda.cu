//# CUDA C++ that a source begins with, and its helper functions.  Types are as large and as aligned as
//# NumPy's and OpenCL's are, or less aligned.

//: uncontracted
// To be compiled with --fmad=false: no product is fused with a sum.

//# A launch may be started while those before it are at work: it waits until they are over, and then
//# lets the next one start.
//: early
// What was launched before is over after this; what is launched next may begin.
__device__ inline void pg_after_other_launches()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

//# What math.h calls them; NVRTC has no headers.
//: math
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

//# Computed with as a float.  The conversions are those of CUDA's own library of device code, which
//# NVRTC has without headers: the compiler makes equal ones once, as it does no instruction in `asm`.
//: float16
extern "C" __device__ unsigned short __nv_float2half_rn(float a);
extern "C" __device__ float __nv_half2float(unsigned short a);
struct pg_half {
    unsigned short bits;

    pg_half() = default;
    template <typename T>
    __device__ explicit pg_half(T a) { *this = (float) a; }
    __device__ explicit pg_half(double a) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(a)); }
    __device__ pg_half &operator=(float a)
    {
        bits = __nv_float2half_rn(a);
        return *this;
    }
    __device__ operator float() const { return __nv_half2float(bits); }
};

//# Halves are kept in registers because they are small; what they were converted to is not.
//: read_again
// Compilers take it that the numbers may be others after this: they convert them again.
template <typename T, int count>
__device__ inline void pg_read_again(T (&a)[count])
{
    for (int k = 0; k < count; k += 2) {
        unsigned int two = 0;
        int const size = (k + 1 < count ? 2 : 1) * sizeof(T);
        memcpy(&two, &a[k], size);
        asm volatile("" : "+r"(two));
        memcpy(&a[k], &two, size);
    }
}

//: complex64, complex128
template <typename T>
struct alignas(2 * sizeof(T)) pg_complex {
    T x, y;

    pg_complex() = default;
    __device__ constexpr pg_complex(T x, T y) : x(x), y(y) {}
    template <typename U>
    __device__ explicit pg_complex(pg_complex<U> a) : x((T) a.x), y((T) a.y) {}
    __device__ pg_complex &operator+=(pg_complex a) { return *this = *this + a; }
    __device__ pg_complex &operator-=(pg_complex a) { return *this = *this - a; }
    __device__ pg_complex &operator*=(T a) { return *this = *this * a; }
    __device__ pg_complex &operator/=(T a) { return *this = *this / a; }
    __device__ pg_complex operator-() const { return pg_complex(-x, -y); }
    __device__ bool operator==(pg_complex a) const { return x == a.x && y == a.y; }
    __device__ bool operator!=(pg_complex a) const { return x != a.x || y != a.y; }
};
template <typename T> struct pg_number { typedef T type; };
template <typename T>
__device__ inline pg_complex<T> operator+(pg_complex<T> a, pg_complex<T> b)
{
    return pg_complex<T>(a.x + b.x, a.y + b.y);
}
template <typename T>
__device__ inline pg_complex<T> operator-(pg_complex<T> a, pg_complex<T> b)
{
    return pg_complex<T>(a.x - b.x, a.y - b.y);
}
template <typename T>
__device__ inline pg_complex<T> operator*(typename pg_number<T>::type a, pg_complex<T> b)
{
    return pg_complex<T>(a * b.x, a * b.y);
}
template <typename T>
__device__ inline pg_complex<T> operator*(pg_complex<T> a, typename pg_number<T>::type b)
{
    return pg_complex<T>(a.x * b, a.y * b);
}
template <typename T>
__device__ inline pg_complex<T> operator/(pg_complex<T> a, typename pg_number<T>::type b)
{
    return pg_complex<T>(a.x / b, a.y / b);
}

//: uint32x2
struct pg_uint32x2 { unsigned int x, y; };

//: uint32x4
struct pg_uint32x4 { unsigned int x, y, z, w; };

//: uint64x2
struct pg_uint64x2 { unsigned long long x, y; };

//: uint64x4
struct pg_uint64x4 { unsigned long long x, y, z, w; };

//: float32x2
struct pg_float32x2 { float x, y; };

//: float32x4
struct pg_float32x4 { float x, y, z, w; };

//: float64x2
struct pg_float64x2 { double x, y; };

//: float64x4
struct pg_float64x4 { double x, y, z, w; };

//# The bits of a number as one of another type of the same size.
//: bits
template <typename To, typename From>
__device__ inline To pg_bits(From a)
{
    To b;
    memcpy(&b, &a, sizeof b);
    return b;
}

//# CUDA C++ has a name for it only where there are headers.
//: add_half
__device__ inline void pg_add_half(void *at, float a)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));
    asm volatile("red.relaxed.gpu.add.noftz.f16 [%0], %1;" :: "l"(at), "h"(bits) : "memory");
}

//# What a work item begins to copy is there, for itself, when it has waited; large copies leave out
//# the first cache.
//: copies
template <typename T>
__device__ inline void pg_copy(T *to, T const *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned int const at = (unsigned int) __cvta_generic_to_shared(to);
    if (sizeof(T) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :: "r"(at), "l"(from), "n"(sizeof(T)) : "memory");
#else
    *to = *from;
#endif
}
__device__ inline void pg_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

//# Each work item of a warp (threadIdx.x: 4, threadIdx.y: 8) passes a part of two matrices, of 8 or
//# 16 rows and of 8 columns, and has a part of the sum: see `polygen.lower.tensor_products`.  Devices
//# without such instructions read the registers of others.
//: multiply_float64
template <int sums, int lefts, int rights>
__device__ inline void pg_multiply_float64(double *const (&&c)[sums], double const (&&a)[lefts],
                                           double const (&&b)[rights])
{
    constexpr int rows = sums / 2;
    static_assert(lefts == rows * rights, "8 rows for each number of a column");
#if __CUDA_ARCH__ >= 900
    if constexpr (rows == 2 && rights == 4) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(*c[0]), "+d"(*c[1]), "+d"(*c[2]), "+d"(*c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                       "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    } else if constexpr (rows == 2 && rights == 2) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+d"(*c[0]), "+d"(*c[1]), "+d"(*c[2]), "+d"(*c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    } else if constexpr (rows == 2) {
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+d"(*c[0]), "+d"(*c[1]), "+d"(*c[2]), "+d"(*c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(b[0]));
    } else
#endif
    for (int k = 0; k < rights; ++k)
        for (int h = 0; h < rows; ++h) {
#if __CUDA_ARCH__ >= 800
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                         "{%0, %1};"
                         : "+d"(*c[2 * h]), "+d"(*c[2 * h + 1]) : "d"(a[k * rows + h]), "d"(b[k]));
#else
            int const row = threadIdx.y % 8 * 4, column = threadIdx.x * 8;
            for (int t = 0; t < 4; ++t) {
                double const left = __shfl_sync(0xffffffffu, a[k * rows + h], row + t);
                for (int v = 0; v < 2; ++v)
                    *c[2 * h + v] += left * __shfl_sync(0xffffffffu, b[k], column + 4 * v + t);
            }
#endif
        }
}

//: multiply_tf32
__device__ inline unsigned int pg_to_tf32(float a)
{
    unsigned int bits;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(a));
#else
    memcpy(&bits, &a, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + 0x1000u) & 0xffffe000u;
#endif
    return bits;
}
template <int sums, int lefts, int rights>
__device__ inline void pg_multiply_tf32(float *const (&&c)[sums], float const (&&a)[lefts],
                                        float const (&&b)[rights])
{
    constexpr int rows = sums / 2;
    static_assert(lefts == rows * rights, "8 rows for each number of a column");
    unsigned int left[2 * rights], right[rights];
    for (int k = 0; k < rights; ++k) {
        right[k] = pg_to_tf32(b[k]);
        for (int h = 0; h < 2; ++h)
            left[2 * k + h] = h < rows ? pg_to_tf32(a[k * rows + h % rows]) : 0u;
    }
#if __CUDA_ARCH__ >= 800
    float none = 0.0f;
    float &c2 = rows == 2 ? *c[sums - 2] : none, &c3 = rows == 2 ? *c[sums - 1] : none;
    if constexpr (rights == 2)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(*c[0]), "+f"(*c[1]), "+f"(c2), "+f"(c3)
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]),
                       "r"(right[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                     "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(*c[0]), "+f"(*c[1]), "+f"(c2), "+f"(c3)
                     : "r"(left[0]), "r"(left[1]), "r"(right[0]));
#else
    int const row = threadIdx.y % 8 * 4, column = threadIdx.x * 8;
    for (int k = 0; k < rights; ++k)
        for (int t = 0; t < 4; ++t)
            for (int h = 0; h < rows; ++h)
                for (int v = 0; v < 2; ++v)
                    *c[2 * h + v] +=
                        __uint_as_float(__shfl_sync(0xffffffffu, left[2 * k + h], row + t)) *
                        __uint_as_float(__shfl_sync(0xffffffffu, right[k], column + 4 * v + t));
#endif
}

//# Of a matrix of numbers of 16 bits, a work item passes these; 8 work items each name the rows of a
//# matrix of 8 x 8, of which there are 2 or 4 in a load.
//: parts
template <int registers> struct pg_parts {
    unsigned int at[registers];
};
template <int columns, int registers, int loads>
__device__ inline void pg_load_matrices(pg_parts<registers> &to, void const *const (&&rows)[loads])
{
    constexpr int each = registers / loads;
    for (int n = 0; n < loads; ++n) {
        unsigned int *const at = to.at + n * each;
#if __CUDA_ARCH__ >= 800
        unsigned int const row = (unsigned int) __cvta_generic_to_shared(rows[n]);
        if constexpr (each == 4 && columns)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3]) : "r"(row) : "memory");
        else if constexpr (each == 4)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3]) : "r"(row) : "memory");
        else if constexpr (columns != 0)
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                         : "=r"(at[0]), "=r"(at[1]) : "r"(row) : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                         : "=r"(at[0]), "=r"(at[1]) : "r"(row) : "memory");
#else
        int const x = threadIdx.x, y = threadIdx.y % 8;
        unsigned long long const own = (unsigned long long) rows[n];
        for (int m = 0; m < each; ++m) {
            at[m] = 0;
            for (int e = 0; e < 2; ++e) {
                int const lane = 8 * m + (columns ? 2 * x + e : y), place = columns ? y : 2 * x + e;
                unsigned short const *const row =
                    (unsigned short const *) __shfl_sync(0xffffffffu, own, lane);
                at[m] |= (unsigned int) row[place] << 16 * e;
            }
        }
#endif
    }
}

//: multiply_float16
template <int sums, int lefts, int rights>
__device__ inline void pg_multiply_float16(float *const (&&c)[sums], pg_parts<lefts> const &a,
                                          pg_parts<rights> const &b)
{
    static_assert(sums == 4 && lefts == 2 * rights, "16 rows and 8 columns");
    for (int k = 0; k < rights / 2; ++k) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(*c[0]), "+f"(*c[1]), "+f"(*c[2]), "+f"(*c[3])
                     : "r"(a.at[4 * k]), "r"(a.at[4 * k + 1]), "r"(a.at[4 * k + 2]),
                       "r"(a.at[4 * k + 3]), "r"(b.at[2 * k]), "r"(b.at[2 * k + 1]));
#else
        int const row = threadIdx.y % 8 * 4, column = threadIdx.x * 8;
        for (int n = 0; n < 64; ++n) {
            int const t = n % 4, e = n / 4 % 2, p = n / 8 % 2, h = n / 16 % 2, v = n / 32;
            unsigned int const two = __shfl_sync(0xffffffffu, a.at[4 * k + 2 * p + h], row + t);
            unsigned int const other =
                __shfl_sync(0xffffffffu, b.at[2 * k + p], column + 4 * v + t);
            unsigned short const x = (unsigned short) (two >> 16 * e);
            unsigned short const y = (unsigned short) (other >> 16 * e);
            pg_half left, right;
            memcpy(&left, &x, sizeof left);
            memcpy(&right, &y, sizeof right);
            *c[2 * h + v] += (float) left * (float) right;
        }
#endif
    }
}

//: multiply_bfloat16
template <int sums, int lefts, int rights>
__device__ inline void pg_multiply_bfloat16(float *const (&&c)[sums], pg_parts<lefts> const &a,
                                           pg_parts<rights> const &b)
{
    static_assert(sums == 4 && lefts == 2 * rights, "16 rows and 8 columns");
    for (int k = 0; k < rights / 2; ++k) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(*c[0]), "+f"(*c[1]), "+f"(*c[2]), "+f"(*c[3])
                     : "r"(a.at[4 * k]), "r"(a.at[4 * k + 1]), "r"(a.at[4 * k + 2]),
                       "r"(a.at[4 * k + 3]), "r"(b.at[2 * k]), "r"(b.at[2 * k + 1]));
#else
        int const row = threadIdx.y % 8 * 4, column = threadIdx.x * 8;
        for (int n = 0; n < 64; ++n) {
            int const t = n % 4, e = n / 4 % 2, p = n / 8 % 2, h = n / 16 % 2, v = n / 32;
            unsigned int const two = __shfl_sync(0xffffffffu, a.at[4 * k + 2 * p + h], row + t);
            unsigned int const other =
                __shfl_sync(0xffffffffu, b.at[2 * k + p], column + 4 * v + t);
            unsigned short const x = (unsigned short) (two >> 16 * e);
            unsigned short const y = (unsigned short) (other >> 16 * e);
            *c[2 * h + v] += __uint_as_float((unsigned int) x << 16) *
                             __uint_as_float((unsigned int) y << 16);
        }
#endif
    }
}

//: vectors
template <typename T, int n>
struct alignas(sizeof(T) * (n == 3 ? 4 : n) < 16 ? sizeof(T) * (n == 3 ? 4 : n) : 16) pg_vector {
    typedef T number;
    static constexpr int count = n;
    T at[n];

    __device__ T &operator[](int k) { return at[k]; }
    __device__ T const &operator[](int k) const { return at[k]; }
    __device__ pg_vector operator-() const
    {
        pg_vector a;
        for (int k = 0; k < n; ++k)
            a[k] = (T) -at[k];
        return a;
    }
    __device__ pg_vector operator~() const
    {
        pg_vector a;
        for (int k = 0; k < n; ++k)
            a[k] = (T) ~at[k];
        return a;
    }
};
template <typename T> struct pg_lane { typedef T type; };
template <int size> struct pg_integer { typedef int type; };
template <> struct pg_integer<8> { typedef long long type; };
template <typename T> using pg_truth = typename pg_integer<sizeof(T)>::type;
template <typename V, typename... N>
__device__ inline V pg_lanes(N... numbers)
{
    return V{{(typename V::number) numbers...}};
}
template <typename V, typename N>
__device__ inline V pg_same(N number)
{
    V a;
    for (int k = 0; k < V::count; ++k)
        a[k] = (typename V::number) number;
    return a;
}
template <typename V, typename W>
__device__ inline V pg_convert(W a)
{
    V b;
    for (int k = 0; k < V::count; ++k)
        b[k] = (typename V::number) a[k];
    return b;
}
template <typename T> __device__ inline T pg_chosen(T a) { return a; }
__device__ inline int pg_chosen(int a)
{
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1305
    asm("{ .reg .b64 wide; cvt.s64.s32 wide, %0; cvt.u32.u64 %0, wide; }" : "+r"(a));
#endif
    return a;
}
template <typename M, typename V>
__device__ inline V pg_select(M chosen, V a, V b)
{
    for (int k = 0; k < V::count; ++k)
        a[k] = pg_chosen(chosen[k] ? a[k] : b[k]);
    return a;
}
template <typename V, typename T>
__device__ inline V pg_load(T const *from)
{
    V a;
    for (int k = 0; k < V::count; ++k)
        a[k] = from[k];
    return a;
}
template <typename V, typename T>
__device__ inline void pg_store(T *to, V a)
{
    for (int k = 0; k < V::count; ++k)
        to[k] = a[k];
}
#define PG_LANEWISE(op, R, Result) \
template <typename T, int n> \
__device__ inline pg_vector<R, n> operator op(pg_vector<T, n> a, pg_vector<T, n> b) \
{ \
    pg_vector<R, n> c; \
    for (int k = 0; k < n; ++k) \
        c[k] = Result; \
    return c; \
} \
template <typename T, int n> \
__device__ inline auto operator op(pg_vector<T, n> a, typename pg_lane<T>::type b) \
{ \
    return a op pg_same<pg_vector<T, n>>(b); \
} \
template <typename T, int n> \
__device__ inline auto operator op(typename pg_lane<T>::type a, pg_vector<T, n> b) \
{ \
    return pg_same<pg_vector<T, n>>(a) op b; \
}
PG_LANEWISE(+, T, (T) (a[k] + b[k]))
PG_LANEWISE(-, T, (T) (a[k] - b[k]))
PG_LANEWISE(*, T, (T) (a[k] * b[k]))
PG_LANEWISE(/, T, (T) (a[k] / b[k]))
PG_LANEWISE(%, T, (T) (a[k] % b[k]))
PG_LANEWISE(&, T, (T) (a[k] & b[k]))
PG_LANEWISE(|, T, (T) (a[k] | b[k]))
PG_LANEWISE(^, T, (T) (a[k] ^ b[k]))
PG_LANEWISE(<<, T, (T) (a[k] << b[k]))
PG_LANEWISE(>>, T, (T) (a[k] >> b[k]))
PG_LANEWISE(==, pg_truth<T>, -(a[k] == b[k]))
PG_LANEWISE(!=, pg_truth<T>, -(a[k] != b[k]))
PG_LANEWISE(<, pg_truth<T>, -(a[k] < b[k]))
PG_LANEWISE(>, pg_truth<T>, -(a[k] > b[k]))
PG_LANEWISE(<=, pg_truth<T>, -(a[k] <= b[k]))
PG_LANEWISE(>=, pg_truth<T>, -(a[k] >= b[k]))
#define PG_LANEWISE_ASSIGNED(op) \
template <typename T, int n, typename U> \
__device__ inline pg_vector<T, n> &operator op##=(pg_vector<T, n> &a, U b) \
{ \
    return a = a op b; \
}
PG_LANEWISE_ASSIGNED(+)
PG_LANEWISE_ASSIGNED(-)
PG_LANEWISE_ASSIGNED(*)
PG_LANEWISE_ASSIGNED(/)
PG_LANEWISE_ASSIGNED(%)
PG_LANEWISE_ASSIGNED(&)
PG_LANEWISE_ASSIGNED(|)
PG_LANEWISE_ASSIGNED(^)
PG_LANEWISE_ASSIGNED(<<)
PG_LANEWISE_ASSIGNED(>>)
#undef PG_LANEWISE
#undef PG_LANEWISE_ASSIGNED

//: to_half f
float $name($T a)
{
    return pg_half(a);
}

//: from_bfloat16 f
float $name(unsigned short a)
{
    return __uint_as_float((unsigned int) a << 16);
}

//: to_bfloat16 f
unsigned short $name(float a)
{
    unsigned int const bits = __float_as_uint(a);
    // to the nearest one, to an even one from halfway
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short) (bits >> 16 | 0x40u);
    return (unsigned short) ((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

//: min i4
int $name(int a, int b)
{
    int c = a < b ? a : b;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1305
    asm("{ .reg .b64 wide; cvt.s64.s32 wide, %0; cvt.u32.u64 %0, wide; }" : "+r"(c));
#endif
    return c;
}

//: max i4
int $name(int a, int b)
{
    int c = a > b ? a : b;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1305
    asm("{ .reg .b64 wide; cvt.s64.s32 wide, %0; cvt.u32.u64 %0, wide; }" : "+r"(c));
#endif
    return c;
}

//# An instruction each, which CUDA C++ has no name for; subnormal numbers count as zeros.
//: native_exp2 f4
float $name(float a)
{
    float b;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(a));
    return b;
}

//: native_recip f4
float $name(float a)
{
    float b;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(a));
    return b;
}

//: native_rsqrt f4
float $name(float a)
{
    float b;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(a));
    return b;
}

//: native_sqrt f4
float $name(float a)
{
    float b;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(a));
    return b;
}

//: retry
{
    $U *const $place = ($U *) &$at;
    $U $new = *$place, $seen;
    ${before}do {
        $seen = $new;
        $begin$old = $number;
        $new = atomicCAS$scope($place, $seen, $bits);
    } while ($new != $seen);$after
}

//# A byte is swapped with the three others of its word, which have to be as they were.
//: retry part
{
    unsigned int *const $place = (unsigned int *) ((size_t) &$at & ~(size_t) 3);
    int const $shift = 8 * (int) ((size_t) &$at & 3);
    unsigned int $new = *$place, $seen;
    ${before}do {
        $seen = $new;
        $U const $part = ($U) ($seen >> $shift);
        $begin$old = $number;
        $new = $seen & ~(${mask}u << $shift) | (unsigned int) $bits << $shift;
        $new = atomicCAS$scope($place, $seen, $new);
    } while ($new != $seen);$after
}
