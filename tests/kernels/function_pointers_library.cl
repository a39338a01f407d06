// translate: --spirv-ext=+SPV_INTEL_function_pointers
// Functions whose addresses other modules and the host take.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

int plus_one(int x) { return x + 1; }

int square(int x) { return x * x; }

// What is printed by a function that is called through a pointer, and where it is.
int print(int x) {
  printf("print %d\n", x);
  return get_local_id(0);
}
