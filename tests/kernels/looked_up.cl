// Objects of a few elements that are reached by generic pointers, looked up by an index that is a row in few sub-groups.
#define LOOKED_UP(T, COUNT)                                                                                             \
  typedef struct {                                                                                                      \
    T h[COUNT];                                                                                                         \
  } of_##T##_##COUNT;                                                                                                   \
  kernel void looked_up_##T##_##COUNT(global const of_##T##_##COUNT *p, global T *out, int n) {                         \
    int id = get_global_id(0);                                                                                          \
    of_##T##_##COUNT v = *p;                                                                                            \
    of_##T##_##COUNT const *q = &v;                                                                                     \
    T found = q->h[(uint)id % COUNT##u];                                                                                \
    if (id % 5 < n)                                                                                                     \
      found += q->h[clamp(id - 7, 0, COUNT - 1)];                                                                       \
    out[id] = found;                                                                                                    \
  }
LOOKED_UP(uchar, 3)
LOOKED_UP(ushort, 3)
LOOKED_UP(ushort, 37)
LOOKED_UP(uint, 3)
LOOKED_UP(double, 3)
LOOKED_UP(ulong, 17)
