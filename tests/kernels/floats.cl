// Float arithmetic and comparison on every vector length; results as in integers.cl.
#pragma OPENCL FP_CONTRACT OFF
#define SLOT(s) ((s) * count + i)

// The second group of slots holds comparisons as 0 or 1.
#define OPERATIONS(T, LOAD, STORE, SELECT)                                                                             \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= count)                                                                                                \
            return;                                                                                                    \
        T x = LOAD(a);                                                                                                 \
        T y = LOAD(b);                                                                                                 \
        STORE(0, x + y);                                                                                               \
        STORE(1, x - y);                                                                                               \
        STORE(2, x * y);                                                                                               \
        STORE(3, x / y);                                                                                               \
        STORE(4, -x);                                                                                                  \
        STORE(5, SELECT(x == y));                                                                                      \
        STORE(6, SELECT(x != y));                                                                                      \
        STORE(7, SELECT(x < y));                                                                                       \
        STORE(8, SELECT(x <= y));                                                                                      \
        STORE(9, SELECT(x > y));                                                                                       \
        STORE(10, SELECT(x >= y));                                                                                     \
        STORE(11, SELECT(isnan(x)));                                                                                   \
        STORE(12, SELECT(isinf(x)));                                                                                   \
        STORE(13, SELECT(isfinite(x)));                                                                                \
        STORE(14, SELECT(isnormal(x)));                                                                                \
        STORE(15, SELECT(signbit(x)));                                                                                 \
        STORE(16, SELECT(isunordered(x, y)));                                                                          \
        STORE(17, SELECT(isordered(x, y)));                                                                            \
        STORE(18, SELECT(islessgreater(x, y)));                                                                        \
    }

#define LOAD_1(p) p[i]
#define STORE_1(s, v) out[SLOT(s)] = v
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

#define SCALAR(T)                                                                                                      \
    T select_##T(int c)                                                                                                \
    {                                                                                                                  \
        return c ? (T)1 : (T)0;                                                                                        \
    }                                                                                                                  \
    __kernel void float_##T(__global const T *a, __global const T *b, __global T *out, uint count)                     \
        OPERATIONS(T, LOAD_1, STORE_1, select_##T)
#define VECTOR(T, I, N)                                                                                                \
    T##N select_##T##N(I##N c)                                                                                         \
    {                                                                                                                  \
        return select((T##N)(0), (T##N)(1), c);                                                                        \
    }                                                                                                                  \
    __kernel void float_##T##N(__global const T *a, __global const T *b, __global T *out, uint count)                  \
        OPERATIONS(T##N, LOAD_##N, STORE_##N, select_##T##N)

#define ALL(T, I) SCALAR(T) VECTOR(T, I, 2) VECTOR(T, I, 3) VECTOR(T, I, 4) VECTOR(T, I, 8) VECTOR(T, I, 16)
ALL(float, int)
ALL(double, long)
