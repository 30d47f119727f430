//# What CUDA C++ begins with where a work group is a cluster of blocks.

//: clusters
__device__ inline int pg_cluster()
{
    int a;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(a));
    return a;
}
__device__ inline int pg_block()
{
    int a;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(a));
    return a;
}
__device__ inline unsigned char *pg_of_first(unsigned char *a)
{
    unsigned char *b;
    asm("mapa.u64 %0, %1, 0;" : "=l"(b) : "l"(a));
    return b;
}
template <int count, typename T, typename U>
__device__ inline void pg_in_blocks(T *a, U b)
{
    for (int k = 0; k < count; ++k) {
        T *c = a;
        if (k != pg_block())
            asm("mapa.u64 %0, %1, %2;" : "=l"(c) : "l"(a), "r"(k));
        *c = b;
    }
}
__device__ inline void pg_begin_cluster()
{
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
__device__ inline void pg_begun_cluster()
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline void pg_wait_for_cluster()
{
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline void pg_leave_cluster()
{
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    if (pg_block() == 0)
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
