// Accesses to memory in forms that are easily compiled wrongly.

#define PATIENCE (1u << 31)

// What the host changes while the kernel runs is seen.
kernel void wait_for_host(volatile global uint *started, volatile global uint *flag, global uint *out) {
  *started = 1;
  uint turns = 0;
  while (*flag == 0 && turns < PATIENCE)
    turns++;
  out[get_global_id(0)] = turns < PATIENCE;
}

// The same with a flag for each work-item.
kernel void each_waits_for_host(volatile global uint *started, volatile global uint *flags, global uint *out) {
  size_t i = get_global_id(0);
  *started = 1;
  uint turns = 0;
  while (flags[i] == 0 && turns < PATIENCE)
    turns++;
  out[i] = turns < PATIENCE;
}

// And with flags in another order.
kernel void each_waits_for_another(volatile global uint *started, volatile global uint *flags,
                                   global const uint *order, global uint *out) {
  size_t i = get_global_id(0);
  uint at = order[i];
  *started = 1;
  uint turns = 0;
  while (flags[at] == 0 && turns < PATIENCE)
    turns++;
  out[i] = turns < PATIENCE;
}

// Three components of every four, from the second on.
kernel void three_of_four(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float3 v = vload3(0, in + 1 + 4 * i);
  out[i] = v.x + v.y + v.z;
}

// Some small members of structures as large as a word, for work-items below a bound.
#define SMALL_MEMBERS(name, type, step, value) \
  kernel void name(global const type *in, global ulong *out, uint n) { \
    size_t g = get_global_id(0); \
    if (g < n) { \
      in += step * g; \
      out[g] = value; \
    } \
  }
#define BYTE(at) (ulong)in[at]
#define SHORT(at) (ulong)(ushort)(in[at] << 8 | in[at] >> 8)
SMALL_MEMBERS(three_bytes_of_four, uchar, 4, BYTE(0) << 16 | BYTE(1) << 8 | BYTE(2))
SMALL_MEMBERS(middle_bytes_of_four, uchar, 4, BYTE(1) << 8 | BYTE(2))
SMALL_MEMBERS(first_byte_of_eight, uchar, 8, BYTE(0))
SMALL_MEMBERS(three_shorts_of_four, ushort, 4, SHORT(0) << 32 | SHORT(1) << 16 | SHORT(2))
SMALL_MEMBERS(second_short_of_two, ushort, 2, SHORT(1))
