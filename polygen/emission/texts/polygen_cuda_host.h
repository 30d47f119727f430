/* What the host programs share that run kernels through CUDA's driver API: a device, its memory. */
#ifndef POLYGEN_CUDA_HOST_H
#define POLYGEN_CUDA_HOST_H

#include "polygen_cuda.h"
#include "polygen_host.h"

typedef struct pg_device {
    CUdevice id;
    CUcontext context;
    CUmodule module;
} pg_device;

static inline void pg_must(CUresult status, char const *what)
{
    if (status != CUDA_SUCCESS) {
        char const *text = "an unknown error";
        cuGetErrorString(status, &text);
        fprintf(stderr, "%s: CUDA says %d, %s\n", what, (int) status, text);
        exit(3);
    }
}

/* Takes the first device, and loads what nvcc made of the source. */
static inline void pg_open_device(pg_device *device, char const *path)
{
    pg_must(cuInit(0), "cuInit");
    pg_must(cuDeviceGet(&device->id, 0), "cuDeviceGet");
    pg_must(cuDevicePrimaryCtxRetain(&device->context, device->id), "cuDevicePrimaryCtxRetain");
    pg_must(cuCtxSetCurrent(device->context), "cuCtxSetCurrent");
    pg_must(cuModuleLoad(&device->module, path), path);
}

static inline size_t pg_bytes(pg_array const *array)
{
    return (size_t) array->layout.elements * array->itemsize;
}

static inline CUdeviceptr pg_upload(pg_array const *array)
{
    CUdeviceptr memory = 0;
    pg_must(cuMemAlloc(&memory, pg_bytes(array)), "cuMemAlloc");
    pg_must(cuMemcpyHtoD(memory, array->data, pg_bytes(array)), "cuMemcpyHtoD");
    return memory;
}

static inline void pg_download(pg_array const *array, CUdeviceptr memory)
{
    pg_must(cuMemcpyDtoH(array->data, memory, pg_bytes(array)), "cuMemcpyDtoH");
}

static inline void pg_close_device(pg_device *device)
{
    pg_must(cuModuleUnload(device->module), "cuModuleUnload");
    pg_must(cuDevicePrimaryCtxRelease(device->id), "cuDevicePrimaryCtxRelease");
}

#endif
