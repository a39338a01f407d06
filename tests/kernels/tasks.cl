// What one work-item does alone, in loops whose iterations may become lanes.

__kernel void add(__global const float *a, __global const float *b, __global float *c, int n)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

__kernel void sum(__global const int *in, __global int *out, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++)
        total += in[i];
    out[0] = total;
}

// An order that is seen in the last bits.
__kernel void sum_floats(__global const float *in, __global float *out, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += in[i];
    out[0] = total;
}

__kernel void count(__global const uchar *in, __global uint *out, uint n, uchar wanted)
{
    uint found = 0;
    for (uint i = 0; i < n; i++)
        found += in[i] == wanted;
    out[0] = found;
}

__kernel void multiply(__global const float *a, __global const float *b, __global float *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float total = 0;
            for (int k = 0; k < n; k++)
                total += a[i * n + k] * b[k * n + j];
            c[i * n + j] = total;
        }
}

// A table in private memory that begins as zeros.
__kernel void histogram(__global const uchar *in, __global uint *out, int n)
{
    uint bins[256];
    for (int i = 0; i < 256; i++)
        bins[i] = 0;
    for (int i = 0; i < n; i++)
        bins[in[i]]++;
    for (int i = 0; i < 256; i++)
        out[i] = bins[i];
}

// Groups of one work-item that meet at barriers, which mean nothing.
__kernel void alone(__global const int *in, __global int *out, int n)
{
    __local int seen[64];
    for (int i = 0; i < 64; i++)
        seen[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < n; i++)
        seen[i & 63] += in[get_group_id(0) * n + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int total = 0;
    for (int i = 0; i < 64; i++)
        total = total * 3 + seen[i];
    out[get_group_id(0)] = total;
}
