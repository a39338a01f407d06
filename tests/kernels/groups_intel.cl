// translate: --spirv-ext=+SPV_INTEL_subgroups
// cl_intel_subgroups, _short, _char, _long: shuffles between two vectors of lanes, and block access to buffers.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OVERLOAD __attribute__((overloadable))
#define DECLARE(T)                                                                                                     \
    T OVERLOAD intel_sub_group_shuffle(T, uint);                                                                       \
    T OVERLOAD intel_sub_group_shuffle_xor(T, uint);                                                                   \
    T OVERLOAD intel_sub_group_shuffle_up(T, T, uint);                                                                 \
    T OVERLOAD intel_sub_group_shuffle_down(T, T, uint);
#define SHUFFLES(T, NAME, W)                                                                                           \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void shuffle_##NAME##_##W(                                  \
        __global const T *a, __global const T *b, __global const uint *lanes, __global T *out, uint uniform)           \
    {                                                                                                                  \
        size_t n = get_global_size(0);                                                                                 \
        size_t i = get_global_id(0);                                                                                   \
        T x = a[i], y = b[i];                                                                                          \
        uint to = lanes[i];                                                                                            \
        out[i] = intel_sub_group_shuffle(x, to);                                                                       \
        out[n + i] = intel_sub_group_shuffle(x, uniform);                                                              \
        out[2 * n + i] = intel_sub_group_shuffle_xor(x, 3u);                                                           \
        out[3 * n + i] = intel_sub_group_shuffle_up(x, y, uniform);                                                    \
        out[4 * n + i] = intel_sub_group_shuffle_up(x, y, 2u);                                                         \
        out[5 * n + i] = intel_sub_group_shuffle_down(x, y, uniform);                                                  \
        out[6 * n + i] = intel_sub_group_shuffle_down(x, y, 5u);                                                       \
        out[7 * n + i] = intel_sub_group_shuffle_down(x, y, to);                                                       \
    }
#define SIZES(T, NAME) DECLARE(T) SHUFFLES(T, NAME, 8) SHUFFLES(T, NAME, 16) SHUFFLES(T, NAME, 32)
SIZES(int, int)
SIZES(float, float)
SIZES(ulong, ulong)
SIZES(double, double)
SIZES(short, short)
SIZES(half, half)
SIZES(int2, int2)
SIZES(float4, float4)

#define DECLARE_BLOCKS(S, T, SUFFIX)                                                                                   \
    T OVERLOAD intel_sub_group_block_read##SUFFIX(const __global S *);                                                 \
    void OVERLOAD intel_sub_group_block_write##SUFFIX(__global S *, T);
DECLARE_BLOCKS(uint, uint, )
DECLARE_BLOCKS(uint, uint2, 2)
DECLARE_BLOCKS(uint, uint4, 4)
DECLARE_BLOCKS(uint, uint8, 8)
DECLARE_BLOCKS(ushort, ushort, _us)
DECLARE_BLOCKS(ushort, ushort4, _us4)
DECLARE_BLOCKS(uchar, uchar, _uc)
DECLARE_BLOCKS(uchar, uchar16, _uc16)
DECLARE_BLOCKS(ulong, ulong, _ul)
DECLARE_BLOCKS(ulong, ulong2, _ul2)

// Each sub-group moves its own block of `count` elements a work-item.
#define BLOCKS(S, SUFFIX, COUNT, W)                                                                                    \
    __kernel __attribute__((intel_reqd_sub_group_size(W))) void block##SUFFIX##_##W(__global const S *in,              \
                                                                                    __global S *out)                   \
    {                                                                                                                  \
        size_t subgroups = get_num_sub_groups();                                                                       \
        size_t at = (get_group_id(0) * subgroups + get_sub_group_id()) * W * COUNT;                                    \
        intel_sub_group_block_write##SUFFIX(out + at, intel_sub_group_block_read##SUFFIX(in + at) + (S)1);             \
    }
#define BLOCK_SIZES(S, SUFFIX, COUNT)                                                                                  \
    BLOCKS(S, SUFFIX, COUNT, 8) BLOCKS(S, SUFFIX, COUNT, 16) BLOCKS(S, SUFFIX, COUNT, 32)
BLOCK_SIZES(uint, , 1)
BLOCK_SIZES(uint, 2, 2)
BLOCK_SIZES(uint, 4, 4)
BLOCK_SIZES(uint, 8, 8)
BLOCK_SIZES(ushort, _us, 1)
BLOCK_SIZES(ushort, _us4, 4)
BLOCK_SIZES(uchar, _uc, 1)
BLOCK_SIZES(uchar, _uc16, 16)
BLOCK_SIZES(ulong, _ul, 1)
BLOCK_SIZES(ulong, _ul2, 2)

// Blocks of 8 x 8, transposed in three steps. Each stores to one of two elements, which the lane chooses: compilers choose the address.
__attribute__((intel_reqd_sub_group_size(8))) __kernel void transposed(__global const int *in, __global int *out)
{
    uint lane = get_sub_group_local_id();
    size_t base = (get_global_id(0) - lane) * 8;
    int v[8];
#pragma unroll
    for (uint k = 0; k < 8; ++k)
        v[k] = in[base + 8 * k + lane];
#pragma unroll
    for (uint s = 1; s < 8; s <<= 1) {
        bool upper = lane & s;
#pragma unroll
        for (uint k = 0; k < 8; ++k) {
            if (k & s)
                continue;
            int got = intel_sub_group_shuffle_xor(upper ? v[k] : v[k | s], s);
            if (upper)
                v[k] = got;
            else
                v[k | s] = got;
        }
    }
#pragma unroll
    for (uint k = 0; k < 8; ++k)
        out[base + 8 * k + lane] = v[k];
}
