// Tiled matrix products in half and double precision, with indices of 32 bits, for sizes that the tiles divide.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
multiply_half(__global const half *a, __global const half *b, __global half *c, int n)
{
    __local half tile_a[16][16], tile_b[16][16];
    int lx = get_local_id(0), ly = get_local_id(1);
    int col = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += 16) {
        tile_a[ly][lx] = a[row * n + tile + lx];
        tile_b[ly][lx] = b[(tile + ly) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; ++k)
            sum += (float)tile_a[ly][k] * (float)tile_b[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = (half)sum;
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
multiply_double(__global const double *a, __global const double *b, __global double *c, int n)
{
    __local double tile_a[16][16], tile_b[16][16];
    int lx = get_local_id(0), ly = get_local_id(1);
    int col = get_global_id(0), row = get_global_id(1);
    double sum = 0.0;
    for (int tile = 0; tile < n; tile += 16) {
        tile_a[ly][lx] = a[row * n + tile + lx];
        tile_b[ly][lx] = b[(tile + ly) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; ++k)
            sum += tile_a[ly][k] * tile_b[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
