// OpenCL 2.0 generic pointers: one function over global, local and private memory, chosen at run time.

__attribute__((noinline)) int sum_of(const int *values, int count)
{
    int sum = 0;
    for (int k = 0; k < count; ++k)
        sum = sum * 3 + values[k];
    return sum;
}

__attribute__((noinline)) void fill(int *values, int count, int seed)
{
    for (int k = 0; k < count; ++k)
        values[k] = seed + k * k;
}

__kernel void generic_access(__global int *data, __global int *out, __local int *scratch, uint n)
{
    size_t i = get_global_id(0);
    uint lid = get_local_id(0);
    int mine[4];
    fill(mine, 4, (int)i);
    fill(scratch + 4 * lid, 4, (int)lid * 10);
    int r = 0;
    if (i < n) {
        const int *chosen;
        switch (data[i * 4] % 3) {
        case 0:
            chosen = mine;
            break;
        case 1:
            chosen = scratch + 4 * lid;
            break;
        default:
            chosen = data + i * 4;
        }
        r = sum_of(chosen, 4);
        out[i] = r;
    }
}
