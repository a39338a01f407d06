// The benchmark's kernels on grids, with indices of 32 bits.

__kernel void stencil7(__global const float *in, __global float *out, int width, int height, int depth, float centre,
                       float side)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < 1 || y < 1 || z < 1 || x >= width - 1 || y >= height - 1 || z >= depth - 1)
        return;
    int plane = width * height;
    int i = z * plane + y * width + x;
    out[i] = centre * in[i]
        + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] + in[i - plane] + in[i + plane]);
}

// A filter of 5 by 5, with the border repeated.
__kernel void convolve(__global const float *in, __global float *out, __constant float *filter, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -2; dy <= 2; ++dy) {
        int row = min(max(y + dy, 0), height - 1) * width;
        for (int dx = -2; dx <= 2; ++dx)
            sum += filter[(dy + 2) * 5 + dx + 2] * in[row + min(max(x + dx, 0), width - 1)];
    }
    out[y * width + x] = sum;
}

// The median of 3 by 3 by insertion into a private array.
__kernel void median(__global const float *in, __global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    float sorted[9];
    int count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            float value = in[(y + dy) * width + x + dx];
            int at = count++;
            while (at > 0 && sorted[at - 1] > value) {
                sorted[at] = sorted[at - 1];
                --at;
            }
            sorted[at] = value;
        }
    out[y * width + x] = sorted[4];
}

// Diffusion along a line that stays in local memory: two barriers a step.
__kernel void diffuse(__global float *line, __local float *here, int steps)
{
    int l = get_local_id(0), size = get_local_size(0);
    int i = get_group_id(0) * size + l;
    here[l] = line[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < steps; ++step) {
        float left = here[l == 0 ? size - 1 : l - 1];
        float right = here[l == size - 1 ? 0 : l + 1];
        float next = 0.5f * here[l] + 0.25f * (left + right);
        barrier(CLK_LOCAL_MEM_FENCE);
        here[l] = next;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    line[i] = here[l];
}
