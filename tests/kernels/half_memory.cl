// Half in memory only: loads that widen, stores that round as they say.

__kernel void half_loads(__global const half *in, __global half *out, __global float *wide, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    float4 v = vload_half4(i, in);
    vstore4(v, i, wide);
    vstore_half4(v * 1.0009765625f, 2 * i, out);
    vstore_half_rtz(v.x * 1.0009765625f, 8 * i + 4, out);
    vstore_half_rtp(v.y * 1.0009765625f, 8 * i + 5, out);
    vstore_half_rtn(v.z * 1.0009765625f, 8 * i + 6, out);
    vstore_half(vload_half(4 * i + 3, in) + 1.0f, 8 * i + 7, out);
}
