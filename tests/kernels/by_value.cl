// Structures passed by value to functions that the compiler does not inline.

#define NOINLINE __attribute__((noinline))

typedef struct {
  uint v[4];
} four;

NOINLINE uint change(four x, uint at, uint to) {
  x.v[at & 3] = to;
  return x.v[0] + 10 * x.v[1] + 100 * x.v[2] + 1000 * x.v[3];
}

// The caller's object is its own.
kernel void callee_changes_its_parameter(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  four mine;
  for (uint k = 0; k < 4; k++)
    mine.v[(in[i] + k) & 3] = k + 1;
  uint result = change(mine, in[i] >> 2, 9);
  out[2 * i] = result;
  out[2 * i + 1] = mine.v[0] + 10 * mine.v[1] + 100 * mine.v[2] + 1000 * mine.v[3];
}

NOINLINE uint change_and_pass_on(four x, uint at) {
  x.v[at & 3] += 5;
  uint inner = change(x, at + 1, 0);
  return 10000 * inner + x.v[(at + 1) & 3];
}

// So is the kernel's argument, which the functions change in turns.
kernel void callees_change_the_argument(four arg, global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  out[2 * i] = change_and_pass_on(arg, in[i]);
  out[2 * i + 1] = arg.v[in[i] & 3];
}

NOINLINE uint read_after(four x, four *alias, uint at) {
  alias->v[at & 3] = 77;
  return x.v[at & 3];
}

// A callee that only reads its parameter, and changes the original meanwhile.
kernel void original_changes(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  four mine;
  for (uint k = 0; k < 4; k++)
    mine.v[(in[i] + k) & 3] = k + 1;
  out[2 * i] = read_after(mine, &mine, in[i]);
  out[2 * i + 1] = mine.v[in[i] & 3];
}

typedef struct {
  uint rounds;
  int factor;
} settings;

NOINLINE int inner_rounds(settings s, local int *scratch, int v) {
  int lid = get_local_id(0), size = get_local_size(0);
  for (uint k = 0; k < s.rounds; k++) {
    scratch[lid] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    v = v * s.factor + scratch[size - 1 - lid];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return v;
}

NOINLINE int outer_rounds(settings s, local int *scratch, int v) {
  return inner_rounds(s, scratch, v) - s.factor;
}

// The trip count stays the same for all work-items: there is a barrier in the loop.
kernel void barrier_in_a_loop_bounded_by_the_argument(settings s, global const int *in, global int *out,
                                                      local int *scratch) {
  size_t i = get_global_id(0);
  out[i] = outer_rounds(s, scratch, in[i]);
}

// One of two structures, of which one changes: each work-item has copies of both.
#define CHOSEN(TYPE, WORDS)                                                                                            \
  typedef struct {                                                                                                     \
    TYPE v[WORDS];                                                                                                     \
  } TYPE##_of_##WORDS;                                                                                                       \
  kernel void chosen_##TYPE##_##WORDS(TYPE##_of_##WORDS a, TYPE##_of_##WORDS b, global const uint *in, global TYPE *out, uint n) { \
    size_t i = get_global_id(0);                                                                                       \
    TYPE sum = in[i];                                                                                                  \
    for (uint j = 0; j < n; j++) {                                                                                     \
      TYPE##_of_##WORDS *one = sum & 1 ? &a : &b;                                                                            \
      sum += one->v[i % WORDS];                                                                                        \
      b.v[sum % WORDS] += j;                                                                                           \
    }                                                                                                                  \
    out[i] = sum;                                                                                                      \
  }                                                                                                                    \
  kernel void filled_##TYPE##_##WORDS(global const TYPE##_of_##WORDS *in, global TYPE##_of_##WORDS *out, uint n) {                 \
    size_t i = get_global_id(0);                                                                                       \
    if (i % n)                                                                                                         \
      out[i] = *in;                                                                                                    \
    TYPE##_of_##WORDS last;                                                                                                  \
    for (uint k = 0; k < WORDS; k++)                                                                                   \
      last.v[k] = in[1].v[WORDS - 1 - k];                                                                              \
    out[get_global_size(0) + i] = last;                                                                                \
  }
CHOSEN(ulong, 3)
CHOSEN(ulong, 4)
CHOSEN(ulong, 8)
CHOSEN(ulong, 12)
CHOSEN(ulong, 20)
CHOSEN(uint, 6)
CHOSEN(uint, 12)
CHOSEN(ushort, 12)
CHOSEN(uchar, 24)
