// A matrix product as it is written for GPUs: a work-group has a tile of the result, and each work-item 8 x 8 sums of it in registers. The
// tiles divide the matrices.

#define TILE 128
#define DEPTH 16
#define SUMS 8
#define ITEMS (TILE / SUMS)

__kernel __attribute__((reqd_work_group_size(ITEMS, ITEMS, 1))) void
multiply_tiles(__global const float *a, __global const float *b, __global float *c, int n)
{
    __local float columns_of_a[DEPTH][TILE], rows_of_b[DEPTH][TILE];
    int lx = get_local_id(0), ly = get_local_id(1);
    int first_row = get_group_id(1) * TILE, first_col = get_group_id(0) * TILE;
    float sums[SUMS][SUMS];
    for (int i = 0; i < SUMS; ++i)
        for (int j = 0; j < SUMS; ++j)
            sums[i][j] = 0.0f;
    for (int k = 0; k < n; k += DEPTH) {
        for (int row = ly; row < TILE; row += ITEMS)
            columns_of_a[lx][row] = a[(first_row + row) * n + k + lx];
        for (int col = lx; col < TILE; col += ITEMS)
            rows_of_b[ly][col] = b[(k + ly) * n + first_col + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; ++d) {
            float own[SUMS];
            for (int j = 0; j < SUMS; ++j)
                own[j] = rows_of_b[d][lx + j * ITEMS];
            for (int i = 0; i < SUMS; ++i) {
                float left = columns_of_a[d][ly + i * ITEMS];
                for (int j = 0; j < SUMS; ++j)
                    sums[i][j] += left * own[j];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < SUMS; ++i)
        for (int j = 0; j < SUMS; ++j)
            c[(first_row + ly + i * ITEMS) * n + first_col + lx + j * ITEMS] = sums[i][j];
}
