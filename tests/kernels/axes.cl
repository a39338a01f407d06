// Kernels whose first id counts rows: neighbours in memory differ in the second or the third one.

// What a work-item sees of its place, along each dimension.
ulong seen(uint of, size_t global_id, size_t local_id, size_t group, size_t local_size, size_t groups, size_t global_size,
           size_t offset)
{
    ulong sum = of;
    sum = sum * 31 + global_id;
    sum = sum * 31 + local_id;
    sum = sum * 31 + group;
    sum = sum * 31 + local_size;
    sum = sum * 31 + groups;
    sum = sum * 31 + global_size;
    return sum * 31 + offset;
}

#define SEEN(d)                                                                                                          \
    seen(d, get_global_id(d), get_local_id(d), get_group_id(d), get_local_size(d), get_num_groups(d), get_global_size(d), \
         get_global_offset(d))
#define OWN(d) (get_global_id(d) - get_global_offset(d))

#define BEFORE_Y ((OWN(2) * get_global_size(0) + OWN(0)) * get_global_size(1) + OWN(1))
#define BEFORE_Z ((OWN(0) * get_global_size(1) + OWN(1)) * get_global_size(2) + OWN(2))

// Everything that tells where it is.
__kernel void places_y(__global ulong *out)
{
    out[BEFORE_Y] = SEEN(0) * 1000003 + SEEN(1) * 1009 + SEEN(2);
}

__kernel void places_z(__global ulong *out)
{
    out[BEFORE_Z] = SEEN(0) * 1000003 + SEEN(1) * 1009 + SEEN(2);
}

// Global ids alone: groups may be any.
__kernel void ids_y(__global ulong *out)
{
    out[BEFORE_Y] = get_global_id(0) * 10007 + get_global_id(1) * 101 + get_global_id(2);
}

__kernel void ids_z(__global ulong *out)
{
    out[BEFORE_Z] = get_global_id(0) * 10007 + get_global_id(1) * 101 + get_global_id(2);
}

// An id whose dimension the launch says.
__kernel void dimension(__global uint *out, uint height, uint depth, uint which)
{
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[(x * height + y) * depth + z] = (uint)get_global_id(which) * 4 + (uint)get_local_id(which);
}

// Through local memory, with a barrier; lanes that are off at the edge.
__kernel void tile(__global const uint *in, __global uint *out, int rows, int columns, __local uint *tile)
{
    int r = get_local_id(0), c = get_local_id(1), high = get_local_size(0), wide = get_local_size(1);
    int row = get_global_id(0), column = get_global_id(1);
    if (row < rows && column < columns)
        tile[r * wide + c] = in[row * columns + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < high; k++)
        if ((int)get_group_id(0) * high + k < rows && column < columns)
            sum += tile[k * wide + c] * (k + 1);
    if (row < rows && column < columns)
        out[row * columns + column] = sum + r;
}

// A product whose loop ends at the row, and a place that the order of work-items in a group says.
__kernel void triangle(__global const float *a, __global const float *b, __global float *out, int n)
{
    int row = get_global_id(0), column = get_global_id(1);
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k <= row; k++)
        sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
}

__kernel void linear(__global uint *out, uint height)
{
    out[get_global_id(0) * height + get_global_id(1)] = (uint)get_local_linear_id() * 1000 + (uint)get_global_linear_id();
}

// As most kernels are.
__kernel void usual(__global uint *out, uint width)
{
    out[get_global_id(1) * width + get_global_id(0)] = (uint)get_global_id(0) * 3 + (uint)get_global_id(1);
}
