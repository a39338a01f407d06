// translate: --spirv-max-version=1.3
// Values that move between the lanes of a sub-group, votes and ballots under any mask (cl_khr_subgroup_extended_types,
// _shuffle, _shuffle_relative, _ballot, _non_uniform_vote). Result r of work-item i is out[r * n + i].
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define SIZES(KERNEL, T) KERNEL(T, 8) KERNEL(T, 16) KERNEL(T, 32)
#define HEAD                                                                                                           \
    size_t n = get_global_size(0) * get_global_size(1);                                                                \
    size_t i = get_global_linear_id();

// `uniform` is the same number for all work-items.
#define SHUFFLES(T, W)                                                                                                 \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void shuffle_##T##_##W(                                     \
        __global const T *in, __global const uchar *on, __global const uint *lanes, __global T *out, uint uniform)     \
    {                                                                                                                  \
        HEAD                                                                                                           \
        T v = in[i];                                                                                                   \
        uint to = lanes[i];                                                                                            \
        if (on[i]) {                                                                                                   \
            out[i] = sub_group_shuffle(v, to);                                                                         \
            out[n + i] = sub_group_shuffle(v, uniform);                                                                \
            out[2 * n + i] = sub_group_shuffle(v, 3u);                                                                 \
            out[3 * n + i] = sub_group_shuffle_xor(v, uniform);                                                        \
            out[4 * n + i] = sub_group_shuffle_xor(v, 5u);                                                             \
            out[5 * n + i] = sub_group_shuffle_xor(v, to);                                                             \
            out[6 * n + i] = sub_group_shuffle_up(v, uniform);                                                         \
            out[7 * n + i] = sub_group_shuffle_up(v, 2u);                                                              \
            out[8 * n + i] = sub_group_shuffle_down(v, uniform);                                                       \
            out[9 * n + i] = sub_group_shuffle_down(v, 3u);                                                            \
            out[10 * n + i] = sub_group_non_uniform_broadcast(v, 2u);                                                  \
            out[11 * n + i] = sub_group_broadcast_first(v);                                                            \
        }                                                                                                              \
    }
SIZES(SHUFFLES, char)
SIZES(SHUFFLES, ushort)
SIZES(SHUFFLES, int)
SIZES(SHUFFLES, ulong)
SIZES(SHUFFLES, half)
SIZES(SHUFFLES, float)
SIZES(SHUFFLES, double)

#define BALLOTS(T, W)                                                                                                  \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void votes_##W(                                             \
        __global const T *in, __global const uchar *on, __global const uint *lanes, __global uint *out, uint uniform)  \
    {                                                                                                                  \
        HEAD                                                                                                           \
        T v = in[i];                                                                                                   \
        if (on[i]) {                                                                                                   \
            uint4 bits = sub_group_ballot(v > 0);                                                                      \
            uint4 own = (uint4)(lanes[i] * 0x01234567u, 1, 2, 3);                                                      \
            out[i] = bits.x;                                                                                           \
            out[n + i] = bits.y | bits.z | bits.w;                                                                     \
            out[2 * n + i] = sub_group_elect();                                                                        \
            out[3 * n + i] = sub_group_non_uniform_all(v > -90);                                                       \
            out[4 * n + i] = sub_group_non_uniform_any(v > 90);                                                        \
            out[5 * n + i] = sub_group_non_uniform_all_equal(v >> 8);                                                  \
            out[6 * n + i] = sub_group_inverse_ballot(bits);                                                           \
            out[7 * n + i] = sub_group_ballot_bit_extract(bits, lanes[i] % W);                                         \
            out[8 * n + i] = sub_group_ballot_bit_extract(own, lanes[i] % 40);                                         \
            out[9 * n + i] = sub_group_ballot_bit_count(bits);                                                         \
            out[10 * n + i] = sub_group_ballot_inclusive_scan(bits);                                                   \
            out[11 * n + i] = sub_group_ballot_exclusive_scan(bits);                                                   \
            out[12 * n + i] = bits.x ? sub_group_ballot_find_lsb(bits) : 99;                                           \
            out[13 * n + i] = bits.x ? sub_group_ballot_find_msb(bits) : 99;                                           \
            out[14 * n + i] = get_sub_group_eq_mask().x;                                                               \
            out[15 * n + i] = get_sub_group_lt_mask().x;                                                               \
            out[16 * n + i] = sub_group_non_uniform_all_equal(v);                                                      \
        }                                                                                                              \
    }
SIZES(BALLOTS, int)

// Rows of 32 work-items, and of a number that a loop begins with: whoever exchanges values over such distances relies on sub-groups
// that are as large, though it does not say so.
__kernel void rows_of_32(__global const uint *in, __global uint *out, __global uint *size)
{
    size_t i = get_global_id(0);
    uint sum = in[i];
    sum += sub_group_shuffle_down(sum, 16u);
    sum += sub_group_shuffle_down(sum, 8u);
    sum += sub_group_shuffle_down(sum, 4u);
    sum += sub_group_shuffle_down(sum, 2u);
    sum += sub_group_shuffle_down(sum, 1u);
    if (i % 32 == 0)
        out[i / 32] = sum;
    size[i] = get_sub_group_size();
}

__kernel void rows_of_16(__global const uint *in, __global uint *out, __global uint *size)
{
    size_t i = get_global_id(0);
    uint sum = in[i];
#pragma nounroll
    for (uint by = 8; by > 0; by >>= 1)
        sum += sub_group_shuffle_xor(sum, by);
    if (i % 16 == 0)
        out[i / 16] = sum;
    size[i] = get_sub_group_size();
}
