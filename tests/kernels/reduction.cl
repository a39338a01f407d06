// Tree reductions through local memory: one partial sum a work-group, any power-of-two group size.
__kernel void reduce_float(__global const float *in, __global float *partial, __local float *scratch, uint n)
{
    uint lid = get_local_id(0);
    float sum = 0.0f;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    scratch[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (lid < half_size)
            scratch[lid] += scratch[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = scratch[0];
}

__kernel void reduce_ulong(__global const uint *in, __global ulong *partial, __local ulong *scratch, uint n)
{
    uint lid = get_local_id(0);
    ulong sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    scratch[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (lid < half_size)
            scratch[lid] += scratch[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = scratch[0];
}
