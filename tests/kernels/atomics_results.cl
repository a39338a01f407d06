// translate: --spirv-ext=+SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max
// What atomics return, in global and local memory: to lanes with addresses of their own and to lanes that share one.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define OVERLOAD __attribute__((overloadable))

// `cells` has `count` cells for the first operation, whose address varies, and one more that all work-items share. `olds`
// takes what both returned; `quiet` has the same cells, for operations whose result nobody reads.
#define KERNELS(T, OP, NAME, F)                                                                                        \
    __kernel void global_##NAME##_##T(__global const T *in, __global const uchar *on, __global T *cells, uint count,   \
                                      __global T *olds, __global T *quiet)                                             \
    {                                                                                                                  \
        size_t n = get_global_size(0), i = get_global_id(0);                                                           \
        T v = in[i];                                                                                                   \
        if (on[i]) {                                                                                                   \
            olds[i] = F(OP, &cells[i * 5 % count], v);                                                                 \
            olds[n + i] = F(OP, &cells[count], v);                                                                     \
            (void)F(OP, &quiet[i * 5 % count], v);                                                                     \
            (void)F(OP, &quiet[count], v);                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    __kernel void local_##NAME##_##T(__global const T *in, __global const uchar *on, __global T *cells, uint count,    \
                                     __global T *olds, __global T *quiet)                                              \
    {                                                                                                                  \
        __local T c[64], q[64];                                                                                        \
        size_t n = get_global_size(0), i = get_global_id(0);                                                           \
        for (size_t k = get_local_id(0); k <= count; k += get_local_size(0)) {                                         \
            c[k] = cells[k];                                                                                           \
            q[k] = quiet[k];                                                                                           \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        T v = in[i];                                                                                                   \
        if (on[i]) {                                                                                                   \
            olds[i] = F(OP, &c[i * 5 % count], v);                                                                     \
            olds[n + i] = F(OP, &c[count], v);                                                                         \
            (void)F(OP, &q[i * 5 % count], v);                                                                         \
            (void)F(OP, &q[count], v);                                                                                 \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (size_t k = get_local_id(0); k <= count; k += get_local_size(0)) {                                         \
            cells[k] = c[k];                                                                                           \
            quiet[k] = q[k];                                                                                           \
        }                                                                                                              \
    }
#define TWO(OP, P, V) OP(P, V)
#define ONE(OP, P, V) ((void)(V), OP(P))
#define INTEGERS(T, PREFIX)                                                                                            \
    KERNELS(T, PREFIX##_add, add, TWO)                                                                                 \
    KERNELS(T, PREFIX##_sub, sub, TWO)                                                                                 \
    KERNELS(T, PREFIX##_min, min, TWO)                                                                                 \
    KERNELS(T, PREFIX##_max, max, TWO)                                                                                 \
    KERNELS(T, PREFIX##_and, and, TWO)                                                                                 \
    KERNELS(T, PREFIX##_or, or, TWO)                                                                                   \
    KERNELS(T, PREFIX##_xor, xor, TWO)                                                                                 \
    KERNELS(T, PREFIX##_xchg, exchange, TWO)                                                                           \
    KERNELS(T, PREFIX##_inc, increment, ONE)                                                                           \
    KERNELS(T, PREFIX##_dec, decrement, ONE)
INTEGERS(int, atomic)
INTEGERS(uint, atomic)
INTEGERS(long, atom)
INTEGERS(ulong, atom)
KERNELS(float, atomic_xchg, exchange, TWO)

// Scope 1: the device. Semantics 0: relaxed.
#define EXTENDED(OP, P, V) __spirv_Atomic##OP##EXT(P, 1, 0, V)
#define DECLARE(T, OP)                                                                                                 \
    T OVERLOAD __spirv_Atomic##OP##EXT(__global T *, int, int, T);                                                     \
    T OVERLOAD __spirv_Atomic##OP##EXT(__local T *, int, int, T);
#define FLOATS(T)                                                                                                      \
    DECLARE(T, FAdd)                                                                                                   \
    DECLARE(T, FMin)                                                                                                   \
    DECLARE(T, FMax)                                                                                                   \
    KERNELS(T, FAdd, add, EXTENDED)                                                                                    \
    KERNELS(T, FMin, min, EXTENDED)                                                                                    \
    KERNELS(T, FMax, max, EXTENDED)
FLOATS(float)
FLOATS(double)

// Loads and stores with every order, each work-item its own cell or all the first.
__kernel void loads_and_stores(__global atomic_int *in, __global const uchar *on, __global atomic_int *out,
                               __global int *seen)
{
    size_t n = get_global_size(0), i = get_global_id(0);
    if (on[i]) {
        seen[i] = atomic_load_explicit(&in[i], memory_order_relaxed, memory_scope_device);
        seen[n + i] = atomic_load_explicit(&in[n - 1 - i], memory_order_acquire, memory_scope_device);
        seen[2 * n + i] = atomic_load(&in[i * 7 % n]);
        seen[3 * n + i] = atomic_load(&in[0]);
        atomic_store_explicit(&out[i], (int)i, memory_order_relaxed, memory_scope_device);
        atomic_store_explicit(&out[2 * n - 1 - i], (int)i, memory_order_release, memory_scope_device);
        atomic_store(&out[2 * n + i * 3], (int)i);
        atomic_store(&out[5 * n], 5);
        atomic_store_explicit(&out[5 * n + 1], (int)i, memory_order_relaxed, memory_scope_device);
    }
}

// Flags: of the work-items that find one clear, there is one for each flag and round.
__kernel void flags(__global atomic_flag *flag, __global uint *wins, uint count)
{
    __local atomic_flag mine[1];
    size_t i = get_global_id(0);
    if (get_local_id(0) == 0)
        atomic_flag_clear(&mine[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    wins[i] = !atomic_flag_test_and_set(&flag[i % count]);
    wins[i] += 2 * !atomic_flag_test_and_set_explicit(&mine[0], memory_order_relaxed, memory_scope_work_group);
}

// Compare and exchange on cells of each lane's own: lanes whose expectation holds change them.
__kernel void compare(volatile __global uint *cells, __global const uint *expected, __global const uchar *on,
                      __global uint *olds)
{
    size_t i = get_global_id(0);
    if (on[i])
        olds[i] = atomic_cmpxchg(&cells[i ^ 1], expected[i], (uint)i + 1000);
}

// A producer in one sub-group and a consumer in another of the same work-group, by way of fences.
__kernel void fences(__global const int *in, __global int *out, __global int *shared)
{
    size_t i = get_global_id(0), last = get_local_size(0) - 1;
    __global int *mine = shared + get_group_id(0) * get_local_size(0);
    mine[get_local_id(0)] = in[i];
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_all_svm_devices);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = mine[last - get_local_id(0)];
}
