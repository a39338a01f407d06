// Inverse, hyperbolic and special functions on double.
#define T double
#define NAME(function) f64_##function
#include "math_special.h"
