// translate: --spirv-ext=+SPV_INTEL_function_pointers
// Calls through pointers that the host has: to functions of which this module knows nothing.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef int (*unary)(int);

kernel void call_given(global const ulong *table, global const int *in, global int *out) {
  size_t i = get_global_id(0);
  unary f = (unary)table[i % 3];
  out[i] = f(in[i]);
}
