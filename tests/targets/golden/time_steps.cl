__kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
step_0(__global float const *a, int const n, __global float *restrict old)
{
    for (int i = 0; i < n; ++i)
        old[i] = a[i];
}

__kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
step_1(
    __global float *a,
    float const alpha,
    int const n,
    __global float const *restrict old,
    int const t)
{
    if (t >= 1 && n > 2) {
        for (int i = 1; i < n - 1; ++i) {
            float const change = old[i + 1] - 2.0f * old[i] + old[i - 1];
            a[i] += alpha * change;
        }
    }
}
