// translate: --spirv-ext=+SPV_INTEL_function_pointers
// Calls through pointers to functions of another module (function_pointers_library.cl).
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef int (*unary)(int);

extern int plus_one(int x);
extern int square(int x);

kernel void call_imported(global const int *in, global int *out, global ulong *pointers) {
  size_t i = get_global_id(0);
  unary f = in[i] & 1 ? plus_one : square;
  pointers[i] = (ulong)f;
  out[i] = f(in[i]);
}
