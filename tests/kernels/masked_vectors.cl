// Vectors of bytes and halves that some work-items store: a mask of vectors has more lanes than a word has bits.

#define STORED(T, N)                                                                                                    \
  kernel void stored_##T##N(global const T##N *in, global T##N *out, uint n) {                                          \
    uint id = get_global_id(0);                                                                                         \
    if (id < n) {                                                                                                       \
      T##N v = in[id];                                                                                                  \
      v.s1 = (T)(id * 3 + v.s0);                                                                                        \
      out[id] = v;                                                                                                      \
    }                                                                                                                   \
  }                                                                                                                     \
  kernel void added_##T##N(global const T##N *in, global T##N *out, uint n) {                                           \
    uint id = get_global_id(0);                                                                                         \
    if (id % 7 < n)                                                                                                     \
      out[id] = in[id] * (T)3 + (T)1;                                                                                   \
  }
STORED(uchar, 2)
STORED(uchar, 4)
STORED(uchar, 8)
STORED(uchar, 16)
STORED(ushort, 4)
STORED(ushort, 8)
STORED(ushort, 16)
STORED(uint, 8)
STORED(uint, 16)

kernel void stored_by_three(global const uchar *in, global uchar *out, uint n) {
  uint id = get_global_id(0);
  if (id < n)
    vstore3(vload3(id, in) + (uchar3)(1, 2, 3), id, out);
}
