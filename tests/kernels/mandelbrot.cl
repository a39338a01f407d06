// Escape counts over a rectangle of the complex plane.
__kernel void mandelbrot(__global uint *counts, uint width, uint height, float left, float top, float step,
                         uint limit)
{
    size_t px = get_global_id(0);
    size_t py = get_global_id(1);
    if (px >= width || py >= height)
        return;
    float cx = left + step * (float)px;
    float cy = top + step * (float)py;
    float x = 0.0f;
    float y = 0.0f;
    uint n = 0;
    while (n < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++n;
    }
    counts[py * width + px] = n;
}
