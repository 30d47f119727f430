static inline int pg_min_i32(int a, int b)
{
    return a < b ? a : b;
}

void twice(float const *restrict a, float *restrict out, int const n)
{
    #pragma omp parallel for if((n + 127) / 128 >= 256)
    for (int i = 0; i < (n + 127) / 128; ++i) {
        #pragma omp simd
        for (int j = 0; j < pg_min_i32(128, n - 128 * i); ++j)
            out[128 * i + j] = 2.0f * a[128 * i + j];
    }
}
