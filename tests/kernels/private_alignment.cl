// build: -O0 -Xclang -disable-O0-optnone
// Where private variables lie: every work-item's object is where its type, or its declaration, asks for it.

typedef struct {
    char before;
    long16 wide;
    char behind;
} Wide;

typedef struct {
    long16 wide[8];
} Kilobyte;

#define PLACE(variable, alignment) ((uint)((ulong)&(variable) & ((alignment) - 1)))

__kernel void places(__global const long *in, __global uint *out)
{
    size_t i = get_global_id(0);
    __private Wide wide;
    __private long16 alone = (long16)(in[i]);
    __private Kilobyte kilobyte;
    __private int words[5] __attribute__((aligned(64)));
    __private char bytes[3] __attribute__((aligned(16)));
    // Each is used by its address, and keeps what the work-item has put there.
    volatile __private char *at = bytes;
    for (int k = 0; k < 3; ++k)
        at[k] = (char)(in[i] + k);
    volatile __private int *word = words;
    for (int k = 0; k < 5; ++k)
        word[k] = (int)in[i] * k;
    volatile __private long *number = (__private long *)&kilobyte;
    for (int k = 0; k < 128; ++k)
        number[k] = in[i] - k;
    wide.before = 1;
    wide.wide = alone + (long16)(7);
    wide.behind = 2;
    long sum = wide.wide.s5 + wide.before + wide.behind + at[2] + word[4];
    for (int k = 0; k < 128; ++k)
        sum += number[k];
    out[8 * i] = PLACE(wide.wide, 128);
    out[8 * i + 1] = PLACE(alone, 128);
    out[8 * i + 2] = PLACE(kilobyte, 128);
    out[8 * i + 3] = PLACE(words, 64);
    out[8 * i + 4] = PLACE(bytes, 16);
    out[8 * i + 5] = (uint)sum;
}
