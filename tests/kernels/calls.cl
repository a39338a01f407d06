// Calls that stay calls: with masks, results of every kind, pointers, and a barrier inside.

__attribute__((noinline)) int collatz_steps(uint v, int limit)
{
    int steps = 0;
    while (v != 1 && steps < limit) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v >>= 1;
        ++steps;
    }
    return steps;
}

__attribute__((noinline)) float4 rotate_vector(float4 v, float angle, bool reverse)
{
    if (reverse)
        return v.wzyx * angle;
    return v.yzwx + angle;
}

typedef struct {
    int first;
    float second;
    long third;
} triple;

__attribute__((noinline)) triple make_triple(int seed)
{
    triple t = { seed * 3, (float)seed * 0.5f, (long)seed << 33 };
    if (seed < 0)
        t.first = -1;
    return t;
}

__attribute__((noinline)) void store_if_odd(__global int *out, size_t i, int value)
{
    if (value & 1)
        out[i] = value;
}

__attribute__((noinline)) void sort3(int *keys)
{
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2 - a; ++b)
            if (keys[b] > keys[b + 1]) {
                int swap = keys[b];
                keys[b] = keys[b + 1];
                keys[b + 1] = swap;
            }
}

__attribute__((noinline)) int exchange_with_mirror(__local int *scratch, int value)
{
    uint lid = get_local_id(0);
    scratch[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = scratch[get_local_size(0) - 1 - lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    return other;
}

__kernel void call_under_mask(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    if (v > 0)
        out[i] = collatz_steps((uint)v, 300) + 1000 * collatz_steps((uint)v + 1, 20);
    else
        out[i] = v;
}

__kernel void call_with_vectors(__global const float4 *in, __global float4 *out, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        out[i] = rotate_vector(in[i], in[i].x, in[i].y > 0.0f);
}

__kernel void call_with_structs(__global const int *in, __global long *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    triple t = make_triple(in[i]);
    out[i] = t.first + (long)t.second + t.third;
}

__kernel void call_with_side_effects(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    store_if_odd(out, i, in[i]);
    if (in[i] > 50)
        store_if_odd(out, i, in[i] + 1);
}

__kernel void call_with_private_pointer(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int keys[3] = { in[i], in[(i + 1) % n], in[(i + 2) % n] };
    sort3(keys);
    out[i] = keys[0] + 7 * keys[1] + 49 * keys[2];
}

__kernel void call_with_barrier(__global const int *in, __global int *out, __local int *scratch, uint rounds)
{
    int v = in[get_global_id(0)];
    for (uint round = 0; round < rounds; ++round)
        v = v * 3 + exchange_with_mirror(scratch, v);
    out[get_global_id(0)] = v;
}
