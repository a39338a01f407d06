// Every integer instruction on every width and vector length. Slot `s` of the result holds operation `s` over all
// elements; the operations do not mix elements, so that the host need not know the vector length. The remainder's
// dividend differs from the quotient's, or the compiler would derive one from the other.
#define SLOT(s) ((s) * count + i)

#define OPERATIONS(T, LOAD, STORE)                                                                                     \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= count)                                                                                                \
            return;                                                                                                    \
        T x = LOAD(a);                                                                                                 \
        T y = LOAD(b);                                                                                                 \
        T z = LOAD(shift);                                                                                             \
        STORE(0, x + y);                                                                                               \
        STORE(1, x - y);                                                                                               \
        STORE(2, x * y);                                                                                               \
        STORE(3, x / y);                                                                                               \
        STORE(4, (x + z) % y);                                                                                         \
        STORE(5, x & y);                                                                                               \
        STORE(6, x | y);                                                                                               \
        STORE(7, x ^ y);                                                                                               \
        STORE(8, ~x);                                                                                                  \
        STORE(9, -x);                                                                                                  \
        STORE(10, x << z);                                                                                             \
        STORE(11, x >> z);                                                                                             \
        STORE(12, (x < y ? x : y));                                                                                    \
        STORE(13, (x >= y ? x - y : y - x));                                                                           \
        STORE(14, (x == y ? x : z));                                                                                   \
    }

#define LOAD_1(p) p[i]
#define STORE_1(s, v) out[SLOT(s)] = v
#define SCALAR(T)                                                                                                      \
    __kernel void int_##T(__global const T *a, __global const T *b, __global const T *shift, __global T *out,          \
                          uint count) OPERATIONS(T, LOAD_1, STORE_1)

#define LOAD_N(N, p) vload##N(i, p)
#define VECTOR(T, N)                                                                                                   \
    __kernel void int_##T##N(__global const T *a, __global const T *b, __global const T *shift, __global T *out,       \
                             uint count) OPERATIONS(T##N, LOAD_##N, STORE_##N)
#define LOAD_2(p) vload2(i, p)
#define LOAD_3(p) vload3(i, p)
#define LOAD_4(p) vload4(i, p)
#define LOAD_8(p) vload8(i, p)
#define LOAD_16(p) vload16(i, p)
#define STORE_2(s, v) vstore2(v, SLOT(s), out)
#define STORE_3(s, v) vstore3(v, SLOT(s), out)
#define STORE_4(s, v) vstore4(v, SLOT(s), out)
#define STORE_8(s, v) vstore8(v, SLOT(s), out)
#define STORE_16(s, v) vstore16(v, SLOT(s), out)

#define ALL(T) SCALAR(T) VECTOR(T, 2) VECTOR(T, 3) VECTOR(T, 4) VECTOR(T, 8) VECTOR(T, 16)
ALL(char)
ALL(uchar)
ALL(short)
ALL(ushort)
ALL(int)
ALL(uint)
ALL(long)
ALL(ulong)
