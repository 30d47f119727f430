/* Launches kernel '@name@' through CUDA's driver API. */
#ifndef POLYGEN_@NAME@_CUDA_H
#define POLYGEN_@NAME@_CUDA_H

#include "@name@.h"
#include "polygen_cuda.h"

typedef struct @name@_call {
    CUstream pg_stream;
    CUfunction const *pg_functions;
@each passed@    @handle@ @a@;
} @name@_call;

/* Finds the functions of a module that was made of the source. */
static inline CUresult @name@_functions(
    CUmodule pg_module, CUfunction pg_functions[@NAME@_FUNCTIONS])
{
    CUresult pg_status = CUDA_SUCCESS;
@each launch@    pg_find(pg_module, "@function@", @shared@, &pg_functions[@number@], &pg_status);
    return pg_status;
}

static inline int @name@_start_launch(
    void *pg_context, int pg_function,
    pg_launch const *pg_next, int64_t const *pg_loops)
{
    @name@_call *const pg_call = (@name@_call *) pg_context;
    CUfunction const pg_handle = pg_call->pg_functions[pg_function];
    (void) pg_loops;
    switch (pg_function) {
@each launch@    case @number@: {
@each launch@@loop_values@
@each launch@        void *pg_passed[] = {@places@};
@each launch@        return pg_start(pg_handle, pg_next, pg_call->pg_stream, pg_passed);
@each launch@    }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

@asking@
/* Starts the kernel: after @name@_check has said that the sizes are fine. With
   temporaries, it waits until all is done: their memory is allocated, and released.
   Returns what CUDA does. */
static inline CUresult @name@_launch(
    CUstream pg_stream,
    CUfunction const *pg_functions@parameters@)
{
    CUresult pg_status = CUDA_SUCCESS;
    @name@_call pg_call;
    pg_call.pg_stream = pg_stream;
    pg_call.pg_functions = pg_functions;
@each argument@    pg_call.@a@ = @a@;
@each temporary@    pg_call.@a@ = pg_memory(@name@_elements_@a@(@sizes@), sizeof(@type@), &pg_status);
@each flag@    pg_clear(pg_stream, pg_call.@a@, sizeof(@type@), &pg_status);
    if (pg_status == CUDA_SUCCESS)
        pg_status = (CUresult) @name@_launches(@launches_given@);
@wait@
@each temporary@    if (pg_call.@a@ != 0)
@each temporary@        cuMemFree(pg_call.@a@);
    return pg_status;
}

#endif
