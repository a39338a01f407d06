// Lanes in rows, sub-groups in columns: transposes as people write them. Elements are numbered by the caller, so that any that are in the
// wrong place are found.

#define TRANSPOSE(NAME, TYPE, INT)                                                                                     \
  kernel void write_##NAME(global const TYPE *in, global TYPE *out, INT width, INT height) {                          \
    INT x = get_global_id(0), y = get_global_id(1);                                                                   \
    if (x < width && y < height) out[x * height + y] = in[y * width + x];                                             \
  }                                                                                                                    \
  kernel void read_##NAME(global const TYPE *in, global TYPE *out, INT width, INT height) {                           \
    INT x = get_global_id(0), y = get_global_id(1);                                                                   \
    if (x < width && y < height) out[y * width + x] = in[x * height + y];                                             \
  }

TRANSPOSE(uchar, uchar, int)
TRANSPOSE(ushort, ushort, uint)
TRANSPOSE(uint, uint, int)
TRANSPOSE(ulong, ulong, ulong)
TRANSPOSE(uint_size, uint, ulong)
TRANSPOSE(ulong_uint, ulong, uint)

// Without bounds: all lanes are known to be on.
kernel void write_all(global const uint *in, global uint *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  out[x * height + y] = in[y * width + x] + 1;
}

// Through local memory, by halves of a tile that is up to 32 wide.
kernel void tile(global const uint *in, global uint *out, uint width, uint height) {
  local uint tile[32][33];
  uint lx = get_local_id(0), ly = get_local_id(1), gx = get_group_id(0), gy = get_group_id(1);
  uint x = gx * 32 + lx, y = gy * 32;
  for (uint row = ly; row < 32; row += get_local_size(1))
    if (x < width && y + row < height) tile[row][lx] = in[(y + row) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = gx * 32;
  y = gy * 32 + lx;
  for (uint row = ly; row < 32; row += get_local_size(1))
    if (x + row < width && y < height) out[(x + row) * height + y] = tile[lx][row];
}

// An index of 32 bits that wraps around somewhere between the sub-groups.
kernel void write_from(global uchar *out, uint from, uint height, uint value) {
  uint x = get_global_id(0), y = get_global_id(1);
  out[x * height + y + from] = (uchar)(value + x * 16 + y);
}
kernel void read_from(global const uchar *in, global uchar *out, uint from, uint height) {
  uint x = get_global_id(0), y = get_global_id(1);
  out[y * get_global_size(0) + x] = in[x * height + y + from];
}

// Rows whose beginnings depend on data, and lanes that are off by it.
kernel void rows(global const uint *in, global const uint *begin, global uint *out, uint width) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (begin[x] & 1) out[y * width + x] = in[begin[x] + y];
}

// In a loop, where what is read has just been written.
kernel void exchange(global uint *data, uint size, uint rounds) {
  uint x = get_local_id(0), y = get_local_id(1);
  for (uint round = 0; round < rounds; round++) {
    uint value = data[x * size + y];
    barrier(CLK_GLOBAL_MEM_FENCE);
    data[y * size + x] = value + round;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

// Some go elsewhere: an index that a branch, a choice or a bound makes goes on by one only where all do.
kernel void write_far(global uint *out, uint far) {
  uint i = get_global_id(0) * get_global_size(1) + get_global_id(1);
  if (i % 63 != 1)
    out[i] = get_local_linear_id() + 1;
  else
    out[i + far] = i;
}

kernel void read_far(global const uint *in, global uint *out, uint far) {
  uint x = get_global_id(0), y = get_global_id(1), i = x * get_global_size(1) + y;
  uint sum = 0;
  for (int k = 0; k < 3; ++k)
    sum = sum * 3 + in[(i + k) % 61 != 1 ? i : i + far] + in[i % 47 == 2 ? far - i : i + 1];
  out[y * get_global_size(0) + x] = sum;
}
