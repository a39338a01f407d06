// Work-groups whose rows are shorter than a sub-group, which is several of them. `short_rows_w16` and `short_rows_w32` are for sub-groups
// of 16 and 32.

#ifdef WIDTH
#define KERNEL kernel __attribute__((intel_reqd_sub_group_size(WIDTH))) void
#else
#define KERNEL kernel void
#endif

#define COPY(NAME, TYPE)                                                                                             \
  KERNEL copy_##NAME(global const TYPE *in, global TYPE *out, int width, int height) {                             \
    int x = get_global_id(0), y = get_global_id(1);                                                                  \
    if (x < width && y < height)                                                                                     \
      out[y * width + x] = in[y * width + x] + (TYPE)1;                                                              \
  }                                                                                                                  \
  KERNEL whole_##NAME(global const TYPE *in, global TYPE *out, ulong width) {                                      \
    ulong at = get_global_id(1) * width + get_global_id(0);                                                          \
    out[at] = in[at] + (TYPE)1;                                                                                      \
  }

COPY(uchar, uchar)
COPY(ushort, ushort)
COPY(uint, uint)
COPY(ulong, ulong)
COPY(uchar4, uchar4)
COPY(uint2, uint2)
COPY(float4, float4)

// Rows go downwards, are a column, share what they load, and have steps of more than an element.
KERNEL rows(global const uint *in, global uint *out, uint pitch, uint last) {
  uint x = get_global_id(0), y = get_global_id(1);
  uint downwards = in[y * pitch + (pitch - 1 - x)];
  uint column = in[x * pitch + y];
  uint shared = in[y];
  uint apart = in[min(y * pitch + 3 * x, last)];
  out[y * pitch + x] = downwards + 3 * column + 5 * shared + 7 * apart;
}

// An index that wraps around between rows, and within one.
KERNEL wrapped(global const uchar *in, global uchar *out, uint pitch, uint offset) {
  uint i = (uint)get_global_id(1) * pitch + (uint)get_global_id(0) + offset;
  out[i] = in[i] + 1;
}

KERNEL wrapped_pairs(global const uchar *in, global uchar2 *out, uint pitch, uint offset) {
  size_t x = get_global_id(0), y = get_global_id(1);
  uint i = (uint)y * pitch + 2 * (uint)x + offset;
  out[y * get_global_size(0) + x] = *(global const uchar2 *)(in + i);
}

// A product of matrices of which lanes of a row have one, and what they share the other.
KERNEL product(global const float *a, global const float4 *b, global float4 *out, int k) {
  int x = get_global_id(0), y = get_global_id(1), columns = get_global_size(0);
  float4 sum = 0;
  for (int i = 0; i < k; i++)
    sum += a[y * k + i] * b[i * columns + x];
  out[y * columns + x] = sum;
}

// Lanes of a row leave a loop one after the other, rows at different times; what they take along is an address.
KERNEL lists(global const uint *lengths, global const uint *in, global uint *out) {
  size_t x = get_global_id(0), y = get_global_id(1), columns = get_global_size(0);
  uint length = lengths[y], sum = 0, at = 0;
  for (uint i = 0; i < length; i++) {
    sum += in[i * columns + x];
    at = i;
  }
  if (x & 1)
    sum += in[at * columns + x];
  out[y * columns + x] = sum;
}

// Lanes at the beginning of a row may be off: what they would load, and take from either side, nobody knows.
KERNEL guarded(global const uint *in, global const uint *odd, global const uint *even, global uint *out, uint pitch) {
  size_t x = get_global_id(0), y = get_global_id(1);
  if (x % 3 != 0 || y % 4 == 3) {
    uint from;
    if (y & 1)
      from = odd[y];
    else
      from = even[y] + 1;
    out[y * pitch + 2 * x] = in[from + x];
    out[y * pitch + 2 * x + 1] = in[from + 3 * x] + odd[y];
  }
}

#ifdef WIDTH
// Which lane is where.
KERNEL ids(global uint4 *out) {
  size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2);
  size_t group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  out[group * items + get_sub_group_id() * WIDTH + get_sub_group_local_id()] =
      (uint4)(get_local_id(0), get_local_id(1), get_local_id(2), get_sub_group_size());
}
#endif
