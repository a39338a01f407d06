// Work-group collectives of OpenCL 2.0.
__kernel void work_group_collectives(__global const int *in, __global int *out)
{
    size_t i = get_global_id(0);
    size_t n = get_global_size(0);
    int v = in[i];
    out[i] = work_group_reduce_add(v);
    out[n + i] = work_group_scan_exclusive_add(v);
    out[2 * n + i] = work_group_scan_inclusive_max(v);
    out[3 * n + i] = work_group_broadcast(v, get_local_size(0) / 2);
    out[4 * n + i] = work_group_any(v > 90) + 2 * work_group_all(v > 5);
    out[5 * n + i] = work_group_reduce_min(v);
}
