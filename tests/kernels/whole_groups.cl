// What is known where a work-group is one bundle: ids, sizes, and who takes part in what.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// Products of ids and sizes, which are to be rounded once, together with the sum.
__kernel void products(__global const float *in, __global float *out, __local float *all)
{
    int id = get_local_id(1) * get_local_size(0) + get_local_id(0);
    int size = get_local_size(0) * get_local_size(1);
    size_t at = get_group_id(0) * size + id;
    all[id] = (float)id * 0.1f + in[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    float other = all[size - 1 - id];
    out[3 * at] = other;
    out[3 * at + 1] = (float)get_local_size(0) * 0.3f + other;
    float chosen = id < 16 ? in[at] * 0.7f : in[at];
    out[3 * at + 2] = chosen + other;
}

// Some of the work-items go through what all have left, in loops.
__attribute__((intel_reqd_sub_group_size(16)))
__kernel void leaders(__global const int *in, __global int *out, __local int *all)
{
    int id = get_local_id(1) * get_local_size(0) + get_local_id(0);
    int size = get_local_size(0) * get_local_size(1);
    size_t at = get_group_id(0) * size + id;
    all[id] = in[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    int result = -1;
    if (get_sub_group_id() == 0) {
        result = INT_MIN;
        for (int i = get_sub_group_local_id(); i < size; i += get_sub_group_size())
            result = max(result, all[i]);
    }
    if (id == size - 1) {
        result = 0;
        for (int i = 0; i < size; i++)
            result = 31 * result + all[i];
    }
    if (id >= 32 && id < 48) {
        result = all[id];
        for (int i = 0; i < (all[id] & 7); i++)
            result ^= all[i] << i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = size / 2; half_size > 0; half_size /= 2) {
        if (id < half_size)
            all[id] += all[id + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[at] = result ^ all[0];
}
