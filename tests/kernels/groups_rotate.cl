// translate: --spirv-max-version=1.3 --spirv-ext=+SPV_KHR_subgroup_rotate
// cl_khr_subgroup_rotate. Result r of work-item i is out[r * n + i].
#define OVERLOAD __attribute__((overloadable)) __attribute__((convergent))
#define ROTATES(T, W)                                                                                                  \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void rotate_##T##_##W(__global const T *in,                 \
                                                                                 __global T *out, int uniform)         \
    {                                                                                                                  \
        size_t n = get_global_size(0), i = get_global_id(0);                                                           \
        T v = in[i];                                                                                                   \
        out[i] = sub_group_rotate(v, uniform);                                                                         \
        out[n + i] = sub_group_rotate(v, 3);                                                                           \
        out[2 * n + i] = sub_group_clustered_rotate(v, uniform, 4u);                                                   \
        out[3 * n + i] = sub_group_clustered_rotate(v, 5, 8u);                                                         \
    }
#define TYPE(T)                                                                                                        \
    T OVERLOAD sub_group_rotate(T, int);                                                                               \
    T OVERLOAD sub_group_clustered_rotate(T, int, uint);                                                               \
    ROTATES(T, 8) ROTATES(T, 16) ROTATES(T, 32)
TYPE(char)
TYPE(int)
TYPE(float)
TYPE(ulong)
