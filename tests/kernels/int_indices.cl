// The benchmark's kernels with indices of 32 bits, as people write them. `int_indices_o0` is the same without optimisation.

__kernel void saxpy_int(float factor, __global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = factor * x[i] + y[i];
}

__kernel void histogram_int(__global const uchar *in, __global uint *bins, int n)
{
    __local uint counts[256];
    int l = get_local_id(0);
    for (int bin = l; bin < 256; bin += get_local_size(0))
        counts[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int bin = l; bin < 256; bin += get_local_size(0))
        if (counts[bin] != 0)
            atomic_add(&bins[bin], counts[bin]);
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
transpose_int(__global const float *in, __global float *out, int rows, int cols)
{
    __local float tile[16][17];
    int lx = get_local_id(0), ly = get_local_id(1);
    int col = get_group_id(0) * 16 + lx, row = get_group_id(1) * 16 + ly;
    if (row < rows && col < cols)
        tile[ly][lx] = in[row * cols + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    int out_col = get_group_id(1) * 16 + lx, out_row = get_group_id(0) * 16 + ly;
    if (out_row < cols && out_col < rows)
        out[out_row * rows + out_col] = tile[lx][ly];
}

__kernel void stencil_uint(__global const float *in, __global float *out, uint width, uint height, float centre,
                           float side)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = in[i];
        return;
    }
    out[i] = centre * in[i] + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

__kernel void reduce_int(__global const float *in, __global float *partial, __local float *scratch, int n)
{
    int l = get_local_id(0);
    float sum = 0.0f;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    scratch[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        partial[get_group_id(0)] = scratch[0];
}

// One index for rows and columns.
__kernel void stencil_flat(__global const float *in, __global float *out, int width, int height, float centre,
                           float side)
{
    int i = get_global_id(0);
    int y = i / width, x = i - y * width;
    if (y >= height)
        return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[y * width + x] = in[y * width + x];
        return;
    }
    out[y * width + x] = centre * in[y * width + x] + side * (in[y * width + x - 1] + in[y * width + x + 1]
        + in[(y - 1) * width + x] + in[(y + 1) * width + x]);
}

typedef struct {
    float x, y, z, mass;
} Body;

__kernel void drift(__global Body *bodies, __global const float *vx, __global const float *vy, float dt, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        bodies[i].x += dt * vx[i];
        bodies[i].y += dt * vy[i];
    }
}
