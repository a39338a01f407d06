// Stores of rows into memory that the kernel does not read.

kernel void words(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  out[i] = in[i] + 1;
}
kernel void bounded(global const uint *in, global uint *out, int count) {
  int i = get_global_id(0);
  if (i < count) out[i] = in[i] + 1;
}
kernel void by_uint(global const uint *in, global uint *out, uint from) {
  uint i = get_global_id(0) + from;
  out[i] = in[i] + 1;
}
kernel void quads(global const uint4 *in, global uint4 *out) {
  int i = get_global_id(0);
  out[i] = in[i] + 1;
}
kernel void bytes(global const uchar *in, global uchar *out) {
  int i = get_global_id(0);
  out[i] = in[i] + 1;
}
kernel void shorts(global const uint *in, global ushort *out) {
  int i = get_global_id(0);
  out[i] = (ushort)in[i];
}
kernel void longs(global const ulong *in, global ulong *out) {
  int i = get_global_id(0);
  out[i] = in[i] + 1;
}
kernel void triples(global const uint *in, global uint *out) {
  int i = get_global_id(0);
  vstore3(vload3(i, in) + 1, i, out);
}
// Each group reads what another one of its own work-items wrote.
kernel void back(global const uint *in, global uint *out, global uint *other) {
  int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
  out[i] = in[i] + 1;
  barrier(CLK_GLOBAL_MEM_FENCE);
  other[i] = out[i - l + (size - 1 - l)];
}
