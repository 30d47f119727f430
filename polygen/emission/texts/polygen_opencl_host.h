/* What the host programs share that run kernels through the OpenCL API: a device, its memory. */
#ifndef POLYGEN_OPENCL_HOST_H
#define POLYGEN_OPENCL_HOST_H

#include "polygen_host.h"
#include "polygen_opencl.h"

typedef struct pg_device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} pg_device;

static inline void pg_must(cl_int status, char const *what)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: OpenCL says %d\n", what, (int) status);
        exit(3);
    }
}

/* Takes the first device; PG_DEVICE=2 is the third one, counted over all platforms. */
static inline void pg_open_device(pg_device *device)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    char const *wanted = getenv("PG_DEVICE");
    long left = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    cl_int status = clGetPlatformIDs(16, platforms, &platform_count);
    device->id = NULL;
    for (cl_uint n = 0; n < platform_count && n < 16 && device->id == NULL; ++n) {
        cl_device_id ids[16];
        cl_uint count = 0;
        if (clGetDeviceIDs(platforms[n], CL_DEVICE_TYPE_ALL, 16, ids, &count) == CL_SUCCESS) {
            if (left < (long) count && left < 16)
                device->id = ids[left];
            left -= (long) count;
        }
    }
    if (status != CL_SUCCESS || device->id == NULL)
        pg_fail("there is no such OpenCL device", "");
    device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &status);
    pg_must(status, "clCreateContext");
    device->queue = clCreateCommandQueue(device->context, device->id, 0, &status);
    pg_must(status, "clCreateCommandQueue");
    device->program = NULL;
}

/* Tells whether the device is PoCL's, before version 4: it compiles some barriers wrongly. */
static inline int pg_is_old_pocl(pg_device const *device)
{
    char text[256] = "";
    clGetDeviceInfo(device->id, CL_DEVICE_VERSION, sizeof text - 1, text, NULL);
    char const *found = strstr(text, "PoCL ");
    if (found == NULL)
        found = strstr(text, "pocl ");
    return found != NULL && strtol(found + 5, NULL, 10) < 4;
}

static inline void pg_build(pg_device *device, char const *path, char const *options, int plain_on_old_pocl)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        pg_fail(path, strerror(errno));
    fseek(file, 0, SEEK_END);
    size_t const length = (size_t) ftell(file);
    rewind(file);
    char *text = malloc(length + 1);
    if (text == NULL || fread(text, 1, length, file) != length)
        pg_fail(path, "cannot be read");
    fclose(file);
    cl_int status;
    char const *source = text;
    device->program = clCreateProgramWithSource(device->context, 1, &source, &length, &status);
    pg_must(status, "clCreateProgramWithSource");
    char all[1024];
    int const plain = plain_on_old_pocl && pg_is_old_pocl(device);
    snprintf(all, sizeof all, "%s%s", options, plain ? " -cl-opt-disable" : "");
    status = clBuildProgram(device->program, 1, &device->id, all, NULL, NULL);
    if (status != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(
            device->program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    pg_must(status, "clBuildProgram");
    free(text);
}

static inline size_t pg_bytes(pg_array const *array)
{
    return (size_t) array->layout.elements * array->itemsize;
}

static inline cl_mem pg_upload(pg_device const *device, pg_array const *array)
{
    cl_int status;
    cl_mem_flags const flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem memory = clCreateBuffer(device->context, flags, pg_bytes(array), array->data, &status);
    pg_must(status, "clCreateBuffer");
    return memory;
}

static inline void pg_download(pg_device const *device, pg_array const *array, cl_mem memory)
{
    pg_must(
        clEnqueueReadBuffer(
            device->queue, memory, CL_TRUE, 0, pg_bytes(array), array->data, 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static inline void pg_close_device(pg_device *device)
{
    pg_must(clFinish(device->queue), "clFinish");
    clReleaseProgram(device->program);
    clReleaseCommandQueue(device->queue);
    clReleaseContext(device->context);
}

#endif
