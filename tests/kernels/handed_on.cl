// Loops that load what they stored in the iteration before.

// Row r of n numbers: each becomes the sum of all up to it.
__kernel void sums(__global uint *x, int n)
{
    const int r = get_global_id(0);
    for (int j = 1; j < n; j++)
        x[r * n + j] += x[r * n + j - 1];
}

// The same down the columns of n rows, from the last one.
__kernel void columns(__global uint *x, uint n)
{
    const uint i = get_global_id(0), width = get_global_size(0);
    for (uint j = n - 1; j-- > 0;)
        x[j * width + i] = x[(j + 1) * width + i] * 3 + x[j * width + i];
}

// A recurrence of second order. The loads are in both orders.
__kernel void second_order(__global const uint *x, __global uint *y, int n)
{
    const size_t row = get_global_id(0) * n;
    y[row] = x[row];
    y[row + 1] = x[row + 1];
    for (int j = 2; j < n; j++)
        y[row + j] = (y[row + j - 2] ^ y[row + j - 1] * 5) + x[row + j];
}

// Two arrays, the second of which begins anywhere in the first one's memory.
__kernel void overlapping(__global uint *memory, int apart, int n)
{
    __global uint *const a = memory + get_global_id(0) * n * 4 + n, *const b = a + apart;
    for (int j = 1; j < n; j++) {
        a[j] = a[j - 1] * 7 + b[j];
        b[j] = a[j] ^ b[j - 1];
    }
}

// Not each iteration stores, and what is stored is stored again.
__kernel void sometimes(__global uint *x, __global uint *y, int n)
{
    const int r = get_global_id(0);
    for (int j = 1; j < n; j++) {
        const uint before = x[r * n + j - 1], now = x[r * n + j];
        if (now & 1)
            x[r * n + j] = before + now;
        const uint last = y[r * n + j - 1];
        y[r * n + j] = last * 3 + before;
        if (now & 2)
            y[r * n + j] = last - now;
    }
}

// A sum in memory, behind what the same loop may change.
__kernel void in_memory(__global uint *sum, __global uint *x, int n)
{
    const int r = get_global_id(0);
    for (int j = 0; j < n; j++) {
        sum[r] += x[r * n + j];
        x[r * n + j] = sum[r] >> 1;
    }
}

// Pointers as counters, two elements at a time, until what data says.
__kernel void by_pointers(__global uint *x, int n)
{
    __global uint *p = x + get_global_id(0) * n + 2;
    __global uint *const end = x + (get_global_id(0) + 1) * n;
    while (p + 1 < end) {
        p[0] += p[-2];
        p[1] ^= p[-1] + p[-2];
        if (p[1] % 61 == 7)
            break;
        p += 2;
    }
}

// Indices of 8 bits, which wrap around.
__kernel void short_indices(__global uint *x, uchar first, int n)
{
    __global uint *const row = x + get_global_id(0) * 256;
    uchar j = first;
    for (int k = 0; k < n; k++) {
        row[(uchar)(j + 1)] += row[j] * 3;
        j++;
    }
}

// A row of local memory, and distances of one and of three.
__kernel void local_rows(__global uint *x, int n, __local uint *rows)
{
    __local uint *const row = rows + get_local_id(0) * n;
    __global uint *const own = x + get_global_id(0) * n;
    for (int j = 0; j < n; j++)
        row[j] = own[j];
    for (int j = 3; j < n; j++)
        row[j] += row[j - 1] * row[j - 3];
    for (int j = 0; j < n; j++)
        own[j] = row[j];
}

// Numbers of 64 bits, and words of them.
__kernel void words(__global ulong *x, int n)
{
    __global ulong *const row = x + get_global_id(0) * n;
    for (int j = 1; j < n; j++) {
        const uint low = ((__global uint *)row)[2 * j - 2];
        row[j] += row[j - 1] ^ low;
    }
}
