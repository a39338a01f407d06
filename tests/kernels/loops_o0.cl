// build: -O0
// Loops that the engine makes something else of, as nobody has optimised them: over the bits of a number, and that load for their next iteration.

#define BITS(T, NAME, WIDTH)                                                                                           \
  kernel void ones_##NAME(global const T *in, global T *out, uint n) {                                                \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    uint c = 5;                                                                                                        \
    while (x) {                                                                                                        \
      x &= x - 1;                                                                                                      \
      c += 3;                                                                                                          \
    }                                                                                                                  \
    out[i] = c + x;                                                                                                    \
  }                                                                                                                    \
  kernel void ones_once_##NAME(global const T *in, global T *out, uint n) {                                           \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    uint c = 0;                                                                                                        \
    do {                                                                                                               \
      x &= x - 1;                                                                                                      \
      c++;                                                                                                             \
    } while (x != 0);                                                                                                  \
    out[i] = c;                                                                                                        \
  }                                                                                                                    \
  kernel void highest_##NAME(global const T *in, global T *out, uint n) {                                             \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    uint c = 0;                                                                                                        \
    while (x >>= 1) c++;                                                                                               \
    out[i] = c;                                                                                                        \
  }                                                                                                                    \
  kernel void halved_##NAME(global const T *in, global T *out, uint n) {                                              \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    uint c = 7;                                                                                                        \
    do {                                                                                                               \
      c -= 3;                                                                                                          \
      x >>= 1;                                                                                                         \
    } while (x);                                                                                                       \
    out[i] = c + x;                                                                                                    \
  }                                                                                                                    \
  kernel void sum_##NAME(global const T *in, global T *out, uint n) {                                                 \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    T c = 2;                                                                                                           \
    while (x != 0) {                                                                                                   \
      c += x & 1;                                                                                                      \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = c;                                                                                                        \
  }                                                                                                                    \
  kernel void some_##NAME(global const T *in, global T *out, uint n) {                                                \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i];                                                                                                       \
    uint c = 1;                                                                                                        \
    for (int b = 0; b < WIDTH - 3; b++) c += (x >> b) & 1;                                                             \
    out[i] = c;                                                                                                        \
  }                                                                                                                    \
  kernel void parity_##NAME(global const T *in, global T *out, uint n) {                                              \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i], p = 4;                                                                                                \
    for (int b = 0; b < WIDTH - 1; b++) {                                                                              \
      p ^= x & 1;                                                                                                      \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = p + x * 16;                                                                                               \
  }                                                                                                                    \
  kernel void reverse_##NAME(global const T *in, global T *out, uint n) {                                             \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i], r = 0;                                                                                                \
    for (int b = 0; b < WIDTH; b++) {                                                                                  \
      r = (r << 1) | (x & 1);                                                                                          \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = r;                                                                                                        \
  }                                                                                                                    \
  kernel void some_reversed_##NAME(global const T *in, global T *out, uint n) {                                       \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i], r = 3;                                                                                                \
    for (uint b = 0; b < 5; b++) {                                                                                     \
      r = r * 2 + (x & 1);                                                                                             \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = r;                                                                                                        \
  }                                                                                                                    \
  kernel void reversed_##NAME(global const T *in, global T *out, uint n) {                                            \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i], r = 1;                                                                                                \
    for (uint b = 0; b < n; b++) {                                                                                     \
      r = (r << 1) + (x & 1);                                                                                          \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = r;                                                                                                        \
  }                                                                                                                    \
  kernel void reversed_each_##NAME(global const T *in, global T *out, uint n) {                                       \
    size_t i = get_global_id(0);                                                                                       \
    T x = in[i], r = 1;                                                                                                \
    int last = (int)((uint)in[i] % (n + 1)) - 1;                                                                       \
    for (int b = 0; b < last; ++b) {                                                                                   \
      r = (r << 1) ^ (x & 1);                                                                                          \
      x >>= 1;                                                                                                         \
    }                                                                                                                  \
    out[i] = r;                                                                                                        \
  }

BITS(uchar, 8, 8)
BITS(ushort, 16, 16)
BITS(uint, 32, 32)
BITS(ulong, 64, 64)

// The sign goes on behind the last bit, so these bits are not all that such a loop sees.
kernel void signed_32(global const int *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  int x = in[i];
  uint r = 0;
  for (uint b = 0; b < n; b++) {
    r = (r << 1) | (x & 1);
    x >>= 1;
  }
  out[i] = r;
}

struct pair {
  uint a, b;
};

// The first iteration has another member of a structure, a structure of another size, and an index of fewer bits.
kernel void other_member(global const struct pair *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  uint x = in[i].a, sum = 0;
  for (uint j = 0; j < n; j++) {
    uint next = in[i + j].b;
    sum = sum * 10 + x;
    x = next;
  }
  out[i] = sum;
}

struct triple {
  uint a, b, c;
};

kernel void other_structure(global const struct pair *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  global const struct triple *more = (global const struct triple *)in;
  uint x = in[i].a, sum = 0;
  for (uint j = 0; j < n; j++) {
    uint next = more[i + j].a;
    sum = sum * 10 + x;
    x = next;
  }
  out[i] = sum;
}

kernel void other_index(global const uint *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  uint x = in[(ushort)(i * 3)], sum = 0;
  for (uint j = 0; j < n; j++) {
    uint next = in[j + 1];
    sum = sum * 10 + x;
    x = next;
  }
  out[i] = sum;
}

// How often a loop runs is loaded in each iteration.
kernel void loaded_bound(global const uint *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  uint sum = 0;
  for (uint j = 0; j < in[i] % 9; j++) sum = sum * 3 + j;
  out[i] = sum;
}

// And may be less in each.
kernel void stored_bound(global uint *in, global uint *out, uint n) {
  size_t i = get_global_id(0);
  uint sum = 0;
  for (uint j = 0; j < in[i] % 9; j++) {
    sum = sum * 3 + j;
    in[i] = j == 2 ? 0 : in[i];
  }
  out[i] = sum;
}

// How often a loop runs is computed in each iteration, and is the same for all sub-groups of a row: behind a loop that is better off with
// several of them side by side.
kernel void alike_bound(global const uint *in, global uint *out, int n) {
  size_t i = get_global_id(0);
  uint sum = 0;
  int j;
  for (j = 0; j < n; j++) sum += in[(i + j) & 511];
  j = 0;
  do {
    sum = sum * 3 + in[(i + j) & 255];
  } while (++j < (int)(i % 8));
  out[i] = sum;
}
