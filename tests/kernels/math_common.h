// The functions that nearly every numeric kernel uses.
#include "math_functions.h"

UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(exp)
UNARY(exp2)
UNARY(exp10)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(fabs)
UNARY(floor)
UNARY(ceil)
UNARY(trunc)
UNARY(round)
UNARY(rint)
UNARY(sign)
BINARY(pow)
BINARY(fmin)
BINARY(fmax)
BINARY(min)
BINARY(max)
BINARY(fmod)
BINARY(step)
TERNARY(fma)
TERNARY(mad)
TERNARY(clamp)
TERNARY(mix)

// Vector forms: whole vectors, a vector beside a scalar, and a function under divergence.
__kernel void NAME(vectors)(__global const T *x, __global T *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    T4 v = vload4(i, x);
    vstore4(sin(v), 4 * i, out);
    vstore4(clamp(v, (T)-1, (T)1), 4 * i + 1, out);
    vstore4(fmax(v, (T)0.25), 4 * i + 2, out);
    T4 r = v;
    if (v.x > 0)
        r = exp(-fabs(v)) + sqrt(fabs(v));
    vstore4(r, 4 * i + 3, out);
}
