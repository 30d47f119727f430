/* As much of CUDA's driver as programs beside emitted kernels use, on the host: a module is a
   library that host_driver.py made of CUDA C++.  Memory is followed by bytes that nobody may write. */
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDGE 64
#define MARK 0x5a

typedef struct memory {
    size_t size;
    unsigned char bytes[];
} memory;

typedef void start(void **arguments, unsigned *groups, unsigned *items);

static struct found {
    start *function;
    int shared;
} functions[16];
static int function_count, live;

CUresult cuInit(unsigned flags)
{
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
    *device = number;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = NULL;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void) device;
    return live == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN; /* all memory has been given back */
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void) context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void) stream;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoad(CUmodule *module, char const *path)
{
    char full[1000];
    snprintf(full, sizeof full, "./%s", path);
    *module = dlopen(full, RTLD_NOW);
    if (*module == NULL)
        fprintf(stderr, "%s\n", dlerror());
    return *module == NULL ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    return dlclose(module) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, char const *name)
{
    char full[1000];
    snprintf(full, sizeof full, "pg_launch_%s", name);
    struct found *const next = &functions[function_count++];
    *(void **) &next->function = dlsym(module, full);
    next->shared = 48 * 1024;
    *function = (CUfunction) (void *) next;
    return next->function == NULL ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 * 1024)
        return CUDA_ERROR_INVALID_VALUE;
    ((struct found *) (void *) function)->shared = value;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(
    CUfunction function, unsigned x, unsigned y, unsigned z, unsigned i, unsigned j, unsigned k,
    unsigned shared, CUstream stream, void **arguments, void **extra)
{
    struct found *const found = (struct found *) (void *) function;
    unsigned groups[3] = {x, y, z}, items[3] = {i, j, k};
    (void) stream;
    if (shared > (unsigned) found->shared || extra != NULL || x * y * z == 0 || i * j * k > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    found->function(arguments, groups, items);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *at, size_t size)
{
    memory *const made = malloc(sizeof(memory) + size + EDGE);
    if (size == 0 || made == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    made->size = size;
    memset(made->bytes, MARK, size + EDGE);
    *at = (CUdeviceptr) made->bytes;
    ++live;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr at)
{
    memory *const made = (memory *) (at - offsetof(memory, bytes));
    for (int n = 0; n < EDGE; ++n)
        if (made->bytes[made->size + (size_t) n] != MARK)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
    free(made);
    --live;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, void const *from, size_t size)
{
    memcpy((void *) to, from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    memcpy(to, (void const *) from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    (void) stream;
    return cuMemcpyDtoH(to, from, size);
}

CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t size, CUstream stream)
{
    (void) stream;
    memset((void *) at, value, size);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult status, char const **text)
{
    *text = "what the fake driver refuses";
    return status == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
