// Accesses of what is not there.

// Two of one lane, as far apart as 64 bits have it.
__kernel void far_away(__global const float2 *in, __global float *out)
{
    size_t i = get_global_id(0);
    __global const char *at = (__global const char *)(in + i);
    out[i] = *(__global const float *)at + *(__global const float *)(at + 0x8000000000000004ul);
}

// More of local memory than the work-group has, where `count` is that.
__kernel void beyond_local(__local uint *own, __global uint *out, uint count)
{
    for (uint i = get_local_id(0); i < count; i += get_local_size(0))
        own[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = own[count - 1 - get_local_id(0)];
}
