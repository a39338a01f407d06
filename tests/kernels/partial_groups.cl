// Work-groups that meet where some of their work-items have left, or are not within a bound. Those that are there meet.

// In the elements that there are, the sum of an element and its neighbours in the work-group's part.
__kernel void neighbours(__global const int *in, __global int *out, __local int *part, int n)
{
    int i = get_global_id(0), id = get_local_id(0);
    if (i >= n)
        return;
    part[id] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int last = min((int)get_local_size(0), n - (i - id)) - 1;
    out[i] = part[max(id - 1, 0)] + 3 * part[id] + 5 * part[min(id + 1, last)];
}

// The same in two dimensions, with a bound in each.
__kernel void neighbours_2d(__global const int *in, __global int *out, __local int *part, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), size = get_local_size(0);
    int own = get_local_id(1) * size + get_local_id(0);
    if (x < width && y < height) {
        part[own] = in[y * width + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        int left = get_local_id(0) > 0 ? own - 1 : own, above = get_local_id(1) > 0 ? own - size : own;
        out[y * width + x] = part[left] + 3 * part[own] + 5 * part[above];
    }
}

// A tree of sums, then steps in which all go on with what the one before has left.
__kernel void trees(__global const int *in, __global int *out, __local int *part, int n, int steps)
{
    int i = get_global_id(0), id = get_local_id(0);
    if (i >= n)
        return;
    int size = get_local_size(0), there = min(size, n - (i - id));
    int own = in[i];
    for (int step = 0; step < steps; ++step) {
        part[id] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int apart = size / 2; apart > 0; apart /= 2) {
            if (id < apart && id + apart < there)
                part[id] += part[id + apart];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        own = 3 * own + part[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = own;
}

// Every other work-item leaves, so that no sub-group has all.
__kernel void halves(__global const int *in, __global int *out, __local int *part, int n)
{
    int i = get_global_id(0), id = get_local_id(0), size = get_local_size(0);
    if (id % 2 == 1 || i >= n)
        return;
    part[id] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int there = min(size, n - (i - id));
    int other = (there - 1 - id) & ~1;
    out[i] = part[id] - 7 * part[other];
}

// What work-groups compute together, of those within a bound.
__kernel void functions(__global const int *in, __global int *out, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        int own = in[i];
        int sum = work_group_reduce_add(own), most = work_group_reduce_max(own);
        int before = work_group_scan_exclusive_add(own), upto = work_group_scan_inclusive_max(own);
        int first = work_group_broadcast(own, 0), any = work_group_any(own > 900), all = work_group_all(own > -900);
        out[i] = sum + 3 * most + 5 * before + 7 * upto + 11 * first + 13 * any + 17 * all;
    }
}
