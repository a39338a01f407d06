// Byte histogram: local atomics within a group, one global atomic a bin and group.
#define BINS 256

__kernel void histogram(__global const uchar *in, __global uint *bins, uint n)
{
    __local uint counts[BINS];
    for (uint bin = get_local_id(0); bin < BINS; bin += get_local_size(0))
        counts[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = get_local_id(0); bin < BINS; bin += get_local_size(0))
        if (counts[bin] != 0)
            atomic_add(&bins[bin], counts[bin]);
}

// The place of each element among those of its group that have the same twelve bits, and sums of weights by these.
__kernel void ranks(__global const ushort *in, __global const int *weights, __global uint *rank, __global int *sums, uint n)
{
    __local uint counts[4096];
    __local int totals[4096];
    for (uint bin = get_local_id(0); bin < 4096; bin += get_local_size(0))
        counts[bin] = totals[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t i = get_global_id(0);
    if (i < n) {
        rank[i] = atomic_inc(&counts[in[i] >> 4]);
        atomic_add(&totals[in[i] & 4095], weights[i]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = get_local_id(0); bin < 4096; bin += get_local_size(0))
        sums[get_group_id(0) * 4096 + bin] = totals[bin];
}
