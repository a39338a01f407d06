// Five-point Jacobi step; the border is copied.
__kernel void stencil5(__global const float *in, __global float *out, uint width, uint height, float centre,
                       float side)
{
    size_t x = get_global_id(0);
    size_t y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    size_t i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = in[i];
        return;
    }
    out[i] = centre * in[i] + side * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
