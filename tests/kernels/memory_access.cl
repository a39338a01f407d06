// Loads and stores of every width and pattern: contiguous, reversed, strided, misaligned, uniform, gathered, scattered.
#define PATTERNS(T)                                                                                                    \
    __kernel void access_##T(__global const T *in, __global const uint *index, __global T *out, uint n, uint stride)   \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        out[i] = in[i];                                                                                                \
        out[n + i] = in[n - 1 - i];                                                                                    \
        out[2 * n + i] = in[(i * stride) % n];                                                                         \
        out[3 * n + i] = in[stride];                                                                                   \
        out[4 * n + i] = in[index[i]];                                                                                 \
        out[5 * n + index[i]] = in[i];                                                                                 \
        out[6 * n + i] = in[2 * (i / 2)];                                                                              \
        if (index[i] & 1)                                                                                              \
            out[7 * n + i] = in[i];                                                                                    \
    }
PATTERNS(char)
PATTERNS(short)
PATTERNS(int)
PATTERNS(long)
PATTERNS(float)
PATTERNS(double)

// Interleaved structures: a stride that is not the access's size.
typedef struct {
    float x, y, z;
    uchar r, g, b, a;
} point;
__kernel void structures(__global const point *in, __global point *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    point p = in[i];
    point q = { p.z, p.x, p.y, p.a, p.r, p.g, p.b };
    out[i] = q;
}

// Packed members sit at addresses that their types do not allow.
typedef struct __attribute__((packed)) {
    uchar tag;
    uint word;
    ushort half_word;
    ulong wide;
} packed;
__kernel void packed_structures(__global const packed *in, __global packed *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    packed p = in[i];
    out[i].tag = (uchar)(p.tag + 1);
    out[i].word = p.word * 3;
    out[i].half_word = (ushort)(p.half_word ^ 0x5a5a);
    out[i].wide = p.wide - p.word;
}

// Pointers kept in memory, and pointer arithmetic on integers.
__kernel void pointer_chase(__global ulong *links, __global ulong *out, uint steps)
{
    size_t i = get_global_id(0);
    __global ulong *at = links + i;
    for (uint k = 0; k < steps; ++k)
        at = (__global ulong *)*at;
    out[i] = (ulong)(at - links);
}

// Two dimensions, row pitch not a multiple of anything.
__kernel void box_blur(__global const uchar *in, __global uchar *out, uint width, uint height, uint pitch)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= (int)width || y >= (int)height)
        return;
    uint sum = 0;
    uint count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int sx = x + dx;
            int sy = y + dy;
            if (sx >= 0 && sy >= 0 && sx < (int)width && sy < (int)height) {
                sum += in[sy * pitch + sx];
                ++count;
            }
        }
    out[y * pitch + x] = (uchar)(sum / count);
}

// Local memory of every width, written in one pattern and read in another.
#define LOCAL(T)                                                                                                       \
    __kernel void local_##T(__global const T *in, __global T *out, __local T *scratch)                                 \
    {                                                                                                                  \
        uint lid = get_local_id(0);                                                                                    \
        uint size = get_local_size(0);                                                                                 \
        scratch[(lid * 7 + 3) % size] = in[get_global_id(0)];                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        out[get_global_id(0)] = scratch[size - 1 - lid];                                                               \
    }
LOCAL(char)
LOCAL(short)
LOCAL(int)
LOCAL(long)
