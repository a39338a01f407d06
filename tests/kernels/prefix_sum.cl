// Inclusive prefix sum in three launches: within groups, over the groups' totals, and the addition of both.
__kernel void scan_groups(__global const uint *in, __global uint *out, __global uint *totals, __local uint *scratch,
                          uint n)
{
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    size_t gid = get_global_id(0);
    scratch[lid] = gid < n ? in[gid] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint offset = 1; offset < size; offset <<= 1) {
        uint below = lid >= offset ? scratch[lid - offset] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        scratch[lid] += below;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (gid < n)
        out[gid] = scratch[lid];
    if (lid == size - 1)
        totals[get_group_id(0)] = scratch[lid];
}

__kernel void scan_totals(__global uint *totals, uint count)
{
    uint sum = 0;
    for (uint i = 0; i < count; ++i) {
        uint value = totals[i];
        totals[i] = sum;
        sum += value;
    }
}

__kernel void add_totals(__global uint *out, __global const uint *totals, uint n)
{
    size_t gid = get_global_id(0);
    if (gid < n)
        out[gid] += totals[get_group_id(0)];
}
