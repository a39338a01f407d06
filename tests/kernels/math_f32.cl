// The common mathematical functions on float, and the native and half forms that only float has.
#define T float
#define T4 float4
#define NAME(function) f32_##function
#include "math_common.h"

UNARY(native_sin)
UNARY(native_cos)
UNARY(native_tan)
UNARY(native_exp)
UNARY(native_exp2)
UNARY(native_exp10)
UNARY(native_log)
UNARY(native_log2)
UNARY(native_log10)
UNARY(native_sqrt)
UNARY(native_rsqrt)
UNARY(native_recip)
BINARY(native_divide)
BINARY(native_powr)
UNARY(half_sin)
UNARY(half_cos)
UNARY(half_tan)
UNARY(half_exp)
UNARY(half_exp2)
UNARY(half_exp10)
UNARY(half_log)
UNARY(half_log2)
UNARY(half_log10)
UNARY(half_sqrt)
UNARY(half_rsqrt)
UNARY(half_recip)
BINARY(half_divide)
BINARY(half_powr)
