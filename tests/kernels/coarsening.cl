// Kernels whose sub-groups may run side by side (thread coarsening): loops and barriers in two dimensions, with
// what differs between rows, and with rows that are off.

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// The offsets of rows that are off lead to no memory.
kernel void guarded_rows(global const int *a, global const ulong *offset, global int *out, uint rows, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1);
  ulong base = offset[y];
  if (y < rows) {
    int sum = 0;
    for (uint k = 0; k < n; ++k)
      sum += a[base + k] * (int)(k + x);
    out[y * get_global_size(0) + x] = sum;
  }
}

// Division traps, and a store to one place for all is no vector instruction.
kernel void guarded_division(global const int *divisor, global int *out, global int *per_row, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1);
  int d = divisor[y], sum = 0;
  for (uint k = 0; k < n; ++k) {
    if (d != 0) {
      int q = (int)(k * 1000) / d;
      per_row[y] = q;
      sum += q;
    }
    sum = sum * 3 + (int)x;
  }
  out[y * get_global_size(0) + x] = sum;
}

kernel void exchange(global const int *in, global int *out, local int *tile, uint rounds) {
  size_t x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
  size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
  int v = in[at];
  for (uint r = 0; r < rounds; ++r) {
    tile[y * w + x] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    v = v * 3 + tile[(y + 1) % h * w + (x + r) % w] + tile[y * w] - tile[x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[at] = v;
}

// Between barriers few sub-groups do something: those of a tree of sums, lane by lane on the way back. The result is what comes before.
kernel void running_sums(global const int *in, global int *out, local int *tile) {
  uint l = get_local_id(1) * get_local_size(0) + get_local_id(0), n = get_local_size(0) * get_local_size(1);
  size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
  tile[l] = in[at];
  uint step = 1;
  for (uint d = n / 2; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d)
      tile[step * (2 * l + 2) - 1] += tile[step * (2 * l + 1) - 1];
    step *= 2;
  }
  if (l == 0)
    tile[n - 1] = 0;
  for (uint d = 1; d < n; d *= 2) {
    step /= 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) {
      int left = tile[step * (2 * l + 1) - 1];
      tile[step * (2 * l + 1) - 1] = tile[step * (2 * l + 2) - 1];
      tile[step * (2 * l + 2) - 1] += left;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[at] = tile[l];
}

// Between barriers there is something to do for fewer and fewer: of a group, of each row of it, or rows.
#define SHRINKING(NAME, PLACE, COUNT, STEP)                                                                            \
  kernel void shrinking_##NAME(global const int *in, global int *out, local int *tile) {                               \
    int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);                        \
    size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);                                              \
    int l = y * w + x, n = w * h, taken = 0;                                                                           \
    local int *other = tile + n + w;                                                                                   \
    tile[l] = in[at];                                                                                                  \
    if (l < w)                                                                                                         \
      tile[n + l] = 7;                                                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    for (int j = COUNT; j > 0; j -= 2) {                                                                               \
      if (PLACE < j)                                                                                                   \
        other[l] = tile[l + STEP] * 3 + tile[l];                                                                       \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
      if (PLACE < j - 1) {                                                                                             \
        tile[l] = other[l + STEP] - other[l];                                                                          \
        taken += j;                                                                                                    \
      }                                                                                                                \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                    \
    }                                                                                                                  \
    out[at] = tile[l] + taken;                                                                                         \
  }
SHRINKING(group, l, n, 1)
SHRINKING(row, x, w, 1)
SHRINKING(column, y, h, w)

kernel void private_arrays(global const int *in, global int *out, uint n) {
  size_t y = get_global_id(1), at = y * get_global_size(0) + get_global_id(0);
  int own[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int v = in[at];
  for (uint k = 0; k < n; ++k) {
    own[(k + y) & 7] += v;
    own[(v + k) & 7] ^= (int)k;
    v = v * 5 + own[k & 7];
  }
  out[at] = v;
}

kernel void atomics(global int *counts, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1);
  for (uint k = 0; k < n; ++k) {
    atomic_add(&counts[(x + y * k) % 16], (int)k);
    atomic_inc(&counts[16 + y % 4]);
    if (y % 3 == 1)
      atomic_max(&counts[20], (int)(y * 100 + k));
  }
}

kernel void diverging(global const int *in, global int *out, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1), at = y * get_global_size(0) + x;
  uint v = (uint)in[at] | 1, steps = 0;
  int last = -1, sum = 0;
  while (v != 1 && steps < n + 7 * y) {
    v = v % 2 == 0 ? v / 2 : v * 3 + 1;
    ++steps;
    if (v % 5 == y % 5)
      continue;
    last = (int)(v ^ steps);
    if (v % 1024 == 17)
      break;
    for (uint k = 0; k < (v & 3) + y; ++k)
      sum = sum * 7 + (int)(k ^ x);
  }
  out[at] = (int)(steps * 31 + v) ^ last ^ sum;
}

// What a lane leaves the loop with is what all had in common then.
kernel void escaping(global const int *in, global int *out, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1), at = y * get_global_size(0) + x;
  uint v = (uint)in[at], steps = 0;
  while (steps < n + 7 * y && (v & 63) != 5) {
    v = (v ^ (steps + (uint)x)) * 5 + (v >> 3);
    ++steps;
  }
  out[at] = (int)(steps * 1000 + (v & 255));
}

typedef struct {
  int values[4];
  int factor;
} Table;

kernel void by_value(Table table, global int *out, uint n) {
  size_t x = get_global_id(0), y = get_global_id(1);
  int sum = 0;
  for (uint k = 0; k < n; ++k) {
    table.values[(k + x + y) & 3] += (int)y * table.factor + (int)k;
    sum = sum * 3 + table.values[k & 3];
  }
  out[y * get_global_size(0) + x] = sum;
}

__attribute__((intel_reqd_sub_group_size(8)))
kernel void sub_groups(global const int *in, global int *out, uint n) {
  size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
  int v = in[at], sum = 0;
  for (uint k = 0; k < n; ++k) {
    sum = sum * 5 + sub_group_reduce_add(v + (int)k) + sub_group_broadcast(v, k % 8);
    if (get_sub_group_id() % 2 == k % 2)
      v += sub_group_scan_inclusive_max(v) + (int)get_sub_group_id();
  }
  out[at] = sum ^ v;
}

// What rows above each other have in common, made where each of them has other lanes on, by one after the other: a division may trap. The loop
// uses it in all of them.
#define IN_COMMON(name, what)                                                                                            \
  kernel void common_##name(global const int *in, global int *out, uint n) {                                             \
    size_t x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);                                           \
    if (x + y >= w)                                                                                                      \
      return;                                                                                                            \
    uint q = n / 3, t = 0;                                                                                               \
    int v = (int)y, a = what;                                                                                            \
    do {                                                                                                                 \
      v = (v ^ (int)t) * 3 + a;                                                                                          \
      ++t;                                                                                                               \
    } while (t < q);                                                                                                     \
    out[y * w + x] = v;                                                                                                  \
  }

IN_COMMON(row, in[x])
IN_COMMON(gathered, in[(uint)in[x] % (uint)w])
IN_COMMON(quotient, in[x] / 7)
IN_COMMON(byte, ((global const uchar *)in)[x])
IN_COMMON(pair, (int)(((global const long *)in)[x / 2] >> 8))

// What all rows change alike in private memory, where each has other lanes on: one after the other divides, or stores what is its own.
#define CHANGES(name, change)                                                                                            \
  kernel void changes_##name(global const int *in, global int *out, uint n) {                                            \
    size_t x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), at = y * w + x;                           \
    int v = in[at], sum = 0, a[5] = {10, 11, 12, 13, 14}, own[5] = {v, v, v, v, v};                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                        \
    if (x + y >= w)                                                                                                      \
      return;                                                                                                            \
    for (uint j = 0; j < n; ++j) {                                                                                       \
      change;                                                                                                            \
    }                                                                                                                    \
    out[at] = a[n % 5] * 31 + sum + own[(n + 1) % 5];                                                                    \
  }

CHANGES(count, a[j % 5] += 1; sum += v / (int)(j + 1))
CHANGES(exchange, int old = a[j % 5]; a[j % 5] = a[(j + 1) % 5]; a[(j + 1) % 5] = old; sum += v / (int)(j + 1))
CHANGES(own, a[j % 5] += (int)j; own[j % 5] ^= v + (int)j)
