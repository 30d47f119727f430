/* What the functions that launch kernels through CUDA's driver API share. */
#ifndef POLYGEN_CUDA_H
#define POLYGEN_CUDA_H

#include <cuda.h>

#include "polygen_geometry.h"

#define PG_PLAIN_SHARED 49152 /* more memory of a group's than that has to be asked for */

/* Finds a function of a module, and lets it have the memory that its launches ask for. */
static inline void pg_find(
    CUmodule module, char const *name, int64_t shared_bytes, CUfunction *function, CUresult *status)
{
    if (*status == CUDA_SUCCESS)
        *status = cuModuleGetFunction(function, module, name);
    if (*status == CUDA_SUCCESS && shared_bytes > PG_PLAIN_SHARED)
        *status = cuFuncSetAttribute(
            *function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int) shared_bytes);
}

static inline CUresult pg_start(
    CUfunction function, pg_launch const *launch, CUstream stream, void **arguments)
{
    unsigned groups[3], items[3];
    for (int axis = 0; axis < 3; ++axis) {
        if (launch->groups[axis] > (axis ? 65535 : INT32_MAX))
            return CUDA_ERROR_INVALID_VALUE;
        groups[axis] = (unsigned) launch->groups[axis];
        items[axis] = (unsigned) launch->items[axis];
    }
    return cuLaunchKernel(
        function, groups[0], groups[1], groups[2], items[0], items[1], items[2],
        (unsigned) launch->shared_bytes, stream, arguments, NULL);
}

/* Returns memory for so many elements of a size, 0 after an error. */
static inline CUdeviceptr pg_memory(int64_t count, size_t size, CUresult *status)
{
    CUdeviceptr memory = 0;
    if (*status == CUDA_SUCCESS)
        *status = cuMemAlloc(&memory, (size_t) count * size);
    return memory;
}

/* Fills memory with zeros. */
static inline void pg_clear(CUstream stream, CUdeviceptr memory, size_t size, CUresult *status)
{
    if (*status == CUDA_SUCCESS)
        *status = cuMemsetD8Async(memory, 0, size, stream);
}

/* Reads memory, behind all that is on a stream. */
static inline CUresult pg_read(CUstream stream, CUdeviceptr memory, void *to, size_t size)
{
    CUresult const status = cuMemcpyDtoHAsync(to, memory, size, stream);
    return status == CUDA_SUCCESS ? cuStreamSynchronize(stream) : status;
}

#endif
