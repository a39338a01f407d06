// Inverse, hyperbolic and special functions on float.
#define T float
#define NAME(function) f32_##function
#include "math_special.h"
