/* Enqueues kernel '@name@' through the OpenCL API. */
#ifndef POLYGEN_@NAME@_OPENCL_H
#define POLYGEN_@NAME@_OPENCL_H

#include "@name@.h"
#include "polygen_opencl.h"

/* What the source is to be compiled with. */
#define @NAME@_BUILD_OPTIONS @options@
#define @NAME@_PLAIN_ON_OLD_POCL @plain@

typedef struct @name@_call {
    cl_command_queue pg_queue;
    cl_kernel const *pg_kernels;
@each passed@    @handle@ @a@;
} @name@_call;

/* Makes the kernels of a program that was built from the source: to be released. */
static inline cl_int @name@_kernels(
    cl_program pg_program, cl_kernel pg_kernels[@NAME@_FUNCTIONS])
{
    cl_int pg_status = CL_SUCCESS;
    for (int n = 0; n < @NAME@_FUNCTIONS && pg_status == CL_SUCCESS; ++n)
        pg_kernels[n] = clCreateKernel(pg_program, @name@_function(n), &pg_status);
    return pg_status;
}

static inline int @name@_start_launch(
    void *pg_context, int pg_function,
    pg_launch const *pg_next, int64_t const *pg_loops)
{
    @name@_call *const pg_call = (@name@_call *) pg_context;
    cl_kernel const pg_kernel = pg_call->pg_kernels[pg_function];
    cl_int pg_status = CL_SUCCESS;
    (void) pg_loops;
    switch (pg_function) {
@each launch@    case @number@: {
@each launch@@loop_values@
@each launch@@pass@
@each launch@        break;
@each launch@    }
    }
    if (pg_status == CL_SUCCESS)
        pg_status = pg_enqueue(pg_call->pg_queue, pg_kernel, pg_next);
    return pg_status;
}

@asking@
/* Enqueues the kernel: after @name@_check has said that the sizes are fine.  Memory
   for temporaries is allocated, and released when all is done.  The queue is in order.
   Returns what OpenCL does.@waits@ */
static inline cl_int @name@_enqueue(
    cl_command_queue pg_queue,
    cl_kernel const *pg_kernels@parameters@)
{
    cl_int pg_status = CL_SUCCESS;
    @name@_call pg_call;
    pg_call.pg_queue = pg_queue;
    pg_call.pg_kernels = pg_kernels;
@each argument@    pg_call.@a@ = @a@;
@each temporary@    pg_call.@a@ = pg_buffer(pg_queue, @name@_elements_@a@(@sizes@), sizeof(@type@), &pg_status);
@each flag@    pg_clear(pg_queue, pg_call.@a@, sizeof(@type@), &pg_status);
    if (pg_status == CL_SUCCESS)
        pg_status = @name@_launches(@launches_given@);
@each temporary@    if (pg_call.@a@ != NULL)
@each temporary@        clReleaseMemObject(pg_call.@a@);
    return pg_status;
}

#endif
