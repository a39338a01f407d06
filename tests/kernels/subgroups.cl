// Sub-group built-ins of cl_khr_subgroups: identity, collective operations and barriers.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define FIELDS 6

__kernel void sub_group_ids(__global uint *out)
{
    __global uint *r = out + get_global_linear_id() * FIELDS;
    r[0] = get_sub_group_size();
    r[1] = get_max_sub_group_size();
    r[2] = get_num_sub_groups();
    r[3] = get_sub_group_id();
    r[4] = get_sub_group_local_id();
    r[5] = get_enqueued_num_sub_groups();
}

#define COLLECTIVES(T)                                                                                                 \
    __kernel void sub_group_##T(__global const T *in, __global T *out, __global uint *group)                           \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        T v = in[i];                                                                                                   \
        size_t n = get_global_size(0);                                                                                 \
        group[i] = get_sub_group_id();                                                                                 \
        out[i] = sub_group_reduce_add(v);                                                                              \
        out[n + i] = sub_group_reduce_min(v);                                                                          \
        out[2 * n + i] = sub_group_reduce_max(v);                                                                      \
        out[3 * n + i] = sub_group_scan_inclusive_add(v);                                                              \
        out[4 * n + i] = sub_group_scan_exclusive_add(v);                                                              \
        out[5 * n + i] = sub_group_scan_inclusive_min(v);                                                              \
        out[6 * n + i] = sub_group_scan_inclusive_max(v);                                                              \
        out[7 * n + i] = sub_group_scan_exclusive_min(v);                                                              \
        out[8 * n + i] = sub_group_scan_exclusive_max(v);                                                              \
        out[9 * n + i] = sub_group_broadcast(v, 0);                                                                    \
        out[10 * n + i] = sub_group_broadcast(v, get_sub_group_size() - 1);                                            \
    }
COLLECTIVES(int)
COLLECTIVES(uint)
COLLECTIVES(long)
COLLECTIVES(ulong)
COLLECTIVES(float)
COLLECTIVES(double)

__kernel void sub_group_votes(__global const int *in, __global int *out)
{
    size_t i = get_global_id(0);
    int v = in[i];
    out[i] = sub_group_any(v > 90) + 2 * sub_group_all(v > 5);
}

__kernel __attribute__((intel_reqd_sub_group_size(8))) void required_8(__global uint *out)
{
    out[get_global_id(0)] = get_max_sub_group_size();
}

__kernel __attribute__((intel_reqd_sub_group_size(16))) void required_16(__global uint *out)
{
    out[get_global_id(0)] = get_max_sub_group_size();
}

__kernel __attribute__((intel_reqd_sub_group_size(32))) void required_32(__global uint *out)
{
    out[get_global_id(0)] = get_max_sub_group_size();
}

// A reduction over a work-group by way of its sub-groups.
__kernel void hierarchical_sum(__global const int *in, __global int *out, __local int *partial)
{
    int sum = sub_group_reduce_add(in[get_global_id(0)]);
    if (get_sub_group_local_id() == 0)
        partial[get_sub_group_id()] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        int total = 0;
        for (uint k = 0; k < get_num_sub_groups(); ++k)
            total += partial[k];
        out[get_group_id(0)] = total;
    }
}
