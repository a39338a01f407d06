// Each work-item fills or copies a row of its own: compilers make copies of a known size of that, of zeros, of a table of constants, of
// a row that all take (three elements apart, else `step` from one to the next), and of another row of its own. Where `only` divides a work-item's number, and nowhere else.

constant uchar TABLE[100] = {
#define TEN(n) n + 3, n + 1, n + 4, n + 1, n + 5, n + 9, n + 2, n + 6, n + 5, n + 3
    TEN(0), TEN(10), TEN(20), TEN(30), TEN(40), TEN(50), TEN(60), TEN(70), TEN(80), TEN(90)};

#define ROWS(T, BYTES)                                                                                                  \
  kernel void zeros_##BYTES(global T *out, global const T *in, int step, int only) {                                     \
    int x = get_global_id(0);                                                                                           \
    if (x % only == 0)                                                                                                  \
      for (int i = 0; i < BYTES / (int)sizeof(T); ++i)                                                                  \
        out[x * step + i] = 0;                                                                                          \
  }                                                                                                                     \
  kernel void shared_##BYTES(global T *restrict out, global const T *restrict in, int step, int only) {                  \
    int x = get_global_id(0);                                                                                           \
    if (x % only == 0)                                                                                                  \
      for (int i = 0; i < BYTES / (int)sizeof(T); ++i)                                                                  \
        out[x * (BYTES / (int)sizeof(T) + 3) + i] = in[i];                                                              \
  }                                                                                                                     \
  kernel void moved_##BYTES(global T *restrict out, global const T *restrict in, int step, int only) {                   \
    int x = get_global_id(0);                                                                                           \
    if (x % only == 0)                                                                                                  \
      for (int i = 0; i < BYTES / (int)sizeof(T); ++i)                                                                  \
        out[x * step + i] = in[x * (step + 5) + i];                                                                     \
  }

ROWS(uchar, 16)
ROWS(uchar, 37)
ROWS(uchar, 256)
ROWS(ushort, 50)
ROWS(uint, 100)
ROWS(uint, 700)
ROWS(ulong, 128)

kernel void table_100(global uchar *out, global const uchar *in, int step, int only) {
  int x = get_global_id(0);
  if (x % only == 0)
    for (int i = 0; i < 100; ++i)
      out[x * step + i] = TABLE[i];
}

// Rows of a number of bytes that is known, in local memory.
kernel void local_rows(global const uint *in, global uint *out, local uchar *rows) {
  int x = get_global_id(0), l = get_local_id(0);
  for (int i = 0; i < 256; ++i)
    rows[l * 256 + i] = 0;
  for (int i = 0; i < 8; ++i)
    rows[l * 256 + (in[x] + i * i) % 256]++;
  uint sum = 0;
  for (int i = 0; i < 256; ++i)
    sum += rows[l * 256 + i] * (i + 1);
  out[x] = sum;
}
