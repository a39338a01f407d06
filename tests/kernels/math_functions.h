// One kernel a function. The including file defines T (the type), T4, I (the integer type of its size) and
// NAME(function).

#define UNARY(F)                                                                                                       \
    __kernel void NAME(F)(__global const T *x, __global T *out, uint n)                                                \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i < n)                                                                                                     \
            out[i] = F(x[i]);                                                                                          \
    }
#define BINARY(F)                                                                                                      \
    __kernel void NAME(F)(__global const T *x, __global const T *y, __global T *out, uint n)                           \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i < n)                                                                                                     \
            out[i] = F(x[i], y[i]);                                                                                    \
    }
#define TERNARY(F)                                                                                                     \
    __kernel void NAME(F)(__global const T *x, __global const T *y, __global const T *z, __global T *out, uint n)      \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i < n)                                                                                                     \
            out[i] = F(x[i], y[i], z[i]);                                                                              \
    }
