// The integer functions of OpenCL.std on every width. Slot `s` of the result holds function `s` over all elements.
#define SLOT(s) out[(s) * n + i]

// U is the unsigned type of T's size.
#define FUNCTIONS(T, U)                                                                                                \
    __kernel void builtins_##T(__global const T *a, __global const T *b, __global const T *c, __global T *out, uint n) \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T x = a[i];                                                                                                    \
        T y = b[i];                                                                                                    \
        T z = c[i];                                                                                                    \
        SLOT(0) = (T)abs(x);                                                                                           \
        SLOT(1) = (T)abs_diff(x, y);                                                                                   \
        SLOT(2) = add_sat(x, y);                                                                                       \
        SLOT(3) = sub_sat(x, y);                                                                                       \
        SLOT(4) = hadd(x, y);                                                                                          \
        SLOT(5) = rhadd(x, y);                                                                                         \
        SLOT(6) = clz(x);                                                                                              \
        SLOT(7) = ctz(x);                                                                                              \
        SLOT(8) = popcount(x);                                                                                         \
        SLOT(9) = mul_hi(x, y);                                                                                        \
        SLOT(10) = mad_hi(x, y, z);                                                                                    \
        SLOT(11) = mad_sat(x, y, z);                                                                                   \
        SLOT(12) = rotate(x, y);                                                                                       \
        SLOT(13) = min(x, y);                                                                                          \
        SLOT(14) = max(x, y);                                                                                          \
        SLOT(15) = clamp(x, min(y, z), max(y, z));                                                                     \
    }
FUNCTIONS(char, uchar)
FUNCTIONS(uchar, uchar)
FUNCTIONS(short, ushort)
FUNCTIONS(ushort, ushort)
FUNCTIONS(int, uint)
FUNCTIONS(uint, uint)
FUNCTIONS(long, ulong)
FUNCTIONS(ulong, ulong)

#define MULTIPLY_24(T)                                                                                                 \
    __kernel void multiply24_##T(__global const T *a, __global const T *b, __global const T *c, __global T *out,       \
                                 uint n)                                                                               \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        SLOT(0) = mul24(a[i], b[i]);                                                                                   \
        SLOT(1) = mad24(a[i], b[i], c[i]);                                                                             \
    }
MULTIPLY_24(int)
MULTIPLY_24(uint)

#define UPSAMPLE(T, LOW, WIDE)                                                                                         \
    __kernel void upsample_##T(__global const T *high, __global const LOW *low, __global WIDE *out, uint n)            \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i < n)                                                                                                     \
            out[i] = upsample(high[i], low[i]);                                                                        \
    }
UPSAMPLE(char, uchar, short)
UPSAMPLE(uchar, uchar, ushort)
UPSAMPLE(short, ushort, int)
UPSAMPLE(ushort, ushort, uint)
UPSAMPLE(int, uint, long)
UPSAMPLE(uint, uint, ulong)

// The vector forms of a few.
__kernel void builtin_vectors(__global const int *a, __global const int *b, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int4 x = vload4(i, a);
    int4 y = vload4(i, b);
    vstore4(add_sat(x, y), 3 * i, out);
    vstore4(popcount(x) + clz(y), 3 * i + 1, out);
    vstore4(max(x, 7), 3 * i + 2, out);
}
