// Quotients and remainders of ids, by what full sub-groups divide and by what they do not, as values, as indices and as conditions.
// PARTS numbers a work-item, at its linear id without the offset.
#define PARTS 9

__kernel void index_parts(__global const int *table, __global int *out, int n)
{
    size_t x = get_global_id(0), first = get_global_offset(0);
    int i = (int)x, l = (int)get_local_id(0);
    unsigned u = (unsigned)x + 0xfffffff0u;
    __global int *r = out + (get_global_id(1) * get_global_size(0) + (x - first)) * PARTS;
    r[0] = table[x / 16] + table[i % 80];
    r[1] = table[i >> 5] + table[i & 63];
    r[2] = i / 48 * 1000 + i % 24;
    r[3] = (i - 40) / 16 * 1000 + (i - 56) % 32;
    r[4] = table[i * 4 / 64 + l / 32] + table[l % 48];
    r[5] = i / n * 1000;
    r[6] = table[(x - first) / get_local_size(0)];
    r[7] = table[((size_t)u & 0xffffffff) / 64 % 64] + (int)(u & ~31u);
    int sum = 0;
    if (i / 16 & 1)
        sum = table[i];
    for (int k = 0; k < (i >> 6 & 3); k++)
        sum += table[k + i];
    r[8] = sum;
}
