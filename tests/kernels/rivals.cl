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

__kernel void blur_rows(__global const float *in, __global float *out, float factor, int width)
{
    size_t row = get_global_id(0) * width;
    float3 before, here = vload3(0, in + row), next = vload3(1, in + row);
    for (int i = 1; i < width / 3 - 1; i++) {
        before = here;
        here = next;
        next = vload3(i + 1, in + row);
        vstore3(factor * before + 0.5f * here + 0.2f * next, i, out + row);
    }
}

__kernel void describe_rows(__global const uchar *in, __global uint *out, int width)
{
    in += get_global_id(0) * width * 4;
    uchar16 low = 255, high = 0;
    uint16 sum = 0, squares = 0;
    for (int i = 0; i < width / 4; i++) {
        uchar16 own = vload16(i, in);
        low = min(low, own);
        high = max(high, own);
        uint16 wide = convert_uint16(own);
        sum += wide;
        squares += wide * wide;
    }
    uint8 s8 = sum.lo ^ sum.hi, q8 = squares.lo + 3 * squares.hi;
    uint4 s4 = s8.lo - s8.hi, q4 = q8.lo * q8.hi;
    vstore4(s4, 0, out + get_global_id(0) * width);
    vstore4(q4, 1, out + get_global_id(0) * width);
    vstore4(convert_uint4(low.s048c * high.sf321), 2, out + get_global_id(0) * width);
}
// Lanes leave the loop when they like what they have loaded, side by side; what they count they have in common.
kernel void runs_until(global const uint *in, volatile global uint *out, int width)
{
    int i = get_global_id(0), length = 0, all = get_global_size(0);
    uint least = in[i] >> 3;
    for (int k = 1; k < 8 * width; k++) {
        uint next = in[i + k];
        if (next < least)
            break;
        if (next & 1) {
            uint before = atomic_add(out + all + (next >> 28), 1u);
            if (before < 0xffffffffu)
                out[2 * all + i] = k;
        }
        length++;
    }
    out[i] = length;
}
// No loop is left of it, and what lanes load and store lies far apart.
kernel void pack_bits(global const uint *in, global uint *out, int width)
{
    global const uint *own = in + get_global_id(0) * 40;
    global uint *to = out + get_global_id(0) * 20;
    uint words[5] = {0};
#pragma unroll
    for (int i = 0; i < 20; i++)
        words[i / 4] = rotate(words[i / 4], 7u) ^ own[i] * 2654435761u;
#pragma unroll
    for (int i = 0; i < 20; i++)
        to[i] = words[i % 5] >> (i % 3) | (uint)width << 24;
}
// Four work-items a block of a sparse matrix: products of vectors from anywhere.
kernel void rows_of_blocks(global const float *blocks, global const float *x, global float *y, int count)
{
    size_t id = get_global_id(0);
    float sum = 0, rest = 1;
    for (size_t b = id / 4; b < id / 4 + 8; b++) {
        float4 row = vload4(b * 4 + id % 4, blocks);
        float4 of = vload4((b * 7 + 3) & 1023, x);
        sum += dot(row, of);
        rest = rest * 0.5f - dot(row.xyz, of.wzy) * row.w;
    }
    y[id] = sum + rest * count;
}

// One work-item in about thirty has something to do.
__kernel void few_go_on(__global const float *in, __global float *out, float factor, int width)
{
    size_t id = get_global_id(0);
    float own = in[id];
    if (own < 0.5f + 1.0f / 32)
        for (int i = 0; i < width; i++)
            own = own * factor + 1.0f / (own + 1.0f);
    out[id] = own;
}
