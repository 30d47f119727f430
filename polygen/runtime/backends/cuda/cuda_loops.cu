/* Decides whether a loop in a graph goes on: while all flags are set, and at most so often.
   What tells the graph is in CUDA's library of the device. */
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

struct pg_flags {
    unsigned char const *at[8];
    long long bytes[8];
};

extern "C" __global__ void __launch_bounds__(1)
pg_ask(unsigned long long handle, struct pg_flags flags, long long *trips, long long most, int first)
{
    long long const done = first ? 0 : *trips + 1;
    bool goes_on = done < most;
    for (int k = 0; k < 8; ++k) {
        bool is_set = flags.bytes[k] == 0; /* there is no such flag */
        for (long long b = 0; b < flags.bytes[k]; ++b)
            is_set = is_set || flags.at[k][b] != 0;
        goes_on = goes_on && is_set;
    }
    *trips = done;
    cudaGraphSetConditional(handle, goes_on);
}
