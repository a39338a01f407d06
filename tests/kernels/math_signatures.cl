// The functions of OpenCL.std that math_f32 and its kin leave out: results through pointers into every address
// space, functions with integers, half turns, and halves. Slot `s` of the result holds function `s` over all elements.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define SLOT(s) out[(s) * n + i]

#define UNARY_AND_BINARY(T)                                                                                            \
    __kernel void unary_##T(__global const T *x, __global T *out, uint n)                                              \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T v = x[i];                                                                                                    \
        SLOT(0) = acospi(v);                                                                                           \
        SLOT(1) = asinpi(v);                                                                                           \
        SLOT(2) = atanpi(v);                                                                                           \
        SLOT(3) = cospi(v);                                                                                            \
        SLOT(4) = sinpi(v);                                                                                            \
        SLOT(5) = tanpi(v);                                                                                            \
        SLOT(6) = tgamma(v);                                                                                           \
        SLOT(7) = lgamma(v);                                                                                           \
        SLOT(8) = logb(v);                                                                                             \
    }                                                                                                                  \
    __kernel void binary_##T(__global const T *x, __global const T *y, __global T *out, uint n)                        \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        prefetch(y + i, 1);                                                                                            \
        T v = x[i];                                                                                                    \
        T w = y[i];                                                                                                    \
        SLOT(0) = atan2pi(v, w);                                                                                       \
        SLOT(1) = remainder(v, w);                                                                                     \
        SLOT(2) = nextafter(v, w);                                                                                     \
        SLOT(3) = maxmag(v, w);                                                                                        \
        SLOT(4) = minmag(v, w);                                                                                        \
        SLOT(5) = powr(fabs(v), w);                                                                                    \
        SLOT(6) = fmod(v, w);                                                                                          \
        SLOT(7) = smoothstep((T)-1, (T)1, v);                                                                          \
    }                                                                                                                  \
    __kernel void with_integers_##T(__global const T *x, __global const int *k, __global T *out,                       \
                                    __global int *exponents, uint n)                                                   \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        SLOT(0) = pown(x[i], k[i]);                                                                                    \
        SLOT(1) = rootn(fabs(x[i]), k[i]);                                                                             \
        SLOT(2) = ldexp(x[i], k[i]);                                                                                   \
        exponents[i] = ilogb(x[i]);                                                                                    \
    }                                                                                                                  \
    __kernel void edges_##T(__global const T *x, __global const int *k, __global T *out, uint n)                       \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        SLOT(0) = pown(x[i], k[i]);                                                                                    \
        SLOT(1) = rootn(x[i], k[i]);                                                                                   \
    }                                                                                                                  \
    __kernel void through_pointers_##T(__global const T *x, __global const T *y, __global T *out,                      \
                                       __global T *seconds, __global int *integers, uint n)                            \
    {                                                                                                                  \
        __local T local_results[64];                                                                                   \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T own;                                                                                                         \
        SLOT(0) = sincos(x[i], &own);                                                                                  \
        seconds[i] = own;                                                                                              \
        SLOT(1) = fract(x[i], seconds + n + i);                                                                        \
        SLOT(2) = modf(x[i], local_results + get_local_id(0));                                                         \
        seconds[2 * n + i] = local_results[get_local_id(0)];                                                           \
        SLOT(3) = frexp(x[i], integers + i);                                                                           \
        int number;                                                                                                    \
        SLOT(4) = remquo(x[i], y[i], &number);                                                                         \
        integers[n + i] = number;                                                                                      \
        /* Only some work-items store. */                                                                              \
        SLOT(5) = 0;                                                                                                   \
        if (x[i] > 0)                                                                                                  \
            SLOT(5) = lgamma_r(x[i], integers + 2 * n + i);                                                            \
    }                                                                                                                  \
    __kernel void vectors_through_pointers_##T(__global const T *x, __global T *out, __global T *seconds,              \
                                               __global int *integers, uint n)                                         \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T##4 whole;                                                                                                    \
        int3 exponent;                                                                                                 \
        vstore4(modf(vload4(i, x), &whole), i, out);                                                                   \
        vstore4(whole, i, seconds);                                                                                    \
        vstore3(frexp(vload3(i, x), &exponent), i, out + 4 * n);                                                       \
        vstore3(exponent, i, integers);                                                                                \
    }
UNARY_AND_BINARY(float)
UNARY_AND_BINARY(double)

__kernel void nans(__global const uint *code, __global float *out, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        out[i] = nan(code[i]);
}

__kernel void halves(__global const half *x, __global const half *y, __global half *out, __global int *integers, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    half v = x[i];
    half w = y[i];
    SLOT(0) = v + w;
    SLOT(1) = v * w;
    SLOT(2) = v / w;
    SLOT(3) = sqrt(fabs(v));
    SLOT(4) = sin(v);
    SLOT(5) = exp(w);
    SLOT(6) = fma(v, w, v);
    SLOT(7) = fmax(v, w);
    SLOT(8) = convert_half(convert_int(v) + 1);
    SLOT(9) = v < w ? floor(v) : ceil(w);
    integers[i] = convert_int_rte(v);
}
