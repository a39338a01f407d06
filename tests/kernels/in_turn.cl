// Loops that few lanes of a sub-group go through, in kernels whose work-items meet: lists of their own, with what is in them.

// Counts the entries of each chosen list that are larger than a number, marks what they name, and sums up by group.
__kernel void marks(uint chosen, __global const uint *begins, __global const uint *entries, __global const uint *kinds,
                    __global uint *marks, __global uint *counts, __global uint *sums, uint n)
{
    __local uint sum;
    if (get_local_id(0) == 0)
        sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint i = get_global_id(0);
    if (i < n && kinds[i] < chosen) {
        uint mine = 0;
        const uint end = begins[i + 1];
        for (uint e = begins[i]; e < end; ++e) {
            const uint other = entries[e];
            if (kinds[other] < chosen)
                continue;
            atomic_max(&marks[other], i);
            ++mine;
        }
        counts[i] = mine;
        atomic_add(&sum, mine);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        sums[get_group_id(0)] = sum;
}

// Two loops, one behind the other, of which the second begins where the first has ended; left at two places, with values of several types.
__kernel void searches(uint chosen, __global const uint *begins, __global const ushort *entries,
                       __global const uint *kinds, __global ulong *found, uint wanted, uint n)
{
    const int i = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= (int)n || kinds[i] >= chosen)
        return;
    uint e = begins[i], end = begins[i + 1];
    ulong sum = 0;
    bool is_there = false;
    while (e < end) {
        const ushort entry = entries[e++];
        if (entry % 7 == wanted) {
            is_there = true;
            break;
        }
        sum += entry * 3ul;
    }
    uchar least = 200;
    while (e < end) {
        const ushort entry = entries[e];
        if ((uchar)entry == 99)
            break;
        least = min(least, (uchar)entry);
        sum ^= (ulong)kinds[entry] << 40;
        e += 1 + (entry & 1);
    }
    found[i] = sum + ((ulong)is_there << 62) + ((ulong)least << 50) + e;
}

// In a loop that all take part in, with sums of floating-point numbers and of squares, and stores to what is read by others later.
__kernel void rounds(uint chosen, __global const uint *begins, __global const uint *entries, __global const uint *kinds,
                     __global float *values, __global float *next, uint n)
{
    const uint i = get_global_id(0), l = get_local_id(0);
    __local uint open[256];
    for (uint round = 0; round < 3; ++round) {
        open[l] = i < n && kinds[i] % 3 == round && kinds[i] < chosen;
        barrier(CLK_LOCAL_MEM_FENCE);
        float sum = 0.0f;
        if (open[l]) {
            for (uint e = begins[i], end = begins[i + 1]; e != end; ++e)
                sum += values[entries[e]];
            next[i] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
