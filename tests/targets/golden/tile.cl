#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void __attribute__((reqd_work_group_size(16, 16, 1)))
rows(__global float const *restrict a, __global double *restrict out, int const n)
{
    int const j = get_local_id(0);
    int const i = get_local_id(1);
    __local float tile[256];

    double acc = 0.0;
    for (int k = 0; k < n / 16; ++k) {
        tile[16 * i + j] = a[n * (16 * k + i) + j];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (int m = 0; m < 16; ++m)
            acc += tile[16 * m + i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (j == 0)
        out[i] = acc;
}
