/* What the functions that enqueue kernels through the OpenCL API share. */
#ifndef POLYGEN_OPENCL_H
#define POLYGEN_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include "polygen_geometry.h"

static inline void pg_pass(cl_kernel kernel, cl_uint index, size_t size, void const *at, cl_int *status)
{
    if (*status == CL_SUCCESS)
        *status = clSetKernelArg(kernel, index, size, at);
}

static inline cl_int pg_enqueue(cl_command_queue queue, cl_kernel kernel, pg_launch const *launch)
{
    size_t items[3], group[3];
    for (int axis = 0; axis < 3; ++axis) {
        group[axis] = (size_t) launch->items[axis];
        items[axis] = (size_t) (launch->groups[axis] * launch->items[axis]);
    }
    return clEnqueueNDRangeKernel(queue, kernel, 3, NULL, items, group, 0, NULL, NULL);
}

/* Returns memory for so many elements of a size, NULL after an error. */
static inline cl_mem pg_buffer(cl_command_queue queue, int64_t count, size_t size, cl_int *status)
{
    cl_context context = NULL;
    if (*status == CL_SUCCESS)
        *status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (*status != CL_SUCCESS)
        return NULL;
    return clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t) count * size, NULL, status);
}

/* Fills memory with zeros. */
static inline void pg_clear(cl_command_queue queue, cl_mem memory, size_t size, cl_int *status)
{
    unsigned char const zero = 0;
    if (*status == CL_SUCCESS)
        *status = clEnqueueFillBuffer(queue, memory, &zero, 1, 0, size, 0, NULL, NULL);
}

/* Reads memory, behind all that is enqueued. */
static inline cl_int pg_read(cl_command_queue queue, cl_mem memory, void *to, size_t size)
{
    return clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, size, to, 0, NULL, NULL);
}

#endif
