// Row-major matrix products: c[rows][cols] = a[rows][inner] * b[inner][cols].
#define TILE 16

__kernel void matmul_naive(__global const float *a, __global const float *b, __global float *c, uint rows,
                           uint cols, uint inner)
{
    size_t col = get_global_id(0);
    size_t row = get_global_id(1);
    if (row >= rows || col >= cols)
        return;
    float sum = 0.0f;
    for (uint k = 0; k < inner; ++k)
        sum += a[row * inner + k] * b[k * cols + col];
    c[row * cols + col] = sum;
}

// Groups of TILE x TILE; edges that do not fill a tile are padded with zero.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
matmul_tiled(__global const float *a, __global const float *b, __global float *c, uint rows, uint cols, uint inner)
{
    __local float tile_a[TILE][TILE];
    __local float tile_b[TILE][TILE];
    uint x = get_local_id(0);
    uint y = get_local_id(1);
    size_t col = get_group_id(0) * TILE + x;
    size_t row = get_group_id(1) * TILE + y;
    float sum = 0.0f;
    for (uint start = 0; start < inner; start += TILE) {
        tile_a[y][x] = row < rows && start + x < inner ? a[row * inner + start + x] : 0.0f;
        tile_b[y][x] = col < cols && start + y < inner ? b[(start + y) * cols + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < TILE; ++k)
            sum += tile_a[y][k] * tile_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < rows && col < cols)
        c[row * cols + col] = sum;
}

// The same for square matrices of a multiple of TILE: no edges, no conditions, and signed indices, which cannot wrap.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
matmul_tiled_square(__global const float *a, __global const float *b, __global float *c, int size)
{
    __local float tile_a[TILE][TILE];
    __local float tile_b[TILE][TILE];
    int x = get_local_id(0);
    int y = get_local_id(1);
    int col = get_global_id(0);
    int row = get_global_id(1);
    float sum = 0.0f;
    for (int start = 0; start < size; start += TILE) {
        tile_a[y][x] = a[row * size + start + x];
        tile_b[y][x] = b[(start + y) * size + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; ++k)
            sum += tile_a[y][k] * tile_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * size + col] = sum;
}
