// Whether components are alike, found out once and asked in a loop that work-items leave at different times.

#define ALIKE(NAME, VOTE, COUNT, PLACES)                                                    \
    __kernel void NAME(__global const uint *in, __global uint *out)                         \
    {                                                                                       \
        const uint i = get_global_id(0);                                                    \
        uint number = in[i & 255];                                                          \
        const __global uchar *bytes = (__global const uchar *)in + 1;                       \
        const uchar##COUNT row = vload##COUNT(in[i & 63] & 15, bytes);                      \
        uint3 three = vload3((i + number) & 7, in + 1);                                     \
        int left = number & 7;                                                              \
        do {                                                                                \
            if (three.s2 & 2)                                                               \
                goto end;                                                                   \
            if (number % 3 == 0) {                                                          \
                if (VOTE(row == shuffle(row, row.PLACES))) {                                \
                    three = as_uint3(abs(three));                                           \
                    number += 3;                                                            \
                }                                                                           \
            }                                                                               \
        } while (--left > 0);                                                               \
    end:                                                                                    \
        out[i] = number;                                                                    \
    }

ALIKE(all_of_8, all, 8, s26036526)
ALIKE(any_of_8, any, 8, s26036526)
ALIKE(all_of_16, all, 16, s2603652626036526)
ALIKE(any_of_16, any, 16, s2603652626036526)

// Rows whose components are words, more of them than a register has.
#define WORDS(NAME, TYPE, VOTE)                                                             \
    __kernel void NAME(__global const TYPE *in, __global TYPE *out)                         \
    {                                                                                       \
        const uint i = get_global_id(0);                                                    \
        const TYPE row = in[i];                                                             \
        out[i] = VOTE(row > (TYPE)2) ? row + 1 : row;                                       \
    }

WORDS(all_of_16_words, uint16, all)
WORDS(any_of_16_words, uint16, any)
WORDS(all_of_8_longs, ulong8, all)
