// Private arrays that are set up as a whole: compilers copy constants, or zeros, into them.

kernel void blocked(global const float *a, global const float *b, global float *c, int n, int rows) {
  int x = get_global_id(0);
  float sum[8] = {};
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < rows; ++i)
      sum[i] += a[i * n + k] * b[k * (int)get_global_size(0) + x];
  for (int i = 0; i < rows; ++i)
    c[i * (int)get_global_size(0) + x] = sum[i];
}

kernel void tables(global const int *in, global int *out, int n) {
  int own[9] = {2, 3, 5, 7, 11, 13, 17, 19, 23};
  int counts[12] = {0};
  char bytes[16] = {1, 2, 3};
  int i = get_global_id(0), v = in[i];
  own[v & 7] += n;
  for (int k = 0; k < n; ++k) {
    counts[(v >> (k & 15)) & 7] += own[k % 9];
    bytes[(v + k) & 15] += k;
  }
  int r = 0;
  for (int k = 0; k < 12; ++k)
    r = r * 3 + counts[k] + bytes[k];
  out[i] = r;
}

typedef struct {
  long key;
  int counts[6];
} Entry;

// Leaves of two sizes, copied as a whole; under a condition, too.
kernel void entries(global Entry *entries, global const int *in, int n) {
  int i = get_global_id(0);
  Entry mine = entries[i], old = mine;
  for (int k = 0; k < n; ++k) {
    mine.counts[(in[i] + k) % 6 & 3] += k;
    if ((in[i] & k) == 1) {
      Entry swap = old;
      old = mine;
      mine = swap;
      mine.key += k;
    }
  }
  old.key ^= mine.key;
  old.counts[5] += mine.counts[in[i] & 3];
  entries[i] = old;
}

// Compilers make one `memmove` of both copies, under a condition, and the translator a variable in its block.
kernel void chosen_entries(global Entry *out, global const Entry *in, global const uint *which, uint n) {
  size_t i = get_global_id(0);
  if (which[i] < n) {
    Entry entry = in[which[i]];
    out[i] = entry;
  }
}

// As before, in a loop, of a part of an array that moves on by one.
kernel void delayed(global const int *in, global int *out, int n) {
  int line[24];
  for (int k = 0; k < 24; ++k)
    line[k] = 0;
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    for (int j = 23; j > 0; --j)
      line[j] = line[j - 1];
    line[0] = in[get_global_id(0) + k];
    sum += line[n - 10] * line[k & 7];
  }
  out[get_global_id(0)] = sum;
}

// Structures that are copied where an index says, and those beside each other, for all or under a mask.
#define MOVED(WORDS)                                                                                                   \
  typedef struct { int words[WORDS]; } Words##WORDS;                                                                   \
  kernel void moved_##WORDS(global const Words##WORDS *in, global const uint *which, global Words##WORDS *out,         \
                            uint n) {                                                                                  \
    size_t i = get_global_id(0), all = get_global_size(0);                                                             \
    out[i] = in[which[i]];                                                                                             \
    out[all + which[i]] = in[i];                                                                                       \
    out[2 * all + i] = in[i];                                                                                          \
    if (in[i].words[1] & 1) {                                                                                          \
      out[3 * all + i] = in[which[i]];                                                                                 \
      out[4 * all + i] = in[i];                                                                                        \
    }                                                                                                                  \
  }
MOVED(4)
MOVED(7)
MOVED(8)
MOVED(12)
MOVED(40)

// A structure is moved by less than it is long: what is moved is loaded before anything is stored.
kernel void moved_on(global int *memory, int by, uint n) {
  size_t i = get_global_id(0);
  if (i < n) {
    Words8 words = *(global const Words8 *)(memory + 24 * i + 8);
    *(global Words8 *)(memory + 24 * i + 8 + by) = words;
  }
}

// Filters: what was read moves on by one, or by two, and each element has a part in what is written.
#define FILTER(TYPE, TAPS, BY)                                                                                         \
  kernel void filter_##TYPE##_##TAPS##_##BY(global const TYPE *in, global TYPE *out, constant TYPE *by, int n) {       \
    TYPE line[TAPS];                                                                                                   \
    size_t i = get_global_id(0), all = get_global_size(0);                                                             \
    for (int k = 0; k < TAPS; ++k)                                                                                     \
      line[k] = k;                                                                                                     \
    for (int t = 0; t < n; ++t) {                                                                                      \
      for (int k = TAPS - 1; k >= BY; --k)                                                                             \
        line[k] = line[k - BY];                                                                                        \
      for (int k = 0; k < BY; ++k)                                                                                     \
        line[k] = in[i + (BY * t + k) * all];                                                                          \
      TYPE sum = 0;                                                                                                    \
      for (int k = 0; k < TAPS; ++k)                                                                                   \
        sum += by[k] * line[k];                                                                                        \
      out[i + t * all] = sum;                                                                                          \
    }                                                                                                                  \
  }
FILTER(int, 32, 1)
FILTER(int, 24, 2)
FILTER(int, 9, 1)
FILTER(int, 50, 1)
FILTER(short, 32, 1)
FILTER(long, 16, 1)
