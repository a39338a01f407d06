// translate: --spirv-fp-contract=fast
// Neighbours on grids, in the forms in which people say what is beyond an edge.

#define HERE(T) \
    T x = get_global_id(0), y = get_global_id(1); \
    if (x >= w || y >= h) \
        return;

// The border repeated.
#define CLAMPED(T, S) \
    __kernel void clamped_##T(__global const int *in, __global int *out, T w, T h) \
    { \
        HERE(T) \
        int sum = 0; \
        for (int dy = -1; dy <= 1; ++dy) \
            for (int dx = -2; dx <= 2; ++dx) { \
                S row = min(max((S)y + dy, (S)0), (S)h - 1), column = min(max((S)x + dx, (S)0), (S)w - 1); \
                sum = sum * 3 + in[row * w + column]; \
            } \
        out[y * w + x] = sum; \
    }

// Nothing beyond it.
#define PADDED(T, S) \
    __kernel void padded_##T(__global const int *in, __global int *out, T w, T h) \
    { \
        HERE(T) \
        int sum = 0; \
        for (int dy = -1; dy <= 1; ++dy) \
            for (int dx = -1; dx <= 1; ++dx) { \
                S row = (S)y + dy, column = (S)x + dx; \
                if (row >= 0 && row < (S)h && column >= 0 && column < (S)w) \
                    sum += (dx * 7 + dy * 3 + 11) * in[row * w + column]; \
            } \
        out[y * w + x] = sum; \
    }

// The other side.
#define WRAPPED(T, S) \
    __kernel void wrapped_##T(__global const int *in, __global int *out, T w, T h) \
    { \
        HERE(T) \
        T left = (x + w - 1) % w, right = (x + 1) % w, up = y == 0 ? h - 1 : y - 1, down = y + 1 < h ? y + 1 : 0; \
        out[y * w + x] = in[y * w + left] + 3 * in[y * w + right] + 5 * in[up * w + x] + 7 * in[down * w + x] \
            - 11 * in[up * w + left] - 13 * in[down * w + right]; \
    }

#define ALL(T, S) CLAMPED(T, S) PADDED(T, S) WRAPPED(T, S)

ALL(int, int)
ALL(uint, int)
ALL(long, long)
ALL(ulong, long)
ALL(short, int)

// A torus whose sides are powers of two.
__kernel void torus(__global const int *in, __global int *out, uint w, uint h)
{
    uint x = get_global_id(0), y = get_global_id(1);
    uint left = (x - 1) & (w - 1), right = (x + 1) & (w - 1), up = (y - 1) & (h - 1), down = (y + 1) & (h - 1);
    out[y * w + x] = in[y * w + left] - in[y * w + right] * 3 + in[up * w + x] * 5 - in[down * w + x] * 7;
}

// A window as wide as an argument says, from both of its ends, and a part of it.
__kernel void window(__global const int *in, __global int *out, int w, int h, int from, int to)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    int sum = 0;
    for (int d = from; d <= to; ++d)
        sum = sum * 5 + in[y * w + clamp(x + d, 0, w - 1)];
    for (int d = from; d < to; ++d)
        sum = sum * 3 + in[y * w + clamp(x - d, 0, w - 1)];
    out[y * w + x] = sum;
}

__kernel void window_uint(__global const int *in, __global int *out, uint w, uint h, uint from, uint to)
{
    size_t x = get_global_id(0), y = get_global_id(1);
    int sum = 0;
    for (uint d = from; d != to; ++d) {
        size_t at = x + d;
        if (at < w)
            sum += in[y * w + at] * 3;
        else
            sum -= 1;
        if (x >= d)
            sum ^= in[y * w + (x - d)];
    }
    out[y * w + x] = sum;
}

// Places that may be far beyond all edges, and beyond the end of the numbers.
__kernel void shifted(__global const int *in, __global int *out, int w, uint by)
{
    uint x = get_global_id(0);
    int at = (int)(x + by), next = (int)(x + by + 1), other = (int)(x * 2 + by);
    out[x] = in[min(max(at, 0), w - 1)] * 3 + in[clamp(next, 0, w - 1)] * 5 + in[min(max(other, 1), w - 2)] * 7
        + (at > 3 ? in[min(at, w - 1)] : -1) + in[min((uint)at, (uint)(w - 1))];
}

// Products that are added behind a choice: whether both are one operation must not depend on where an element is.
__kernel void products(__global const float *in, __global const float *weights, __global float *out, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float sum = 0.1f, other = 0.3f;
    for (int dx = -2; dx <= 2; ++dx) {
        int at = x + dx;
        bool inside = at >= 0 && at < w;
        float product = in[y * w + min(max(at, 0), w - 1)] * weights[dx + 2];
        sum += inside ? product : 0.0f;
        if (inside)
            other += in[y * w + at] * weights[dx + 2];
        else
            other *= 0.5f;
    }
    out[y * w + x] = sum + other;
}

// What is done at an edge is done there only.
__kernel void edges(__global const int *in, __global int *out, __global int *seen, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    int left = x > 0 ? in[y * w + x - 1] : -1, right = x < w - 1 ? in[y * w + x + 1] : -2;
    int up = y > 0 ? in[(y - 1) * w + x] : -3, down = y < h - 1 ? in[(y + 1) * w + x] : -4;
    if (x == 0)
        seen[y] = down + 1;
    if (x == w - 1)
        atomic_add(&seen[h + y], up);
    out[y * w + x] = left * 3 + right * 5 + up * 7 + down * 11;
}
