// Vector shuffles, selections, relational built-ins, loads and stores, and the geometric functions.

__kernel void swizzles(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int4 v = vload4(i, in);
    int4 r = v.wzyx;
    r.xz += v.yy;
    int8 wide = (int8)(r, v.odd, v.even);
    wide.s70 = v.lo;
    vstore8(wide, i, out);
}

__kernel void shuffles(__global const int *in, __global const uint *mask, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int4 a = vload4(2 * i, in);
    int4 b = vload4(2 * i + 1, in);
    vstore4(shuffle(a, vload4(2 * i, mask)), 2 * i, out);
    vstore4(shuffle2(a, b, vload4(2 * i + 1, mask)), 2 * i + 1, out);
}

__kernel void selections(__global const int *a, __global const int *b, __global const int *condition, __global int *out,
                         uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int4 x = vload4(i, a);
    int4 y = vload4(i, b);
    int4 c = vload4(i, condition);
    vstore4(select(x, y, c), 3 * i, out);
    vstore4(bitselect(x, y, c), 3 * i + 1, out);
    int4 r;
    r.x = any(c);
    r.y = all(c);
    r.z = any(x == y) + 2 * all(x <= y);
    r.w = select(x.x, y.x, c.x);
    vstore4(r, 3 * i + 2, out);
}

// Vectors whose length varies by instruction: 2, 3, 8 and 16 elements, at addresses aligned to one element only.
__kernel void vector_loads(__global const short *in, __global short *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    short2 two = vload2(i, in + 1);
    short3 three = vload3(i, in + 3);
    short8 eight = vload8(i, in + 5);
    short16 sixteen = vload16(i, in + 7);
    eight.s012 += three;
    eight.s67 -= two;
    vstore16(sixteen + (short16)(eight, eight), i, out + 1);
}

// Element loads through vector pointers, with their stricter alignment and the padded vector of three.
__kernel void vector_pointers(__global const float3 *three, __global const float4 *four, __global float2 *two,
                              __global float3 *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    float3 a = three[i];
    float4 b = four[n - 1 - i];
    two[i] = a.xy * b.zw;
    out[i] = (float3)(a.z, b.x, a.y + b.y);
}

__kernel void geometric_float(__global const float *a, __global const float *b, __global float *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    float4 x = vload4(i, a);
    float4 y = vload4(i, b);
    __global float *r = out + i * 24;
    r[0] = dot(x, y);
    r[1] = dot(x.xyz, y.xyz);
    r[2] = dot(x.xy, y.xy);
    r[3] = length(x);
    r[4] = length(x.xyz);
    r[5] = length(x.xy);
    r[6] = distance(x, y);
    r[7] = distance(x.xyz, y.xyz);
    vstore4(cross(x, y), 2, r);
    vstore3(cross(x.xyz, y.xyz), 4, r);
    r[15] = fast_length(x);
    vstore4(normalize(x), 4, r);
    vstore4((float4)(normalize(x.xyz), fast_distance(x, y)), 5, r);
}

__kernel void geometric_double(__global const double *a, __global const double *b, __global double *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    double4 x = vload4(i, a);
    double4 y = vload4(i, b);
    __global double *r = out + i * 12;
    r[0] = dot(x, y);
    r[1] = length(x);
    r[2] = distance(x, y);
    r[3] = length(x.xy);
    vstore4(cross(x, y), 1, r);
    vstore4(normalize(x), 2, r);
}

// Components that a number names which all work-items share: of constant vectors, and of such as others write behind the load.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
named_components(__constant float8 *rows, __global const float4 *more, __global const float *in, __global float *out, int count)
{
    __local float4 kept[4];
    int i = get_global_id(0), l = get_local_id(0);
    if (l < 4)
        kept[l] = more[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    float own = in[i], sum = 0;
    for (int k = 0; k < count; k++) {
        sum += rows[k & 3][k & 7] * own;
        if (own > 0.5f)
            sum -= more[k & 3][(k >> 1) & 3];
        float4 row = kept[k & 3];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0)
            kept[k & 3] = row * 2.0f;
        sum += row[(k + 1) & 3];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum;
}

// Each work-item has a component of its own, by a number that grows from one to the next.
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void
own_components(__constant float8 *rows, __global const float4 *more, __global float *out)
{
    int l = get_local_id(0), g = get_group_id(0);
    out[get_global_id(0)] = rows[g & 3][l] + more[g & 3][l >> 1];
}
