// convert_T between all scalar types, with saturation and the four rounding modes where they differ.
// Each kernel writes its variants into consecutive arrays of `n`.
#define COMMON(FROM, TO)                                                                                               \
    out[i] = convert_##TO(in[i]);                                                                                      \
    out[n + i] = convert_##TO##_rte(in[i]);                                                                            \
    out[2 * n + i] = convert_##TO##_rtz(in[i]);                                                                        \
    out[3 * n + i] = convert_##TO##_rtp(in[i]);                                                                        \
    out[4 * n + i] = convert_##TO##_rtn(in[i]);
#define SATURATED(FROM, TO)                                                                                            \
    out[5 * n + i] = convert_##TO##_sat(in[i]);                                                                        \
    out[6 * n + i] = convert_##TO##_sat_rte(in[i]);                                                                    \
    out[7 * n + i] = convert_##TO##_sat_rtz(in[i]);                                                                    \
    out[8 * n + i] = convert_##TO##_sat_rtp(in[i]);                                                                    \
    out[9 * n + i] = convert_##TO##_sat_rtn(in[i]);
#define KERNEL(FROM, TO, ...)                                                                                          \
    __kernel void FROM##_to_##TO(__global const FROM *in, __global TO *out, uint n)                                    \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i < n) {                                                                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define TO_INTEGER(FROM, TO) KERNEL(FROM, TO, COMMON(FROM, TO) SATURATED(FROM, TO))
#define TO_FLOAT(FROM, TO) KERNEL(FROM, TO, COMMON(FROM, TO))
#define FROM_TYPE(FROM)                                                                                                \
    TO_INTEGER(FROM, char)                                                                                             \
    TO_INTEGER(FROM, uchar)                                                                                            \
    TO_INTEGER(FROM, short)                                                                                            \
    TO_INTEGER(FROM, ushort)                                                                                           \
    TO_INTEGER(FROM, int)                                                                                              \
    TO_INTEGER(FROM, uint)                                                                                             \
    TO_INTEGER(FROM, long)                                                                                             \
    TO_INTEGER(FROM, ulong)                                                                                            \
    TO_FLOAT(FROM, float)                                                                                              \
    TO_FLOAT(FROM, double)
FROM_TYPE(char)
FROM_TYPE(uchar)
FROM_TYPE(short)
FROM_TYPE(ushort)
FROM_TYPE(int)
FROM_TYPE(uint)
FROM_TYPE(long)
FROM_TYPE(ulong)
FROM_TYPE(float)
FROM_TYPE(double)

// Vector conversions: the same instruction on the longest and on the odd length.
__kernel void vector_conversions(__global const float *in, __global int *ints, __global uchar *bytes,
                                 __global double *doubles, uint count)
{
    size_t i = get_global_id(0);
    if (i >= count)
        return;
    vstore3(convert_int3_rtn(vload3(i, in)), i, ints);
    vstore16(convert_uchar16_sat_rte(vload16(i, in)), i, bytes);
    vstore4(convert_double4(vload4(i, in)), i, doubles);
}

// The same bits as another type.
__kernel void bit_casts(__global const float *in, __global uint *bits, __global ushort *halves, __global ulong *pairs,
                        uint count)
{
    size_t i = get_global_id(0);
    if (i >= count)
        return;
    float4 v = vload4(i, in);
    vstore4(as_uint4(v), i, bits);
    vstore8(as_ushort8(v), i, halves);
    vstore2(as_ulong2(v), i, pairs);
}

// A loop goes on with what it has converted: LLVM's translator decorates ids that it gives up then.
__kernel void saturated_sums(__global const int *in, __global ushort *out, __global int *rounded, int n)
{
    size_t i = get_global_id(0);
    ushort sum = 0;
    char steps = 0;
    int whole = 0;
    for (int k = 0; k < n; k++) {
        sum = convert_ushort_sat((ulong)sum + (ulong)in[i]);
        steps = convert_char_sat(steps + (in[i] & 63));
        whole = convert_int_rtp(whole * 0.75f + in[i] * 0.125f);
    }
    out[2 * i] = sum;
    out[2 * i + 1] = (ushort)steps;
    rounded[i] = whole;
}

// Vectors of narrower numbers, each to two places.
#define TWICE(FROM, TO)                                                                              \
    __kernel void twice_##FROM##_##TO(__global const FROM *in, __global TO *out)                     \
    {                                                                                                \
        size_t i = get_global_id(0);                                                                 \
        TO narrow = convert_##TO(in[i]);                                                             \
        out[2 * i] = narrow;                                                                         \
        out[2 * i + 1] = narrow;                                                                     \
    }
TWICE(uint4, ushort4)
TWICE(ulong4, uint4)
TWICE(ulong4, uchar4)
TWICE(ulong2, ushort2)
TWICE(uint2, ushort2)
TWICE(uint4, uchar4)
TWICE(ushort4, uchar4)
TWICE(ushort3, uchar3)
TWICE(uint8, ushort8)
