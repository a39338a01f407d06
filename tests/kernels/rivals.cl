// Kernels of which nobody can tell beforehand whether vectors of work-items or one work-item after the other serve them better.

__kernel void running_sums(__global const uint *in, __global uint *out, int width)
{
    size_t row = get_global_id(0) * width;
    uint sum = 0;
    for (int i = 0; i < width; i++) {
        sum += in[row + i];
        out[row + i] = sum;
    }
}

__kernel void smooth_rows(__global const float *in, __global float *out, float factor, int width)
{
    size_t row = get_global_id(0) * width;
    float state = 0;
    for (int i = 0; i < width; i++) {
        float own = in[row + i];
        if (own > 1.0f)
            state = state * factor + own * own;
        else
            state -= own * factor;
        out[row + i] = state + sqrt(own);
    }
}

__kernel void descend(__global const float *keys, __global const float *wanted, __global uint *found, int count)
{
    size_t id = get_global_id(0);
    float key = wanted[id] * 1.5f - 0.5f;
    int at = 0;
    uint steps = 0;
    while (at < count && steps < 64) {
        float own = keys[at];
        at = 2 * at + (own * key + own < fmin(key, 1.25f) ? 1 : 2);
        steps++;
    }
    found[id] = steps << 16 | (uint)at;
}

__kernel void scatter_counts(__global const uint *in, __global uint *counts, int each)
{
    size_t first = get_global_id(0) * each;
    for (int i = 0; i < each; i++)
        atomic_inc(&counts[in[first + i] & 1023]);
}
