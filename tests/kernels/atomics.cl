// Atomic read-modify-write on 32 and 64 bits, global and local. The results do not depend on the order.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// `cell` has 8 elements; `seen` collects what the increments returned, which must be all numbers once.
#define OPERATIONS(CELL, P)                                                                                            \
    {                                                                                                                  \
        P##_add(&CELL[0], v);                                                                                          \
        P##_sub(&CELL[1], v);                                                                                          \
        P##_min(&CELL[2], v);                                                                                          \
        P##_max(&CELL[3], v);                                                                                          \
        P##_and(&CELL[4], v | 3);                                                                                      \
        P##_or(&CELL[5], v & 0x7f);                                                                                    \
        P##_xor(&CELL[6], v);                                                                                          \
        P##_dec(&CELL[7]);                                                                                             \
    }
#define GLOBAL(T, P)                                                                                                   \
    __kernel void global_##T(__global const T *in, volatile __global T *cell, volatile __global T *next,               \
                             __global T *seen, uint n)                                                                 \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T v = in[i];                                                                                                   \
        OPERATIONS(cell, P)                                                                                            \
        seen[i] = P##_inc(next);                                                                                       \
    }
#define LOCAL(T, P)                                                                                                    \
    __kernel void local_##T(__global const T *in, __global T *out, __global T *seen, uint n)                           \
    {                                                                                                                  \
        volatile __local T cell[8];                                                                                    \
        volatile __local T next[1];                                                                                    \
        size_t lid = get_local_id(0);                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        for (size_t k = lid; k < 8; k += get_local_size(0))                                                            \
            cell[k] = out[get_group_id(0) * 8 + k];                                                                    \
        if (lid == 0)                                                                                                  \
            next[0] = 0;                                                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        if (i < n) {                                                                                                   \
            T v = in[i];                                                                                               \
            OPERATIONS(cell, P)                                                                                        \
            seen[i] = P##_inc(next);                                                                                   \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (size_t k = lid; k < 8; k += get_local_size(0))                                                            \
            out[get_group_id(0) * 8 + k] = cell[k];                                                                    \
    }
GLOBAL(int, atomic)
GLOBAL(uint, atomic)
GLOBAL(long, atom)
GLOBAL(ulong, atom)
LOCAL(int, atomic)
LOCAL(uint, atomic)
LOCAL(long, atom)
LOCAL(ulong, atom)

// Every value that was put in comes out once: what the exchanges returned plus what remains.
__kernel void exchange_uint(volatile __global uint *cell, __global uint *seen)
{
    seen[get_global_id(0)] = atomic_xchg(cell, (uint)get_global_id(0) + 1);
}

__kernel void exchange_ulong(volatile __global ulong *cell, __global ulong *seen)
{
    seen[get_global_id(0)] = atom_xchg(cell, (ulong)get_global_id(0) + 1);
}

__kernel void exchange_float(volatile __global float *cell, __global float *seen)
{
    seen[get_global_id(0)] = atomic_xchg(cell, (float)get_global_id(0) + 1.0f);
}

// Compare-and-exchange loops: lanes of one vector compete for one word, and each must get its turn.
__kernel void cas_loop_uint(__global const uint *in, volatile __global uint *cell, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint old, assumed = *cell;
    do {
        old = assumed;
        assumed = atomic_cmpxchg(cell, old, old + in[i]);
    } while (assumed != old);
}

__kernel void cas_loop_ulong(__global const ulong *in, volatile __global ulong *cell, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    ulong old, assumed = *cell;
    do {
        old = assumed;
        assumed = atom_cmpxchg(cell, old, old + in[i]);
    } while (assumed != old);
}

__kernel void cas_loop_local_float(__global const float *in, __global float *out)
{
    volatile __local uint cell[1];
    if (get_local_id(0) == 0)
        cell[0] = as_uint(0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint old, assumed = cell[0];
    do {
        old = assumed;
        assumed = atomic_cmpxchg(cell, old, as_uint(as_float(old) + in[get_global_id(0)]));
    } while (assumed != old);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = as_float(cell[0]);
}

// Atomics under a divergent mask, with a result that is used.
__kernel void compact_positive(__global const int *in, __global int *out, volatile __global uint *count, uint n)
{
    size_t i = get_global_id(0);
    if (i < n && in[i] > 0)
        out[atomic_inc(count)] = in[i];
}
