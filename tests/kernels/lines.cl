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

__kernel void row_sums(__global const int *rows, __global int *sums, int columns)
{
    int row = get_global_id(0), sum = 0;
    for (int i = 0; i < columns; ++i)
        sum += rows[row * columns + i];
    sums[row] = sum;
}
