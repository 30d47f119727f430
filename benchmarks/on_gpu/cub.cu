// CUB's own reductions, for ctypes: all of an array, and rows of one length.
#include <cub/cub.cuh>
#include <cstdint>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

// Where rows begin.
struct Times
{
  int64_t length;
  __host__ __device__ int64_t operator()(int64_t row) const { return length * row; }
};
static auto starts(int64_t length)
{
  return thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), Times{length});
}

#define ALL(NAME, T, METHOD)                                                                   \
  extern "C" int all_##NAME(void *room, size_t *size, T const *in, T *out, int64_t n,          \
                            cudaStream_t stream)                                               \
  {                                                                                            \
    return cub::DeviceReduce::METHOD(room, *size, in, out, n, stream);                         \
  }
#define ROWS(NAME, T, METHOD)                                                                  \
  extern "C" int rows_##NAME(void *room, size_t *size, T const *in, T *out, int64_t rows,      \
                             int length, cudaStream_t stream)                                  \
  {                                                                                            \
    auto at = starts(length);                                                                  \
    return cub::DeviceSegmentedReduce::METHOD(room, *size, in, out, rows, at, at + 1, stream); \
  }
#define BOTH(NAME, T, METHOD) ALL(NAME, T, METHOD) ROWS(NAME, T, METHOD)

BOTH(sum_float32, float, Sum)
BOTH(max_float32, float, Max)
BOTH(min_float32, float, Min)
BOTH(sum_float64, double, Sum)
BOTH(max_float64, double, Max)
BOTH(min_float64, double, Min)
BOTH(sum_int64, int64_t, Sum)
BOTH(max_int32, int32_t, Max)
BOTH(max_int8, int8_t, Max)
