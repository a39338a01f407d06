// Lists of work-items' own, and what their entries name.

kernel void product(global const int *start, global const int *entry, global const float *value,
                    global const float *x, global float *out, int rows) {
  int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
  if (i >= rows) return;
  float sum = 0;
  for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[entry[k]];
  out[i] = sum;
}
kernel void reach(global const uint *start, global const uint *entry, global int *level, int now, uint nodes) {
  size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
  if (i >= nodes || level[i] != now) return;
  for (uint k = start[i]; k < start[i + 1]; ++k)
    if (level[entry[k]] < 0) level[entry[k]] = now + 1;
}
// None of these is a list: all lanes share the length, lanes lie side by side, each step waits for the one before, there is much to
// compute, or nothing is named.
kernel void padded(global const int *entry, global const float *x, global float *out, int rows, int length) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < length; k++) sum += x[entry[i * length + k]];
  out[i] = sum;
}
kernel void interleaved(global const int *length, global const int *entry, global const float *x, global float *out,
                        int rows) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < length[i]; k++) sum += x[entry[k * rows + i]];
  out[i] = sum;
}
kernel void chase(global const int *next, global int *out) {
  int i = get_global_id(0), steps = 0;
  for (int at = i; at > 0; at = next[at]) steps++;
  out[i] = steps;
}
kernel void forces(global const int *start, global const int *entry, global const float4 *place, global float4 *out) {
  int i = get_global_id(0);
  float4 own = place[i], sum = 0;
  for (int k = start[i]; k < start[i + 1]; k++) {
    float4 way = place[entry[k]] - own;
    float square = dot(way, way) + 0.1f, inverse = 1 / square, sixth = inverse * inverse * inverse;
    sum += way * (sixth * (sixth - 0.5f) * inverse);
  }
  out[i] = sum;
}
kernel void sums(global const int *start, global const float *value, global float *out) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = start[i]; k < start[i + 1]; k++) sum += value[k];
  out[i] = sum;
}
