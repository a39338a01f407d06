// Grids of one dimension: the place in a row, and which row, are a remainder and a quotient by an argument. Where that is a multiple of the lanes,
// a sub-group is in one row.

kernel void cross_int(global const int *in, global int *out, int w, int h) {
  int i = get_global_id(0), y = i / w, x = i - y * w;
  int sum = in[i] + 3 * x + 1000 * y;
  if (x > 0 && x < w - 1)
    sum += in[i - 1] - in[i + 1];
  if (y > 0 && y < h - 1)
    sum ^= in[i - w] * in[i + w];
  out[i] = sum;
}

kernel void cross_uint(global const int *in, global int *out, uint w, uint h) {
  uint i = get_global_id(0), y = i / w, x = i - y * w;
  uint left = max(x, 1u) - 1, up = max(y, 1u) - 1;
  out[i] = in[i] + in[y * w + left] * 3 - in[up * w + x] + (y < h ? x : y);
}

kernel void cross_long(global const int *in, global int *out, long w, ulong h) {
  ulong i = get_global_id(0);
  out[i] = in[i] + (int)(i % (ulong)w) * 7 + in[i / h] + (int)((i + 5) / h);
}

// A row's element by its place, a value of each row, and rows of a grid of three dimensions.
kernel void by_row(global const int *in, global int *out, int w, int h) {
  int i = get_global_id(0);
  out[i] = in[i] * in[i % w] + i / h;
}

kernel void volume(global const int *in, global int *out, int w, int h) {
  int i = get_global_id(0), r = i / w, z = r / h, y = r - z * h;
  int sum = in[i] + 10 * y + 100 * z;
  if (y & 1)
    sum += in[(z * h + y - 1) * w];
  out[i] = sum;
}

int of_rows(global const int *in, int i, int w) __attribute__((noinline));
int of_rows(global const int *in, int i, int w) { return in[i / w] + i % w; }

// What a function divides by is its caller's argument. (-40 / 16 is another row than -48 / 16.)
kernel void called(global const int *in, global int *out, int w, int h) {
  int i = get_global_id(0);
  out[i] = of_rows(in, i, w) * 3 + of_rows(in, i, h) + (i - 40) / w;
}

struct lengths {
  ulong rows, columns;
};

struct view {
  uint tag;
  struct lengths of;
};

int member_of_rows(struct lengths of, global const int *in, ulong i) __attribute__((noinline));
int member_of_rows(struct lengths of, global const int *in, ulong i) {
  ulong row = i / of.rows;
  return in[row] + (int)(i - row * of.rows);
}

// As SYCL's accessors have them.
kernel void members(global const int *in, global int *out, struct view of) {
  ulong i = get_global_id(0), w = of.of.columns, y = i / w, x = i - y * w;
  out[i] = in[y * w + x] + 7 * (int)x + in[i / of.of.rows] + member_of_rows(of.of, in, i) + of.tag;
}

// Channels of images: what is divided by is a product.
kernel void channels(global const int *in, global int *out, int w, int h) {
  int i = get_global_id(0), area = w * h;
  out[i] = in[i] * in[i / area] + in[i % (area * 2)];
}

// Where numbers wrap around between lanes, or are negative, and where rows are shorter than vectors or longer than half of all numbers.
kernel void edges(global ulong *out, ulong base, ulong by) {
  uint at = get_global_id(0);
  global ulong *own = out + (ulong)at * 12;
  uint u = at + (uint)base, v = at * 3 + (uint)base, d = (uint)by;
  ulong l = (ulong)at + base, m = (ulong)at * 2 + base;
  own[0] = u / d;
  own[1] = u % (d + 1);
  own[2] = (uint)((int)u / (int)d);
  own[3] = (uint)((int)u % ((int)d + 1));
  own[4] = v / d;
  own[5] = (uint)((int)v % ((int)d + 1));
  own[6] = l / by;
  own[7] = l % (by + 1);
  own[8] = (ulong)((long)l / (long)by);
  own[9] = (ulong)((long)l % ((long)by + 1));
  own[10] = m / by + u / 1000u;
  own[11] = (ulong)((long)m % ((long)by + 1)) + (uint)((int)u % 24);
}
