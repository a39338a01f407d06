// The rest of the mathematical functions on float.
#define T float
#define NAME(function) f32_##function
#include "math_more.h"
