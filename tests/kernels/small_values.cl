// Kernels of bytes and halves of a word, whose sub-groups may have more lanes than 32-bit values fill a register with.

// How often a text has three bytes in a row.
__kernel void find(__global const uchar *text, __global uint *count, uint n, uchar a, uchar b, uchar c)
{
    uint i = get_global_id(0);
    if (i + 2 < n && text[i] == a && text[i + 1] == b && text[i + 2] == c)
        atomic_inc(count);
}

#define STEP(x, other) x = rotate(max(x, (uchar)(other ^ 0x35)), (uchar)3) ^ sub_sat(other, x);

// Work-items whose byte ends with 1 in some steps draw numbers, of which bytes are kept; others keep what they have.
__kernel void draw(__global const uchar *in, __global uchar *out, __global uint *drawn)
{
    uint i = get_global_id(0);
    uchar x = in[i], y = ~x;
    STEP(x, y) STEP(y, x) STEP(x, y) STEP(y, x) STEP(x, y) STEP(y, x) STEP(x, y) STEP(y, x)
    if (x & 1)
        y = (uchar)atomic_inc(drawn);
    out[i] = y;
}

#define SORT(a, b) { uchar low = min(a, b); b = max(a, b); a = low; }

// The median of a cross of five, with the border repeated.
__kernel void median(__global const uchar *in, __global uchar *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uchar a = in[y * width + max(x - 1, 0)], b = in[y * width + min(x + 1, width - 1)];
    uchar c = in[max(y - 1, 0) * width + x], d = in[min(y + 1, height - 1) * width + x], e = in[y * width + x];
    SORT(a, b) SORT(c, d) SORT(a, c) SORT(b, d) SORT(b, c) SORT(c, e) SORT(b, c)
    out[y * width + x] = c;
}

// Saturating and averaging arithmetic of halves of a word.
__kernel void mix(__global const short *a, __global const short *b, __global short *out)
{
    size_t i = get_global_id(0);
    short x = a[i], y = b[i];
    short sum = add_sat(x, y), difference = sub_sat(x, y), middle = rhadd(x, y);
    out[i] = max(min(sum, middle), difference) ^ mul_hi(x, y);
}

// Bytes go round in their work-group of up to 256, a place further in each step, with what they meet.
__kernel void circle(__global uchar *data, int steps)
{
    __local uchar here[256];
    uint l = get_local_id(0), size = get_local_size(0);
    uchar own = data[get_global_id(0)];
    here[l] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step <= steps; ++step) {
        uint from = l + step;
        own = (uchar)(own << 1 | own >> 7) ^ here[from >= size ? from - size : from];
    }
    data[get_global_id(0)] = own;
}

// The largest and the sum of a column, modulo 256.
__kernel void columns(__global const uchar *data, __global uchar *largest, __global uchar *sum, int rows)
{
    int columns = get_global_size(0), x = get_global_id(0);
    uchar most = 0, all = 0;
    for (int row = 0; row < rows; ++row) {
        uchar value = data[row * columns + x];
        most = max(most, value);
        all += value;
    }
    largest[x] = most;
    sum[x] = all;
}

// What is done to words is not faster in wider sub-groups, although bytes are read.
__kernel void mixed_words(__global const uchar *in, __global uint *out)
{
    size_t i = get_global_id(0);
    uint x = in[i];
    x = x * 0x9e3779b9u ^ x >> 3;
    x = x * 0x85ebca6bu ^ x >> 13;
    out[i] = x * 0xc2b2ae35u ^ x >> 16;
}

// Lanes that are through wait for the others.
__kernel void collatz(__global const uchar *in, __global uchar *out)
{
    size_t i = get_global_id(0);
    uchar x = in[i], steps = 0;
    while (x > 1 && steps < 100) {
        x = x & 1 ? (uchar)(x + 3) : (uchar)(x >> 1);
        ++steps;
    }
    out[i] = steps;
}

// Elements at places that depend on ids alone, which may be a row, lie close together, or far apart.
#define PLACES(NAME, TYPE) \
    __kernel void NAME(__global const TYPE *in, __global TYPE *out, uint times, uint by, uint from, uint last) \
    { \
        uint i = get_global_id(0); \
        out[i] = in[min(i * times / by + from, last)]; \
    } \
    __kernel void NAME##_in_part(__global const TYPE *in, __global TYPE *out, uint times, uint by, uint from, uint last) \
    { \
        uint i = get_global_id(0); \
        if (i % 3 != 1) \
            out[i] = in[min(i * times / by + from, last)]; \
    } \
    __kernel void NAME##_exchanged(__global const TYPE *in, __global TYPE *out, uint times, uint by, uint from, uint last) \
    { \
        uint i = get_global_id(0); \
        out[i] = in[min((i ^ times) + from, last)]; \
    } \
    __kernel void NAME##_apart(__global const TYPE *in, __global TYPE *out, uint from, uint last) \
    { \
        uint i = get_global_id(0), at = 3 * i + from; \
        if (at <= last) \
            out[i] = in[at]; \
    } \
    __kernel void NAME##_spread(__global const TYPE *in, __global TYPE *out, uint from, uint last) \
    { \
        uint i = get_global_id(0), at = 3 * i + from; \
        if (at <= last) \
            out[at] = in[i]; \
    }

PLACES(bytes, uchar)
PLACES(shorts, ushort)
PLACES(words, uint)
PLACES(longs, ulong)
