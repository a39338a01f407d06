// build: -Wno-format -Wno-format-invalid-specifier -Wno-format-extra-args -Wno-format-insufficient-args
// printf (OpenCL C 2.0 §6.13.13), called in every way.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void order() { printf("item %u of %u\n", (uint)get_global_id(0), (uint)get_global_size(0)); }

kernel void one_line() { printf("[%u]", (uint)get_global_id(0)); }

// Each work-item in a loop of its own length, and nothing where it is not on.
kernel void divergent() {
  uint id = get_global_id(0);
  for (uint at = 0; at < id % 4; at++) {
    if ((id + at) % 3 == 0)
      printf("%u.%u\n", id, at);
  }
}

// Printed by all work-items: nothing in it tells them apart.
kernel void uniform() { printf("%s %d%%\n", "the same", 42); }

__attribute__((noinline)) uint report(uint value, uint depth) {
  printf("called with %u\n", value);
  return value * depth;
}

kernel void called(global uint *out) {
  uint id = get_global_id(0), sum = 0;
  for (uint at = 0; at < 2; at++)
    sum += report(id + 100 * at, at);
  out[id] = sum;
}

kernel void barriers(global uint *out) {
  local uint shared[64];
  uint id = get_local_id(0);
  shared[id] = id * id;
  printf("a %u\n", id);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint other = shared[(id + 1) % get_local_size(0)];
  printf("b %u\n", other);
  out[id] = other;
}

kernel void vectors() {
  uint id = get_global_id(0);
  float4 f = (float4)(1.0f, 2.0f, 3.0f, 4.0f) + (float)id;
  uchar4 c = (uchar4)(0xfa, 0xfb, 0xfc, 0xfd) - (uchar)id;
  printf("f4 = %2.2v4hlf\n", f);
  printf("uc = %#v4hhx\n", c);
  printf("%v3hd|%5v2ld\n", (short3)(-1, (short)id, 3), (long2)(id, -5));
}

// What printf returns, for the launches whose buffer is too small.
kernel void results(global int *out) {
  uint id = get_global_id(0);
  out[id] = printf("%u\n", id);
}

kernel void strings() {
  uint id = get_global_id(0);
  printf("%s|%6s|%-6s|%.2s|%c%c\n", id % 2 ? "odd" : "even", "ab", "cd", "efgh", 'x', (char)('0' + id));
}

// Arguments that are not what the format says.
kernel void mismatches(global uint *memory) {
  long wide = 0x1234567890l;
  printf("%s|\n", (constant char *)(ulong)64);
  printf("%d %d|\n", 7);
  printf("%v4hld|\n", (int2)(1, 2));
  printf("%d|\n", wide);
  printf("%s|\n", (global char *)memory);
  printf("%n%k%|\n", 1);
  printf("no arguments|\n", 1, 2, 3);
  printf("%f|%d|\n", 3, 2.75);
}
