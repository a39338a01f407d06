// build: -O0 -Xclang -disable-O0-optnone
// Members that are stored and loaded again, as they stand in the source: nothing has handed them on.

// The first store of a group that others join behind a load.
__kernel void stored_before(__global int4 *structures, __global const int *in, uint n)
{
    size_t g = get_global_id(0), i = 4 * g;
    __global int *p = (__global int *)structures;
    if (g >= n)
        return;
    p[i + 3] = in[g];
    int a = p[i], b = p[i + 1];
    p[i + 1] = a + b;
    int c = p[i + 2];
    p[i + 2] = a + c;
    int d = p[i + 3];
    p[i] = d;
}

// Products along a row of each work-item.
__kernel void products(__global short *out, __global const short *in, __local short *rows, uint n)
{
    uint g = get_global_id(0);
    int l = get_local_id(0);
    for (int j = 0; j < 8; ++j)
        rows[l * 8 + j] = g < n ? in[g] : 1;
    for (int j = 1; j < 8; ++j)
        rows[l * 8 + j] = (short)(rows[l * 8 + j - 1] * rows[l * 8 + j]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (g < n)
        for (int j = 0; j < 8; ++j)
            out[g * 8 + j] = rows[l * 8 + j];
}
