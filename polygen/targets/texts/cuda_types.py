"""Types of CUDA C++ that the generated source defines: those, and only those, that it uses.

They are as large and as aligned as NumPy's and OpenCL's are, or less aligned.
"""

from __future__ import annotations

# Computed with as a float.  The conversions are those of CUDA's own library of device code, which
# NVRTC has without headers: the compiler makes equal ones once, as it does no instruction in `asm`.
HALF = """
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
};""".strip()

_COMPLEX_OPERATORS = "\n".join(
    f"""template <typename T>
__device__ inline pg_complex<T> operator{sign}({left} a, {right} b)
{{
    return pg_complex<T>({x}, {y});
}}"""
    for sign, left, right, x, y in (
        ("+", "pg_complex<T>", "pg_complex<T>", "a.x + b.x", "a.y + b.y"),
        ("-", "pg_complex<T>", "pg_complex<T>", "a.x - b.x", "a.y - b.y"),
        ("*", "typename pg_number<T>::type", "pg_complex<T>", "a * b.x", "a * b.y"),
        ("*", "pg_complex<T>", "typename pg_number<T>::type", "a.x * b", "a.y * b"),
        ("/", "pg_complex<T>", "typename pg_number<T>::type", "a.x / b", "a.y / b"),
    )
)

COMPLEX = f"""
template <typename T>
struct alignas(2 * sizeof(T)) pg_complex {{
    T x, y;

    pg_complex() = default;
    __device__ constexpr pg_complex(T x, T y) : x(x), y(y) {{}}
    template <typename U>
    __device__ explicit pg_complex(pg_complex<U> a) : x((T) a.x), y((T) a.y) {{}}
    __device__ pg_complex &operator+=(pg_complex a) {{ return *this = *this + a; }}
    __device__ pg_complex &operator-=(pg_complex a) {{ return *this = *this - a; }}
    __device__ pg_complex &operator*=(T a) {{ return *this = *this * a; }}
    __device__ pg_complex &operator/=(T a) {{ return *this = *this / a; }}
    __device__ pg_complex operator-() const {{ return pg_complex(-x, -y); }}
    __device__ bool operator==(pg_complex a) const {{ return x == a.x && y == a.y; }}
    __device__ bool operator!=(pg_complex a) const {{ return x != a.x || y != a.y; }}
}};
template <typename T> struct pg_number {{ typedef T type; }};
{_COMPLEX_OPERATORS}
""".strip()

# The bits of a number as one of another type of the same size.
BITS = """
template <typename To, typename From>
__device__ inline To pg_bits(From a)
{
    To b;
    memcpy(&b, &a, sizeof b);
    return b;
}""".strip()

# CUDA C++ has a name for it only where there are headers.
ADD_HALF = """
__device__ inline void pg_add_half(void *at, float a)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));
    asm volatile("red.relaxed.gpu.add.noftz.f16 [%0], %1;" :: "l"(at), "h"(bits) : "memory");
}""".strip()

# What a work item begins to copy is there, for itself, when it has waited; large copies leave out
# the first cache.
COPIES = """
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
}""".strip()

# A launch may be started while those before it are at work: it waits until they are over, and then
# lets the next one start.
EARLY = """
// What was launched before is over after this; what is launched next may begin.
__device__ inline void pg_after_other_launches()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}""".strip()

# What math.h calls them; NVRTC has no headers.
INFINITIES = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif""".strip()


def _operators() -> str:
    """Return operators of vectors, and of a vector and a number."""
    macro = """
#define PG_LANEWISE(op, R, Result) \\
template <typename T, int n> \\
__device__ inline pg_vector<R, n> operator op(pg_vector<T, n> a, pg_vector<T, n> b) \\
{ \\
    pg_vector<R, n> c; \\
    for (int k = 0; k < n; ++k) \\
        c[k] = Result; \\
    return c; \\
} \\
template <typename T, int n> \\
__device__ inline auto operator op(pg_vector<T, n> a, typename pg_lane<T>::type b) \\
{ \\
    return a op pg_same<pg_vector<T, n>>(b); \\
} \\
template <typename T, int n> \\
__device__ inline auto operator op(typename pg_lane<T>::type a, pg_vector<T, n> b) \\
{ \\
    return pg_same<pg_vector<T, n>>(a) op b; \\
}""".strip()
    arithmetic = [f"PG_LANEWISE({op}, T, (T) (a[k] {op} b[k]))" for op in _ARITHMETIC]
    compared = [f"PG_LANEWISE({op}, pg_truth<T>, -(a[k] {op} b[k]))" for op in _COMPARISONS]
    assigned = [f"PG_LANEWISE_ASSIGNED({op})" for op in _ARITHMETIC]
    over = [f"#undef PG_LANEWISE{more}" for more in ("", "_ASSIGNED")]
    return "\n".join([macro, *arithmetic, *compared, _ASSIGNED, *assigned, *over])


# ptxas 12.9 and 13.0 compute max(max(a, b), c) for max(max(a, -b), c) from sm_90 on; 13.5 does not.
# They do not see that an ``int`` that is converted here and back is an extremum.
HIDE = """#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1305
    asm("{{ .reg .b64 wide; cvt.s64.s32 wide, %0; cvt.u32.u64 %0, wide; }}" : "+r"({0}));
#endif"""

_ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
_ASSIGNED = """
#define PG_LANEWISE_ASSIGNED(op) \\
template <typename T, int n, typename U> \\
__device__ inline pg_vector<T, n> &operator op##=(pg_vector<T, n> &a, U b) \\
{ \\
    return a = a op b; \\
}""".strip()

VECTOR = f"""
template <typename T, int n>
struct alignas(sizeof(T) * (n == 3 ? 4 : n) < 16 ? sizeof(T) * (n == 3 ? 4 : n) : 16) pg_vector {{
    typedef T number;
    static constexpr int count = n;
    T at[n];

    __device__ T &operator[](int k) {{ return at[k]; }}
    __device__ T const &operator[](int k) const {{ return at[k]; }}
    __device__ pg_vector operator-() const
    {{
        pg_vector a;
        for (int k = 0; k < n; ++k)
            a[k] = (T) -at[k];
        return a;
    }}
    __device__ pg_vector operator~() const
    {{
        pg_vector a;
        for (int k = 0; k < n; ++k)
            a[k] = (T) ~at[k];
        return a;
    }}
}};
template <typename T> struct pg_lane {{ typedef T type; }};
template <int size> struct pg_integer {{ typedef int type; }};
template <> struct pg_integer<8> {{ typedef long long type; }};
template <typename T> using pg_truth = typename pg_integer<sizeof(T)>::type;
template <typename V, typename... N>
__device__ inline V pg_lanes(N... numbers)
{{
    return V{{{{(typename V::number) numbers...}}}};
}}
template <typename V, typename N>
__device__ inline V pg_same(N number)
{{
    V a;
    for (int k = 0; k < V::count; ++k)
        a[k] = (typename V::number) number;
    return a;
}}
template <typename V, typename W>
__device__ inline V pg_convert(W a)
{{
    V b;
    for (int k = 0; k < V::count; ++k)
        b[k] = (typename V::number) a[k];
    return b;
}}
template <typename T> __device__ inline T pg_chosen(T a) {{ return a; }}
__device__ inline int pg_chosen(int a)
{{
{HIDE.format("a")}
    return a;
}}
template <typename M, typename V>
__device__ inline V pg_select(M chosen, V a, V b)
{{
    for (int k = 0; k < V::count; ++k)
        a[k] = pg_chosen(chosen[k] ? a[k] : b[k]);
    return a;
}}
template <typename V, typename T>
__device__ inline V pg_load(T const *from)
{{
    V a;
    for (int k = 0; k < V::count; ++k)
        a[k] = from[k];
    return a;
}}
template <typename V, typename T>
__device__ inline void pg_store(T *to, V a)
{{
    for (int k = 0; k < V::count; ++k)
        to[k] = a[k];
}}
{_operators()}
""".strip()
