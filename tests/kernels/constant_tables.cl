// Module-scope constants: initialised arrays of several types, nested aggregates, strings and pointers between them.
__constant int primes[16] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53 };
__constant float weights[5] = { 0.5f, -1.25f, 3.0f, 1e-3f, 1e20f };
__constant double wide[3] = { 0.1, -2.5e300, 1e-300 };
__constant uchar text[] = "level zero";
__constant short grid[3][4] = { { 1, 2, 3, 4 }, { -5, -6, -7, -8 }, { 9, 10, 11, 12 } };
__constant int4 vectors[2] = { (int4)(1, 2, 3, 4), (int4)(-10, -20, -30, -40) };

typedef struct {
    char code;
    ulong value;
    float scale[2];
} entry;
__constant entry entries[3] = { { 'a', 0x123456789abcdef0UL, { 1.5f, 2.5f } },
                                { 'b', 42, { -1.0f, 0.0f } },
                                { 'c', 0xffffffffffffffffUL, { 1024.0f, -0.125f } } };
__constant int zeros[64] = { 0 };

__kernel void constant_lookup(__global const uint *index, __global long *ints, __global double *floats, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint k = index[i];
    __constant entry *e = &entries[k % 3];
    int4 v = vectors[k % 2];
    ints[i] = primes[k % 16] * 1000003L + text[k % sizeof(text)] * 8191L + grid[k % 3][k % 4] * 131L + v.x + 7L * v.w +
              e->code + (long)(e->value >> 7) + zeros[k % 64];
    floats[i] = weights[k % 5] + wide[k % 3] + e->scale[k % 2];
}

__kernel void constant_argument(__constant float *table, uint size, __global const uint *index, __global float *out,
                                uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        out[i] = table[index[i] % size] + table[0];
}
