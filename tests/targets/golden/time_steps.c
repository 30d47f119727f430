void step(float *a, int const steps, float const alpha, int const n, float *restrict old)
{
    for (int t = 0; t < steps; ++t) {
        #pragma omp parallel for simd if(n >= 32768)
        for (int i = 0; i < n; ++i)
            old[i] = a[i];
        if (t >= 1 && n > 2) {
            #pragma omp parallel for simd if(n - 2 >= 32768)
            for (int i = 1; i < n - 1; ++i) {
                float const change = old[i + 1] - 2.0f * old[i] + old[i - 1];
                a[i] += alpha * change;
            }
        }
    }
}
