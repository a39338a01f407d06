// Several atomic instructions on local memory next to each other: of tables that lie 1024 bytes apart and others, by small indices and any, with
// loads in between, and of one place twice.

#define GROUP_BY(NAME, T, ADD, COUNT, INDEX)                                                                          \
    __kernel void NAME(uint rows, __global const uint *key, __global const T *amount, __global T *out)                \
    {                                                                                                                 \
        volatile __local T total[COUNT], lowest[COUNT], highest[COUNT], times[COUNT];                                 \
        for (uint i = get_local_id(0); i < COUNT; i += get_local_size(0)) {                                           \
            total[i] = lowest[i] = highest[i] = times[i] = 0;                                                         \
        }                                                                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
        /* each work-group has its own rows */                                                                        \
        for (uint row = get_group_id(0) * rows + get_local_id(0); row < (get_group_id(0) + 1) * rows;                 \
             row += get_local_size(0)) {                                                                              \
            const uint group = INDEX(key[row]);                                                                       \
            ADD(&total[group], amount[row]);                                                                          \
            atomic_min(&lowest[group], amount[row]);                                                                  \
            atomic_max(&highest[group], amount[row]);                                                                 \
            atomic_xor(&times[group], amount[row]);                                                                   \
            /* a fifth one, of a table that is changed already */                                                     \
            atomic_sub(&total[group], (T)1);                                                                          \
        }                                                                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                 \
        for (uint i = get_local_id(0); i < COUNT; i += get_local_size(0)) {                                           \
            __global T *mine = out + 4 * (get_group_id(0) * COUNT + i);                                               \
            mine[0] = total[i], mine[1] = lowest[i], mine[2] = highest[i], mine[3] = times[i];                        \
        }                                                                                                             \
    }
#define BYTE(KEY) (uchar)(KEY)
#define ANY(KEY) (KEY) / 3
GROUP_BY(bytes_int, int, atomic_add, 256, BYTE)
GROUP_BY(any_int, int, atomic_add, 100, ANY)

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define atomic_add atom_add
#define atomic_sub atom_sub
#define atomic_min atom_min
#define atomic_max atom_max
#define atomic_xor atom_xor
GROUP_BY(bytes_long, long, atomic_add, 256, BYTE)
GROUP_BY(any_long, long, atomic_add, 100, ANY)

// Each work-item puts its number into two places, and takes it out of the first by way of the second's old value, which is used: a run must not
// go on behind that.
__kernel void in_order(uint items, __global uint *out)
{
    volatile __local uint first[64], second[64];
    const uint lid = get_local_id(0), at = lid * 5 % 64;
    first[lid] = 1000, second[lid] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) < items) {
        atomic_xchg(&first[at], lid);
        atomic_add(&first[at], 3);
        const uint old = atomic_add(&second[at], first[at]);
        atomic_sub(&first[at], old);
        atomic_xchg(&second[at], lid);
        atomic_or(&second[at], 64);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[2 * get_global_id(0)] = first[lid];
    out[2 * get_global_id(0) + 1] = second[lid];
}
