__kernel void __attribute__((reqd_work_group_size(8, 8, 1)))
sgemm(
    __global float const *restrict a,
    float const alpha,
    __global float const *restrict b,
    float const beta,
    __global float *restrict c,
    int const l,
    int const m)
{
    int const j_outer = get_group_id(0);
    int const i_outer = get_group_id(1);
    int const j_item = get_local_id(0);
    int const i_item = get_local_id(1);
    __local float a_tile[256];
    __local float b_tile[256];

    float acc[16];
    #pragma unroll
    for (int i_part_clear = 0; i_part_clear < 4; ++i_part_clear) {
        #pragma unroll
        for (int j_part_clear = 0; j_part_clear < 4; ++j_part_clear)
            acc[4 * i_part_clear + j_part_clear] = 0.0f;
    }
    for (int k_outer = 0; k_outer < l / 8; ++k_outer) {
        for (int a_dim_0_outer = 0; a_dim_0_outer < 4; ++a_dim_0_outer)
            a_tile[64 * a_dim_0_outer + 8 * i_item + j_item] = a[(32 * i_outer + 8 * a_dim_0_outer + i_item) * l + 8 * k_outer + j_item];
        for (int b_dim_1_outer = 0; b_dim_1_outer < 4; ++b_dim_1_outer)
            b_tile[32 * i_item + 8 * b_dim_1_outer + j_item] = b[(8 * k_outer + i_item) * m + 32 * j_outer + 8 * b_dim_1_outer + j_item];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k_inner = 0; k_inner < 8; ++k_inner) {
            float a_own[4];
            a_own[0] = a_tile[8 * i_item + k_inner];
            a_own[1] = a_tile[8 * i_item + k_inner + 64];
            a_own[2] = a_tile[8 * i_item + k_inner + 128];
            a_own[3] = a_tile[8 * i_item + k_inner + 192];
            float b_own[4];
            b_own[0] = b_tile[32 * k_inner + j_item];
            b_own[1] = b_tile[32 * k_inner + j_item + 8];
            b_own[2] = b_tile[32 * k_inner + j_item + 16];
            b_own[3] = b_tile[32 * k_inner + j_item + 24];
            acc[0] += a_own[0] * b_own[0];
            acc[1] += a_own[0] * b_own[1];
            acc[2] += a_own[0] * b_own[2];
            acc[3] += a_own[0] * b_own[3];
            acc[4] += a_own[1] * b_own[0];
            acc[5] += a_own[1] * b_own[1];
            acc[6] += a_own[1] * b_own[2];
            acc[7] += a_own[1] * b_own[3];
            acc[8] += a_own[2] * b_own[0];
            acc[9] += a_own[2] * b_own[1];
            acc[10] += a_own[2] * b_own[2];
            acc[11] += a_own[2] * b_own[3];
            acc[12] += a_own[3] * b_own[0];
            acc[13] += a_own[3] * b_own[1];
            acc[14] += a_own[3] * b_own[2];
            acc[15] += a_own[3] * b_own[3];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    #pragma unroll
    for (int i_part_store = 0; i_part_store < 4; ++i_part_store) {
        #pragma unroll
        for (int j_part_store = 0; j_part_store < 4; ++j_part_store)
            c[(32 * i_outer + 8 * i_part_store + i_item) * m + 32 * j_outer + 8 * j_part_store + j_item] = alpha * acc[4 * i_part_store + j_part_store] + beta * c[(32 * i_outer + 8 * i_part_store + i_item) * m + 32 * j_outer + 8 * j_part_store + j_item];
    }
}
