// The common mathematical functions on double.
#define T double
#define T4 double4
#define NAME(function) f64_##function
#include "math_common.h"
