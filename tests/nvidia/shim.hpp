// CUDA C++ on the host, for tests: a group's work items are threads, one group after the other.
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

struct pg_index { unsigned x, y, z; };
static thread_local pg_index threadIdx;
static pg_index blockIdx;
static std::unique_ptr<std::barrier<>> pg_waiting;

#define __CUDACC_VER_MAJOR__ 99  // no mistakes of compilers to be worked around
#define __CUDACC_VER_MINOR__ 0
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __syncthreads() pg_waiting->arrive_and_wait()
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __threadfence()
#define __threadfence_system() __threadfence()

// Asynchronous copies are made as late as can be; until then, there is nothing of use.
static thread_local std::vector<std::function<void()>> pg_begun;
template <typename T> static inline void pg_begin(T *to, T const *from)
{
    memset((void *) to, 0xff, sizeof(T));
    pg_begun.push_back([=] { *to = *from; });
}
static inline void pg_finish()
{
    for (auto const &copy : pg_begun)
        copy();
    pg_begun.clear();
}

using std::abs; using std::isfinite; using std::isinf; using std::isnan; using std::signbit;
#define PG_EXTREMES(T) \
    static inline T min(T a, T b) { return b < a ? b : a; } \
    static inline T max(T a, T b) { return a < b ? b : a; }
PG_EXTREMES(int) PG_EXTREMES(unsigned) PG_EXTREMES(long long) PG_EXTREMES(unsigned long long)

static inline float __uint_as_float(unsigned a) { float b; memcpy(&b, &a, 4); return b; }
static inline unsigned __float_as_uint(float a) { unsigned b; memcpy(&b, &a, 4); return b; }
static inline float __fdividef(float a, float b) { return a / b; }
#define __sinf(a) sinf(a)  // the C library has a function of this name
static inline float rsqrtf(float a) { return 1 / sqrtf(a); }
static inline double rsqrt(double a) { return 1 / sqrt(a); }
static inline float pg_ex2(float a) { return exp2f(a); }
static inline float pg_rcp(float a) { return 1 / a; }
static inline float pg_rsqrt(float a) { return 1 / sqrtf(a); }
static inline float pg_sqrt(float a) { return sqrtf(a); }

template <typename T, typename F> static inline T pg_update(T *at, F update)
{
    T old = *at, wanted;
    do
        wanted = update(old);
    while (!__atomic_compare_exchange(at, &old, &wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
static inline void pg_add(void *at, float x)
{
    pg_update((_Float16 *) at, [x](_Float16 old) { return (_Float16) ((float) old + x); });
}
#define PG_ATOMIC(name, value) \
    template <typename T> static inline T name(T *at, std::type_identity_t<T> x) \
    { return pg_update(at, [x](T old) { return (T) (value); }); } \
    template <typename T> static inline T name##_block(T *at, std::type_identity_t<T> x) \
    { return name(at, x); } \
    template <typename T> static inline T name##_system(T *at, std::type_identity_t<T> x) \
    { return name(at, x); }
PG_ATOMIC(atomicAdd, old + x) PG_ATOMIC(atomicMin, x < old ? x : old)
PG_ATOMIC(atomicMax, old < x ? x : old) PG_ATOMIC(atomicAnd, old & x)
PG_ATOMIC(atomicOr, old | x) PG_ATOMIC(atomicXor, old ^ x) PG_ATOMIC(atomicExch, x)
template <typename T> static inline T atomicCAS(T *at, T seen, T wanted)
{
    __atomic_compare_exchange(at, &seen, &wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return seen;
}
template <typename T> static inline T atomicCAS_block(T *a, T b, T c) { return atomicCAS(a, b, c); }
template <typename T> static inline T atomicCAS_system(T *a, T b, T c) { return atomicCAS(a, b, c); }

// Work items of a warp meet where they read each other's registers.  What is read of nobody is no
// sensible value.
static unsigned pg_count;
static thread_local unsigned pg_item;
static std::vector<std::unique_ptr<std::barrier<>>> pg_warps;
static std::vector<uint64_t> pg_registers;
template <typename T> static inline T pg_shuffle(unsigned mask, T value, int further)
{
    static_assert(sizeof(T) <= sizeof(uint64_t));
    std::barrier<> &warp = *pg_warps[pg_item / 32];
    memcpy(&pg_registers[pg_item], &value, sizeof value);
    warp.arrive_and_wait();
    int const other = (int) pg_item + further;
    if (other >= 0 && other / 32 == (int) pg_item / 32 && mask == 0xffffffffu) {
        uint64_t read = 0xa5a5a5a5a5a5a5a5u;
        memcpy(&value, other < (int) pg_count ? &pg_registers[other] : &read, sizeof value);
    }
    warp.arrive_and_wait();
    return value;
}
// As there is for numbers of 32 and 64 bits, to which others are promoted.
#define PG_SHUFFLES(T) \
    static inline T __shfl_sync(unsigned mask, T a, int lane) \
    { return pg_shuffle(mask, a, lane - (int) pg_item % 32); } \
    static inline T __shfl_down_sync(unsigned mask, T a, unsigned by) \
    { return pg_shuffle(mask, a, (int) by); } \
    static inline T __shfl_up_sync(unsigned mask, T a, unsigned by) \
    { return pg_shuffle(mask, a, -(int) by); }
PG_SHUFFLES(int) PG_SHUFFLES(unsigned) PG_SHUFFLES(long long) PG_SHUFFLES(unsigned long long)
PG_SHUFFLES(float) PG_SHUFFLES(double)

template <typename F> static void pg_grid(unsigned const *groups, unsigned const *items, F run)
{
    unsigned const count = items[0] * items[1] * items[2];
    pg_waiting = std::make_unique<std::barrier<>>(count);
    pg_count = count;
    pg_registers.assign(count, 0);
    pg_warps.clear();
    for (unsigned first = 0; first < count; first += 32)
        pg_warps.push_back(std::make_unique<std::barrier<>>(count - first < 32 ? count - first : 32));
    std::vector<std::thread> threads;
    for (unsigned item = 0; item < count; ++item) {
        threads.emplace_back([=] {
            pg_item = item;
            pg_index const own = {item % items[0], item / items[0] % items[1],
                                  item / items[0] / items[1]};
            for (unsigned group = 0; group < groups[0] * groups[1] * groups[2]; ++group) {
                if (item == 0)
                    blockIdx = {group % groups[0], group / groups[0] % groups[1],
                                group / groups[0] / groups[1]};
                pg_waiting->arrive_and_wait();
                threadIdx = own;
                run();
                pg_waiting->arrive_and_wait();
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
}
