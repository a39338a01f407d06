// Transpose through a padded tile in local memory; groups of 16 x 16.
#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
transpose(__global const float *in, __global float *out, uint rows, uint cols)
{
    __local float tile[TILE][TILE + 1];
    uint lx = get_local_id(0);
    uint ly = get_local_id(1);
    size_t col = get_group_id(0) * TILE + lx;
    size_t row = get_group_id(1) * TILE + ly;
    if (row < rows && col < cols)
        tile[ly][lx] = in[row * cols + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t out_col = get_group_id(1) * TILE + lx;
    size_t out_row = get_group_id(0) * TILE + ly;
    if (out_row < cols && out_col < rows)
        out[out_row * rows + out_col] = tile[lx][ly];
}
