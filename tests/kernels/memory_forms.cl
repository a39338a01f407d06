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
