// Structures whose members are accessed one by one: together they are vectors and shuffles.

typedef struct {
    float x, y, z;
    int id;
    float vx, vy, vz;
} Body;

// Some members are read, others written, of seven.
__kernel void step_bodies(__global Body *bodies, float dt, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    bodies[i].x += dt * bodies[i].vx;
    bodies[i].z = bodies[i].y - dt * bodies[i].vz;
    bodies[i].id = as_int(bodies[i].y) ^ bodies[i].id;
}

// Members are read again after they were written.
__kernel void rotate_bodies(__global Body *bodies, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    float x = bodies[i].x;
    bodies[i].x = bodies[i].y;
    bodies[i].y = bodies[i].z;
    bodies[i].z = x;
    bodies[i].vx = bodies[i].x + bodies[i].z;
    bodies[i].vy = bodies[i].y * bodies[i].vx;
}

// Two pointers that may lead to the same structures, in the same place or shifted by one.
__kernel void exchange(__global Body *to, __global const Body *from, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    to[i].x = from[i].vy;
    to[i].y = from[i].x;
    to[i].vz = from[i].y + from[i].x;
    to[i].vy = from[i].vz;
}

// Only some work-items take part, in a branch that others leave alone.
__kernel void some_bodies(__global Body *bodies, __global const int *chosen, uint n)
{
    size_t i = get_global_id(0);
    if (i < n && chosen[i] > 0) {
        float length = sqrt(bodies[i].vx * bodies[i].vx + bodies[i].vy * bodies[i].vy);
        bodies[i].vx = length;
        bodies[i].vy = length / 2;
        bodies[i].id += chosen[i];
    }
}

typedef struct {
    uchar r, g, b;
} Pixel;

__kernel void grey(__global Pixel *pixels, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint light = (77 * pixels[i].r + 150 * pixels[i].g + 29 * pixels[i].b) >> 8;
    pixels[i].r = light;
    pixels[i].g = light / 2;
    pixels[i].b = 255 - light;
}

typedef struct {
    double re, im, weight;
} Sample;

// The same member is written twice, and one is not touched.
__kernel void square(__global Sample *samples, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    double re = samples[i].re, im = samples[i].im;
    samples[i].re = im;
    if (n > 3)
        samples[i].weight = 1;
    samples[i].re = re * re - im * im;
    samples[i].im = 2 * re * im;
}

typedef struct {
    short low, high, third, fourth, fifth;
} Shorts;

// Local memory, with a barrier between what is written and what is read.
__kernel void shuffle_local(__global Shorts *out, __global const Shorts *in, __local Shorts *part, uint n)
{
    size_t i = get_global_id(0), l = get_local_id(0);
    Shorts s = {0, 0, 0, 0, 0};
    if (i < n)
        s = in[i];
    part[l].low = s.fifth;
    part[l].high = s.low;
    part[l].third = s.high;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
        size_t other = get_local_size(0) - 1 - l;
        out[i].low = part[l].third;
        out[i].high = part[l].low;
        out[i].fifth = part[other].high;
    }
}

// Members of structures that are only arithmetic: three and six floats, with indices of 32 and of 64 bits.
__kernel void flat_triples(__global float *out, __global const float *in, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2];
    out[3 * i] = y - z;
    out[3 * i + 1] = z - x;
    out[3 * i + 2] = x - y;
}

__kernel void flat_sixes(__global float *values, ulong n)
{
    ulong i = get_global_id(0);
    if (i >= n)
        return;
    values[6 * i + 4] = values[6 * i + 1] + values[6 * i + 5];
    values[6 * i + 2] = values[6 * i + 4] - values[6 * i + 3];
}

// Three words that follow each other in structures which data names, for as many of them as a work-item has.
__kernel void named_triples(__global float *out, __global const float *triples, __global const float4 *wide,
                            __global const int *which, __global const int *count, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float x = 0, y = 0, z = 0;
    for (int j = 0; j < count[i]; ++j) {
        int at = which[(i + 7 * j) % n];
        __global const float *other = (__global const float *)&wide[at];
        x += triples[3 * at] - other[2];
        y += triples[3 * at + 1] - other[0];
        z += triples[3 * at + 2] - other[1];
    }
    out[3 * i] = x;
    out[3 * i + 1] = y;
    out[3 * i + 2] = z;
}

// A byte that wraps around within its object is no member.
__kernel void wrapping_bytes(__global int *out, __global const int *in, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    char at = (char)(2 * i), next = (char)(at + 1);
    out[2 * i] = in[128 + at];
    out[2 * i + 1] = in[128 + next];
}

// Rows, one a work-item, of which several elements are read at a time. Rows begin anywhere.
#define ROWS(NAME, T, U)                                                                                               \
    __kernel void NAME(__global const T *rows, __global const uint *factors, __global uint *out, uint length, uint n)  \
    {                                                                                                                  \
        uint i = get_global_id(0);                                                                                     \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        __global const T *row = rows + i * length;                                                                     \
        uint sum = i;                                                                                                  \
        for (int at = 0; at + U <= (int)length; at += U) {                                                             \
            _Pragma("unroll") for (int k = 0; k < U; k++) sum = sum * 5 + row[at + k] * factors[at + k];               \
        }                                                                                                              \
        out[i] = sum;                                                                                                  \
    }
ROWS(rows_of_16_bytes, uchar, 16)
ROWS(rows_of_8_bytes, char, 8)
ROWS(rows_of_4_bytes, uchar, 4)
ROWS(rows_of_12_bytes, ushort, 6)
ROWS(rows_of_two_words, short, 4)
ROWS(rows_of_words, uint, 8)
ROWS(rows_of_pairs, uint, 2)

// Lanes' indices of 32 bits wrap around within a sub-group, where those below are off.
__kernel void change_behind(__global uint *four, uint start, uint n)
{
    const uint i = start + (uint)get_global_id(0);
    if (i < n) {
        const uint a = four[4 * (ulong)i], b = four[4 * (ulong)i + 1];
        four[4 * (ulong)i + 1] = a + 1;
        four[4 * (ulong)i + 2] = a ^ b;
    }
}
