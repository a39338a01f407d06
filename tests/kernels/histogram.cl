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
