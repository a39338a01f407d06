// Private arrays of few elements, of which lanes read and write different ones.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define GENTYPES(X, N) X(char, N) X(short, N) X(int, N) X(float, N) X(long, N) X(double, N)

// Elements chosen by the input are changed from others that it chooses, by the work-items that it chooses.
#define EXCHANGE(T, N)                                                                                                 \
    __kernel void exchange_##T##_##N(__global const uint *in, __global T *out, uint n)                                 \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T row[N];                                                                                                      \
        for (int k = 0; k < N; ++k)                                                                                    \
            row[k] = (T)(k + (in[i] & 15));                                                                            \
        uint number = in[i];                                                                                           \
        for (int step = 0; step < 20; ++step) {                                                                        \
            number = number * 1664525u + 1013904223u;                                                                  \
            if (number & 0x40000000)                                                                                   \
                row[(number >> 8) % N] = row[(number >> 16) % N] - (T)(step & 3);                                      \
        }                                                                                                              \
        for (int k = 0; k < N; ++k)                                                                                    \
            out[k * n + i] = row[k];                                                                                   \
    }

// The least first, by insertion.
#define SORT(T, N)                                                                                                     \
    __kernel void sort_##T##_##N(__global const uint *in, __global T *out, uint n)                                     \
    {                                                                                                                  \
        size_t i = get_global_id(0);                                                                                   \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T row[N];                                                                                                      \
        uint number = in[i];                                                                                           \
        for (int k = 0; k < N; ++k) {                                                                                  \
            number = number * 1664525u + 1013904223u;                                                                  \
            T value = (T)(number >> 25);                                                                               \
            int at = k;                                                                                                \
            for (; at > 0 && row[at - 1] > value; --at)                                                                \
                row[at] = row[at - 1];                                                                                 \
            row[at] = value;                                                                                           \
        }                                                                                                              \
        for (int k = 0; k < N; ++k)                                                                                    \
            out[k * n + i] = row[k];                                                                                   \
    }

GENTYPES(EXCHANGE, 3)
GENTYPES(EXCHANGE, 5)
GENTYPES(EXCHANGE, 11)
GENTYPES(EXCHANGE, 19)
GENTYPES(SORT, 5)
GENTYPES(SORT, 9)
GENTYPES(SORT, 17)

// Members of structures: rows of equal leaves, which are further apart than a leaf.
typedef struct {
    int key, value;
} pair;

__kernel void pairs(__global const uint *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    pair row[3];
    for (int k = 0; k < 3; ++k) {
        row[k].key = k;
        row[k].value = 10 * k;
    }
    uint number = in[i];
    for (int step = 0; step < 10; ++step) {
        number = number * 1664525u + 1013904223u;
        if (number & 0x40000000)
            row[(number >> 8) % 3].key += step;
        else
            row[(number >> 8) % 3].value -= row[(number >> 16) % 3].key;
    }
    for (int k = 0; k < 3; ++k)
        out[i * 3 + k] = row[k].key * 1000 + row[k].value;
}
