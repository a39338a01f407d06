// Sorting by digits of four bits and a search in breadth, with indices of 32 bits.

// How many keys of each group's piece have each digit: counts[digit * groups + group].
__kernel void radix_count(__global const uint *keys, __global int *counts, int piece, int shift)
{
    __local int mine[16];
    int l = get_local_id(0);
    if (l < 16)
        mine[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int first = get_group_id(0) * piece;
    for (int i = l; i < piece; i += get_local_size(0))
        atomic_inc(&mine[(keys[first + i] >> shift) & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16)
        counts[l * get_num_groups(0) + get_group_id(0)] = mine[l];
}

// Sums of all counts in front of each, by one work-group.
__kernel void radix_scan(__global int *counts, __local int *sums, int n)
{
    int l = get_local_id(0), size = get_local_size(0);
    int piece = n / size;
    int sum = 0;
    for (int i = 0; i < piece; ++i)
        sum += counts[l * piece + i];
    sums[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < size; step *= 2) {
        int below = l >= step ? sums[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[l] += below;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int before = sums[l] - sum;
    for (int i = 0; i < piece; ++i) {
        int count = counts[l * piece + i];
        counts[l * piece + i] = before;
        before += count;
    }
}

// Moves each group's keys to their places, in order: 64 keys at a time, each ranked among those with its digit.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
radix_move(__global const uint *keys, __global uint *sorted, __global const int *offsets, int piece, int shift)
{
    __local int next[16];
    __local int digits[64];
    int l = get_local_id(0);
    if (l < 16)
        next[l] = offsets[l * get_num_groups(0) + get_group_id(0)];
    int first = get_group_id(0) * piece;
    for (int i = l; i < piece; i += 64) {
        uint key = keys[first + i];
        int digit = (key >> shift) & 15;
        digits[l] = digit;
        barrier(CLK_LOCAL_MEM_FENCE);
        int rank = 0, all = 0;
        for (int k = 0; k < 64; ++k) {
            int same = digits[k] == digit;
            rank += same && k < l;
            all += same;
        }
        sorted[next[digit] + rank] = key;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (rank == 0)
            next[digit] += all;
    }
}

__kernel void bfs_begin(__global int *distance, int source)
{
    int i = get_global_id(0);
    distance[i] = i == source ? 0 : -1;
}

// The next level of all nodes at `level`.
__kernel void bfs_level(__global const int *start, __global const int *neighbour, __global int *distance, int level)
{
    int i = get_global_id(0);
    if (distance[i] != level)
        return;
    for (int k = start[i]; k < start[i + 1]; ++k)
        if (distance[neighbour[k]] < 0)
            distance[neighbour[k]] = level + 1;
}
