// translate: --spirv-ext=+SPV_KHR_uniform_group_instructions
// Collectives of work-groups, again and again, so that what they share between sub-groups is used again at once.
// Result r of round k of work-item i is out[(k * RESULTS + r) * n + i].
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OVERLOAD __attribute__((overloadable))
#define RESULTS 21

#define HEAD                                                                                                           \
    size_t n = get_global_size(0) * get_global_size(1) * get_global_size(2);                                           \
    size_t i = get_global_linear_id();

#define BASIC(OP, R)                                                                                                   \
    o[(R) * n] = work_group_reduce_##OP(v);                                                                            \
    o[((R) + 1) * n] = work_group_scan_inclusive_##OP(v);                                                              \
    o[((R) + 2) * n] = work_group_scan_exclusive_##OP(v);

// 32 lanes and whatever the engine prefers for the group size; 8 and 16 lanes for two of the types.
#define KERNEL(T, NAME, ATTRIBUTE, BODY)                                                                               \
    __kernel ATTRIBUTE void NAME(__global const T *in, __global T *out, uint rounds)                                   \
    {                                                                                                                  \
        HEAD;                                                                                                          \
        for (uint k = 0; k < rounds; ++k) {                                                                            \
            T v = in[(i + k) % n];                                                                                     \
            __global T *o = out + k * RESULTS * n + i;                                                                 \
            BODY                                                                                                       \
        }                                                                                                              \
    }
#define MORE_KERNELS(T, BODY)                                                                                          \
    KERNEL(T, T##_8, __attribute__((intel_reqd_sub_group_size(8))), BODY)                                              \
    KERNEL(T, T##_16, __attribute__((intel_reqd_sub_group_size(16))), BODY)
#define KERNELS(T, BODY)                                                                                               \
    KERNEL(T, T##_32, __attribute__((intel_reqd_sub_group_size(32))), BODY)                                            \
    KERNEL(T, T##_0, , BODY)

// Operands: the scope (2: work-group) and the operation (0: reduce, 1: inclusive scan, 2: exclusive scan).
#define KHR(OP, R)                                                                                                     \
    o[(R) * n] = __spirv_Group##OP##KHR(2, 0, v);                                                                      \
    o[((R) + 1) * n] = __spirv_Group##OP##KHR(2, 1, v);                                                                \
    o[((R) + 2) * n] = __spirv_Group##OP##KHR(2, 2, v);
#define DECLARE(T, OP) T OVERLOAD __attribute__((convergent)) __spirv_Group##OP##KHR(uint, uint, T);
#define DECLARE_BITS(T) DECLARE(T, IMul) DECLARE(T, BitwiseAnd) DECLARE(T, BitwiseOr) DECLARE(T, BitwiseXor)
DECLARE_BITS(int)
DECLARE_BITS(uint)
DECLARE_BITS(long)
DECLARE_BITS(ulong)
DECLARE(half, FMul)
DECLARE(float, FMul)
DECLARE(double, FMul)

#define NUMBERS BASIC(add, 0) BASIC(min, 6) BASIC(max, 9)
#define INTEGERS KHR(IMul, 3) KHR(BitwiseAnd, 12) KHR(BitwiseOr, 15) KHR(BitwiseXor, 18)
KERNELS(int, NUMBERS INTEGERS)
MORE_KERNELS(int, NUMBERS INTEGERS)
KERNELS(uint, NUMBERS INTEGERS)
KERNELS(long, NUMBERS INTEGERS)
KERNELS(ulong, NUMBERS INTEGERS)
KERNELS(half, NUMBERS KHR(FMul, 3))
KERNELS(float, NUMBERS KHR(FMul, 3))
MORE_KERNELS(float, NUMBERS KHR(FMul, 3))
KERNELS(double, NUMBERS KHR(FMul, 3))

// Votes and broadcasts, whose source each work-group picks by its id, and logical operations. Six results a round.
bool OVERLOAD __attribute__((convergent)) __spirv_GroupLogicalAndKHR(uint, uint, bool);
bool OVERLOAD __attribute__((convergent)) __spirv_GroupLogicalOrKHR(uint, uint, bool);
bool OVERLOAD __attribute__((convergent)) __spirv_GroupLogicalXorKHR(uint, uint, bool);
#define BROADCASTS(W)                                                                                                  \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void broadcast_##W(__global const long *in,                 \
                                                                              __global long *out, uint rounds)         \
    {                                                                                                                  \
        HEAD;                                                                                                          \
        for (uint k = 0; k < rounds; ++k) {                                                                            \
            long v = in[(i + k) % n];                                                                                  \
            size_t x = (get_group_id(0) + k) % get_local_size(0);                                                      \
            size_t y = (get_group_id(0) + 3 * k) % get_local_size(1);                                                  \
            size_t z = (7 * k) % get_local_size(2);                                                                    \
            __global long *o = out + k * 6 * n + i;                                                                    \
            if (get_work_dim() == 1)                                                                                   \
                o[0] = work_group_broadcast(v, x);                                                                     \
            else if (get_work_dim() == 2)                                                                              \
                o[0] = work_group_broadcast(v, x, y);                                                                  \
            else                                                                                                       \
                o[0] = work_group_broadcast(v, x, y, z);                                                               \
            o[n] = work_group_any(v > 99);                                                                             \
            o[2 * n] = work_group_all(v > -99);                                                                        \
            o[3 * n] = __spirv_GroupLogicalAndKHR(2, 0, v > -99);                                                      \
            o[4 * n] = __spirv_GroupLogicalOrKHR(2, 1, v > 95);                                                        \
            o[5 * n] = __spirv_GroupLogicalXorKHR(2, 2, v > 0);                                                        \
        }                                                                                                              \
    }
BROADCASTS(8)
BROADCASTS(16)
BROADCASTS(32)

// A broadcast of 128 bytes, after another collective and before the next.
double16 OVERLOAD __attribute__((convergent)) __spirv_GroupBroadcast(uint, double16, ulong);
__kernel void broadcast_vector(__global const double16 *in, __global double16 *out, __global int *sums)
{
    size_t i = get_global_id(0);
    int first = work_group_reduce_add((int)i);
    double16 v = __spirv_GroupBroadcast(2, in[i], get_local_size(0) - 1);
    sums[i] = first + work_group_reduce_max((int)i);
    out[i] = v;
}

#define COPIES(T)                                                                                                      \
    __kernel void copy_##T(__global const T *in, __global T *out, __local T *tile, uint stride)                        \
    {                                                                                                                  \
        size_t size = get_local_size(0), group = get_group_id(0), lid = get_local_id(0);                               \
        event_t event = async_work_group_copy(tile, in + group * size, size, 0);                                       \
        event = async_work_group_strided_copy(tile + size, in + group * size, size / stride, stride, event);           \
        wait_group_events(1, &event);                                                                                  \
        T mine = tile[size - 1 - lid];                                                                                 \
        if (lid < size / stride)                                                                                       \
            out[group * size + lid] = tile[size + lid];                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        tile[lid] = mine;                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        __global T *rest = out + get_global_size(0) + group * size * stride;                                           \
        event = async_work_group_strided_copy(rest, tile, size, stride, 0);                                            \
        wait_group_events(1, &event);                                                                                  \
    }
COPIES(char)
COPIES(short)
COPIES(int)
COPIES(double)
COPIES(float4)
COPIES(int3)
COPIES(ulong16)
