// Indices as people write them: of 32 bits, clamped, wrapped around, scaled, kept in structures. `contiguity_o0` is the same
// without optimisation, `contiguity_w32` for sub-groups of 32.

#ifdef WIDTH
#define KERNEL kernel __attribute__((intel_reqd_sub_group_size(WIDTH))) void
#else
#define KERNEL kernel void
#endif

typedef struct {
  float x, y, z, w;
} Point;

typedef struct {
  uchar red, green, blue;
} Pixel;

typedef struct {
  global const uint *from;
  global uint *to;
  uint count;
} View;

// Where an index wraps around within a sub-group, both sides are there: `in` and `out` have
// 4 GiB, or 8 where two indices are added.
KERNEL wrapped_uint(global const uchar *in, global uchar *out, uint offset) {
  uint i = get_global_id(0) + offset;
  out[i] = in[i] + 1;
}

KERNEL wrapped_downwards(global const uchar *in, global uchar *out, uint offset) {
  uint i = offset - (uint)get_global_id(0);
  out[i] = in[i] + 1;
}

// Two indices that wrap around at different places, and are as far apart at both ends of a sub-group.
KERNEL wrapped_twice(global const uchar *in, global uchar *out, uint first, uint second) {
  uint i = get_global_id(0);
  ulong up = (ulong)(2 * i + first), down = (ulong)(second - i);
  out[get_global_id(0)] = in[up + down];
}

KERNEL masked_wrap(global const uint *in, global uint *out, uint count, uint offset) {
  uint i = get_global_id(0) - offset;
  if (i < count)
    out[i] = in[i] + 1;
}

KERNEL signed_index(global const uint *in, global uint *out, int offset, int count) {
  int i = (int)get_global_id(0) + offset;
  if (i >= 0 && i < count)
    out[i] = in[count - 1 - i] + in[i];
}

KERNEL scaled_index(global const uint *in, global uint *out, int count) {
  int i = get_global_id(0);
  if (i < count)
    out[i] = in[i * 4] + 2 * in[i * 4 + 1] + 3 * in[i * 4 + 2] + 4 * in[i * 4 + 3];
}

KERNEL every_other(global const uint *in, global uint *out, uint count) {
  uint i = get_global_id(0);
  if (i % 3 != 1 && i < count)
    out[3 * i] = in[2 * i + 1];
}

KERNEL own_ids(global const uint *in, global uint *out, uint count) {
  uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  if (i < count)
    out[i] = in[i] * 2;
}

KERNEL clamped(global const uint *in, global uint *out, int count) {
  int i = get_global_id(0);
  int before = max(i - 3, 0), behind = min(i + 3, count - 1);
  if (i < count)
    out[i] = in[before] + 10 * in[i] + 100 * in[behind];
}

KERNEL around(global const uint *in, global uint *out, uint count) {
  uint i = get_global_id(0);
  uint before = i == 0 ? count - 1 : i - 1;
  if (i < count)
    out[i] = in[before] + 10 * in[(i + 1) % count];
}

KERNEL rows_and_columns(global const uint *in, global uint *out, uint width, uint pitch, uint height) {
  uint i = get_global_id(0);
  uint y = i / width, x = i - y * width;
  if (y < height)
    out[y * pitch + x] = in[y * width + (width - 1 - x)];
}

KERNEL stepped(global const uint *in, global uint *out, ulong step, ulong to_step, ulong count) {
  size_t i = get_global_id(0);
  if (i < count)
    out[i * to_step] = in[i * step];
}

KERNEL summed(global const uint *in, global uint *out, uint count) {
  uint sum = 0;
  for (uint i = get_global_id(0); i < count; i += get_global_size(0))
    sum += in[i];
  out[get_global_id(0)] = sum;
}

KERNEL column_sums(global const uint *in, global uint *out, uint rows, uint width) {
  uint x = get_global_id(0), sum = 0;
  for (uint y = 0; y < rows; y++)
    sum += in[y * width + x];
  out[x] = sum;
}

KERNEL members(global const Point *in, global Point *out, int count) {
  int i = get_global_id(0);
  if (i < count) {
    out[i].y = in[i].x + in[i].w;
    out[i].z = in[i].y;
  }
}

KERNEL pixels(global const Pixel *in, global uchar *out, int count) {
  int i = get_global_id(0);
  if (i < count)
    out[i] = (in[i].red + 2 * in[i].green + in[i].blue) / 4;
}

KERNEL through_structure(global const uint *in, global uint *out, uint count) {
  View view = {in, out, count};
  View *of = &view;
  uint i = get_global_id(0);
  if (i < of->count)
    of->to[i] = of->from[i] + 1;
}

// One step of a network that sorts, and one of a transform: pairs `stride` apart.
KERNEL compared(global uint *data, uint stride, uint pairs) {
  uint l = get_global_id(0);
  if (l >= pairs)
    return;
  uint at = 2 * l - (l & (stride - 1));
  uint a = data[at], b = data[at + stride];
  if (a > b) {
    data[at] = b;
    data[at + stride] = a;
  }
}

KERNEL transformed(global int *data, ulong stride, ulong pairs) {
  ulong l = get_global_id(0);
  if (l < pairs) {
    ulong at = 2 * l - l % stride;
    int a = data[at], b = data[at + stride];
    data[at] = a + b;
    data[at + stride] = a - b;
  }
}

KERNEL compared_in_local(global uint *data, int stride) {
  local uint pairs[512];
  int l = get_local_id(0), size = get_local_size(0);
  global uint *mine = data + 2 * size * get_group_id(0);
  pairs[l] = mine[l];
  pairs[l + size] = mine[l + size];
  barrier(CLK_LOCAL_MEM_FENCE);
  int at = (l & ~(stride - 1)) << 1 | (l & (stride - 1));
  uint a = pairs[at], b = pairs[at + stride];
  if ((a > b) == ((l & 4) == 0)) {
    pairs[at] = b;
    pairs[at + stride] = a;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  mine[l] = pairs[l];
  mine[l + size] = pairs[l + size];
}

KERNEL tile(global const uint *in, global uint *out, int width, int height) {
  local uint tile[16][17];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_group_id(0) * 16 + lx, y = get_group_id(1) * 16 + ly;
  if (x < width && y < height)
    tile[ly][lx] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  int ox = get_group_id(1) * 16 + lx, oy = get_group_id(0) * 16 + ly;
  if (ox < height && oy < width)
    out[oy * height + ox] = tile[lx][ly];
}

KERNEL histogram_int(global const uchar *in, global uint *bins, int count) {
  local uint counts[256];
  int l = get_local_id(0);
  for (int bin = l; bin < 256; bin += get_local_size(0))
    counts[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < count; i += get_global_size(0))
    atomic_inc(&counts[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bin = l; bin < 256; bin += get_local_size(0))
    atomic_add(&bins[bin], counts[bin]);
}
