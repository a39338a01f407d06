// The rest of the mathematical functions on double.
#define T double
#define NAME(function) f64_##function
#include "math_more.h"
