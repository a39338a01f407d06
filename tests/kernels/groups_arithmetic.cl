// translate: --spirv-max-version=1.3
// Reductions and scans of sub-groups under any mask (cl_khr_subgroup_non_uniform_arithmetic, _clustered_reduce), of every
// type and sub-group size. Result r of work-item i is out[r * n + i].
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define THREE(R, OP, V)                                                                                                \
    out[(R) * n + i] = sub_group_non_uniform_reduce_##OP(V);                                                           \
    out[((R) + 1) * n + i] = sub_group_non_uniform_scan_inclusive_##OP(V);                                             \
    out[((R) + 2) * n + i] = sub_group_non_uniform_scan_exclusive_##OP(V);
#define NUMBERS THREE(0, add, v) THREE(3, mul, v) THREE(6, min, v) THREE(9, max, v)
#define BITS THREE(12, and, v) THREE(15, or, v) THREE(18, xor, v)
#define CLUSTERS                                                                                                       \
    out[21 * n + i] = sub_group_clustered_reduce_add(v, 4);                                                            \
    out[22 * n + i] = sub_group_clustered_reduce_max(v, 2);                                                            \
    out[23 * n + i] = sub_group_clustered_reduce_min(v, 8);                                                            \
    out[24 * n + i] = sub_group_clustered_reduce_add(v, 1);
#define KERNEL(T, W, BODY)                                                                                             \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void T##_##W(__global const T *in, __global const uchar *on, \
                                                                        __global T *out)                               \
    {                                                                                                                  \
        size_t n = get_global_size(0) * get_global_size(1);                                                            \
        size_t i = get_global_linear_id();                                                                             \
        T v = in[i];                                                                                                   \
        if (on[i]) {                                                                                                   \
            BODY                                                                                                       \
        }                                                                                                              \
    }
#define WIDTHS(T, BODY) KERNEL(T, 8, BODY) KERNEL(T, 16, BODY) KERNEL(T, 32, BODY)
WIDTHS(char, NUMBERS BITS CLUSTERS)
WIDTHS(uchar, NUMBERS BITS CLUSTERS)
WIDTHS(short, NUMBERS BITS CLUSTERS)
WIDTHS(ushort, NUMBERS BITS CLUSTERS)
WIDTHS(int, NUMBERS BITS CLUSTERS)
WIDTHS(uint, NUMBERS BITS CLUSTERS)
WIDTHS(long, NUMBERS BITS CLUSTERS)
WIDTHS(ulong, NUMBERS BITS CLUSTERS)
WIDTHS(half, NUMBERS CLUSTERS)
WIDTHS(float, NUMBERS CLUSTERS)
WIDTHS(double, NUMBERS CLUSTERS)

#define LOGICAL(W)                                                                                                     \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void logical_##W(                                           \
        __global const int *in, __global const uchar *on, __global int *out)                                           \
    {                                                                                                                  \
        size_t n = get_global_size(0) * get_global_size(1);                                                            \
        size_t i = get_global_linear_id();                                                                             \
        int v = in[i] & 1;                                                                                             \
        if (on[i]) {                                                                                                   \
            THREE(0, logical_and, v) THREE(3, logical_or, v) THREE(6, logical_xor, v)                                  \
        }                                                                                                              \
    }
LOGICAL(8)
LOGICAL(16)
LOGICAL(32)
