// build: -g -fdebug-compilation-dir=/kernels
// Says where its code is from: `zetModuleGetDebugInfo`.

__attribute__((noinline)) static float area(float radius) {
  return 3.0f * radius * radius;
}

kernel void areas(global const float *radius, global float *out) {
  unsigned long i = get_global_id(0);
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round)
    sum += area(radius[i] + round);
  if (sum > 100.0f)
    sum = sqrt(sum);
  out[i] = sum;
}
