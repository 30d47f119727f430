__kernel void __attribute__((reqd_work_group_size(128, 1, 1)))
twice(__global float const *restrict a, __global float *restrict out, int const n)
{
    int const i_outer = get_group_id(0);
    int const i_inner = get_local_id(0);

    if (128 * i_outer + i_inner < n)
        out[128 * i_outer + i_inner] = 2.0f * a[128 * i_outer + i_inner];
}
