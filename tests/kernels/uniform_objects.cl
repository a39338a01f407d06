// build: -O1 -Xclang -disable-llvm-passes
// Private objects that hold the same in all lanes, and some that only seem to. Nothing is optimised, so that all
// variables are objects in memory.

typedef struct {
  global const int *in;
  global int *out;
  int scale;
  long offsets[2];
} Closure;

// No function, since a pointer to the object would be stored in one of its own.
#define APPLY(result, c, at)                                                                                           \
  do {                                                                                                                 \
    Closure inner = c;                                                                                                 \
    inner.scale += 1;                                                                                                  \
    result = inner.in[at] * inner.scale + (int)inner.offsets[at & 1];                                                  \
  } while (0)

kernel void closure(global const int *in, global int *out, int scale, long a, long b) {
  Closure c = {in, out, scale, {a, b}};
  Closure copy = c;
  size_t at = get_global_id(0);
  APPLY(copy.out[at], copy, at);
}

// Written by some work-items, read by all.
kernel void written_by_some(global const int *in, global int *out, int n) {
  size_t at = get_global_id(0);
  int flag[2] = {n, n + 1};
  if (in[at] > 0) {
    flag[0] = 7;
    if (in[at] > 100)
      flag[1] = 9;
  }
  out[at] = flag[0] * 1000 + flag[1];
}

// Read and written by those that a condition holds for, which are others each time round.
kernel void in_turns(global const int *in, global int *out, int n) {
  size_t at = get_global_id(0);
  int state[1] = {n}, sum = 0;
  for (int k = 0; k < 12; ++k) {
    if (((in[at] >> (k % 5)) & 1) == 0) {
      sum = sum * 3 + state[0];
      state[0] = k;
    }
  }
  out[at] = sum;
}

// Work-items leave the loop with what was written when they were in it.
kernel void left_behind(global const int *in, global int *out, int n) {
  size_t at = get_global_id(0);
  int last[1] = {-1};
  for (int k = 0; k < n; ++k) {
    last[0] = k * 5;
    if (k >= (in[at] & 31))
      break;
  }
  out[at] = last[0];
}

// The same for all, under a mask: uniform.
kernel void under_a_mask(global const int *in, global int *out, int n, int scale) {
  size_t at = get_global_id(0);
  if (at < (size_t)n && in[at] != 3) {
    Closure c = {in, out, scale, {5, 6}};
    for (int k = 0; k < 3; ++k)
      c.scale = c.scale * 2 + k;
    APPLY(c.out[at], c, at);
  }
}

// Uniform in a sub-group, not in a work-group.
kernel void per_row(global const int *in, global int *out, int n) {
  size_t x = get_global_id(0), y = get_global_id(1), at = y * get_global_size(0) + x;
  long row[3] = {(long)y, (long)(y * 2), n};
  long sum = 0;
  for (int k = 0; k < n; ++k) {
    row[k % 3] += k + (long)y;
    sum = sum * 3 + row[(k + 1) % 3] + in[at];
  }
  out[at] = (int)sum;
}

typedef struct {
  int scale;
  long offsets[2];
} Numbers;

// An argument that the kernel changes, with uniform data; its copy with varying data.
kernel void argument(global const int *in, global int *out, Numbers numbers, int n) {
  size_t at = get_global_id(0);
  numbers.scale *= n;
  numbers.offsets[0] += n;
  Numbers mine = numbers;
  mine.scale += (int)at;
  mine.offsets[at & 1] -= in[at];
  int k = (int)(at & 1);
  out[at] = (in[at] * numbers.scale + (int)numbers.offsets[k]) * 2 + in[at] * mine.scale + (int)mine.offsets[k];
}
