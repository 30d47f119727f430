/* What emitted programs use of the OpenCL API, for machines without its headers. */
#ifndef TESTS_CL_H
#define TESTS_CL_H

#include <stddef.h>
#include <stdint.h>

#define CL_SUCCESS 0
#define CL_INVALID_VALUE -30
#define CL_TRUE 1
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFF
#define CL_DEVICE_VERSION 0x102F
#define CL_MEM_READ_WRITE (1 << 0)
#define CL_MEM_COPY_HOST_PTR (1 << 5)
#define CL_PROGRAM_BUILD_LOG 0x1183
#define CL_QUEUE_CONTEXT 0x1090

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef cl_uint cl_bool;
typedef uint64_t cl_ulong;
typedef cl_ulong cl_bitfield;
typedef cl_bitfield cl_device_type;
typedef cl_bitfield cl_command_queue_properties;
typedef cl_bitfield cl_mem_flags;
typedef cl_uint cl_device_info;
typedef cl_uint cl_command_queue_info;
typedef cl_uint cl_program_build_info;
typedef intptr_t cl_context_properties;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
cl_int clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
cl_int clGetDeviceInfo(cl_device_id, cl_device_info, size_t, void *, size_t *);

cl_context clCreateContext(
    cl_context_properties const *, cl_uint, cl_device_id const *,
    void (*)(char const *, void const *, size_t, void *), void *, cl_int *);
cl_int clReleaseContext(cl_context);

cl_command_queue clCreateCommandQueue(
    cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
cl_int clGetCommandQueueInfo(cl_command_queue, cl_command_queue_info, size_t, void *, size_t *);
cl_int clFinish(cl_command_queue);
cl_int clReleaseCommandQueue(cl_command_queue);

cl_mem clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_int clReleaseMemObject(cl_mem);

cl_program clCreateProgramWithSource(
    cl_context, cl_uint, char const **, size_t const *, cl_int *);
cl_int clBuildProgram(
    cl_program, cl_uint, cl_device_id const *, char const *, void (*)(cl_program, void *), void *);
cl_int clGetProgramBuildInfo(
    cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *);
cl_int clReleaseProgram(cl_program);

cl_kernel clCreateKernel(cl_program, char const *, cl_int *);
cl_int clSetKernelArg(cl_kernel, cl_uint, size_t, void const *);
cl_int clReleaseKernel(cl_kernel);

cl_int clEnqueueNDRangeKernel(
    cl_command_queue, cl_kernel, cl_uint, size_t const *, size_t const *, size_t const *, cl_uint,
    cl_event const *, cl_event *);
cl_int clEnqueueFillBuffer(
    cl_command_queue, cl_mem, void const *, size_t, size_t, size_t, cl_uint, cl_event const *,
    cl_event *);
cl_int clEnqueueReadBuffer(
    cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, cl_event const *,
    cl_event *);

#endif
