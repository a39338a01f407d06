// Indices of which some bits are known, whose elements are loaded and stored lane by lane.

#define LOOK_UP(T)                                                                                                      \
  kernel void look_up_##T(global const T *a, global const uint *b, global T *out) {                                     \
    uint id = get_global_id(0);                                                                                         \
    out[id] = a[(b[id] & 0xff8) | 7] + a[(b[id] & 0x3f0) | 3] + (T)get_group_id(0);                                     \
  }                                                                                                                     \
  kernel void look_up_int_##T(global const T *a, global const int *b, global T *out) {                                  \
    int id = get_global_id(0);                                                                                          \
    out[id] = a[(b[id] & 0xff8) | 7] + a[id * 24 & 4095] + a[(id * 24 + 7) & 4095] + (T)get_group_id(0);                \
  }                                                                                                                     \
  kernel void spread_##T(global const T *a, global const uint *b, global T *out) {                                      \
    uint id = get_global_id(0);                                                                                         \
    out[(id * 4 & 0xffc) | 2] = a[id] + (T)get_group_id(0);                                                             \
  }
LOOK_UP(uchar)
LOOK_UP(ushort)
LOOK_UP(uint)
LOOK_UP(ulong)
