// Loops that shift a number until something is met, with integers of every width.

#define LOOPS(T, WIDTH)                                                                     \
    __kernel void shifted_##T(__global const T *in, __global int *out, uint n)              \
    {                                                                                       \
        const uint i = get_global_id(0);                                                    \
        if (i >= n)                                                                         \
            return;                                                                         \
        __global int *to = out + 12 * i;                                                    \
        const T given = in[i];                                                              \
        T v = given;                                                                        \
        int places = 0;                                                                     \
        while (v >>= 1)                                                                     \
            ++places;                                                                       \
        to[0] = places;                                                                     \
        char down = WIDTH;                                                                  \
        for (v = given; v != 0; v >>= 1)                                                    \
            --down;                                                                         \
        to[1] = down;                                                                       \
        T power = 3;                                                                        \
        for (v = given; v > 1; v /= 2)                                                      \
            power *= 2;                                                                     \
        to[2] = (int)power;                                                                 \
        int pairs = 0;                                                                      \
        for (v = given; v >= 4; v >>= 2)                                                    \
            pairs += 5;                                                                     \
        to[3] = pairs;                                                                      \
        to[4] = (int)v;                                                                     \
        int digits = 0;                                                                     \
        T mask = (T)-1;                                                                     \
        v = given;                                                                          \
        do {                                                                                \
            ++digits;                                                                       \
            mask >>= 1;                                                                     \
            v >>= 3;                                                                        \
        } while (v);                                                                        \
        to[5] = digits;                                                                     \
        to[6] = (int)mask;                                                                  \
        uchar zeros = 0;                                                                    \
        for (v = given; v && !(v & 1); v >>= 1)                                             \
            ++zeros;                                                                        \
        to[7] = zeros;                                                                      \
        to[8] = (int)v;                                                                     \
        v = given ? given : 1;                                                              \
        long lowest = 0;                                                                    \
        while ((v & 1) == 0) {                                                              \
            v >>= 1;                                                                        \
            ++lowest;                                                                       \
        }                                                                                   \
        to[9] = (int)lowest;                                                                \
        v = given ? given : 1;                                                              \
        short leading = 0;                                                                  \
        while (!(v & (T)1 << (WIDTH - 1))) {                                                \
            v <<= 1;                                                                        \
            ++leading;                                                                      \
        }                                                                                   \
        to[10] = leading;                                                                   \
        to[11] = (int)(v >> (WIDTH / 2));                                                   \
    }

LOOPS(uchar, 8)
LOOPS(ushort, 16)
LOOPS(uint, 32)
LOOPS(ulong, 64)
