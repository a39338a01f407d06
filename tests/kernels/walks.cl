// Each work-item goes through a piece of memory of its own, one element after the other.

// How often a byte is followed by another one in the piece.
__kernel void count_pairs(__global const uchar *text, __global int *counts, int n, int piece, uchar a, uchar b)
{
    int id = get_global_id(0);
    int count = 0;
    for (int i = id * piece; i < id * piece + piece && i + 1 < n; ++i)
        if (text[i] == a && text[i + 1] == b)
            ++count;
    counts[id] = count;
}

// Where a byte stands in front of another one.
__kernel void mark_ends(__global const uchar *text, __global int *ends, int piece, uchar a)
{
    int first = get_global_id(0) * piece;
    for (int i = first; i < first + piece; ++i)
        if (text[i] == a && text[i + 1] != a)
            ends[i] = i;
}

__kernel void scale_pieces(__global const float *x, __global float *y, float factor, int n, int piece)
{
    int first = get_global_id(0) * piece;
    for (int i = first; i < first + piece && i < n; ++i)
        y[i] = factor * x[i] + y[i];
}

__kernel void sum_rows(__global const int *rows, __global long *sums, int columns)
{
    int row = get_global_id(0);
    long sum = 0;
    for (int column = 0; column < columns; ++column)
        sum += rows[row * columns + column];
    sums[row] = sum;
}

// The two may be pieces of one memory, where an iteration takes what an earlier one has made.
__kernel void carry_on(__global const int *from, __global int *to, int piece, int count)
{
    int first = get_global_id(0) * piece;
    for (int i = first; i < first + count; ++i)
        to[i] = from[i] + 1;
}

// What has 16 bits wraps around, and goes on at the other side of where the pointer leads.
__kernel void count_around(__global const uchar *middle, __global int *sums, int piece)
{
    short at = (short)(get_global_id(0) * piece);
    int sum = 0;
    for (int i = 0; i < piece; ++i, ++at)
        sum += middle[at];
    sums[get_global_id(0)] = sum;
}

// A sum of floats has an order.
__kernel void sum_floats(__global const float *rows, __global float *sums, int columns)
{
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column)
        sum += rows[row * columns + column];
    sums[row] = sum;
}

// Lanes that are work-items have neighbours here, in each iteration.
__kernel void sum_columns(__global const int *rows, __global int *sums, int columns, int count)
{
    int column = get_global_id(0);
    int sum = 0;
    for (int row = 0; row < count; ++row)
        sum += rows[row * columns + column];
    sums[column] = sum;
}

// Each pair of two rows of a work-item's own: sums and the least over two loops.
__kernel void pairs_of_rows(__global const ushort *a, __global const ushort *b, __global uint *out)
{
    const int i = get_global_id(0);
    ushort alike = 0;
    uint least = 70000, apart = 0, bits = 0;
    for (int x = 0; x < 32; x++) {
        const ushort of = a[i * 32 + x];
        for (int y = 0; y < 32; y++)
            if (of == b[i * 32 + y])
                alike++;
    }
    for (int x = 0; x < 32; x++)
        for (int y = 0; y < 32; y++)
            least = min(least, (uint)abs(a[i * 32 + x] - b[i * 32 + y]) * 3 + x);
    for (int x = 0; x < 32; x++)
        for (int y = 0; y < 32; y++)
            apart += abs(a[i * 32 + x] - b[i * 32 + y]);
    for (int x = 0; x < 32; x++)
        for (int y = 0; y < 32; y++)
            bits |= (a[i * 32 + x] + 1) & (b[i * 32 + y] << 3);
    out[4 * i] = alike;
    out[4 * i + 1] = least;
    out[4 * i + 2] = apart;
    out[4 * i + 3] = bits;
}
