// Loops in loops over the elements of a private array, each of which runs as often as the ones around it say.

#define N 16

// Batcher's network that merges what is at even and at odd places.
__kernel void sort16(__global const int *in, __global int *out)
{
    const size_t i = get_global_id(0);
    int v[N];
    for (int k = 0; k < N; k++)
        v[k] = in[i * N + k];
    for (int width = 1; width < N; width *= 2)
        for (int apart = width; apart >= 1; apart /= 2)
            for (int first = apart % width; first + apart < N; first += 2 * apart)
                for (int k = first; k < first + apart && k + apart < N; k++)
                    if (k / (2 * width) == (k + apart) / (2 * width)) {
                        const int low = min(v[k], v[k + apart]), high = max(v[k], v[k + apart]);
                        v[k] = low;
                        v[k + apart] = high;
                    }
    for (int k = 0; k < N; k++)
        out[i * N + k] = v[k];
}

#define SIDE 6

// The lower triangle of a product of triangles, of numbers modulo 2^32, from the last row to the first; data says what is divided.
__kernel void triangle(__global const uint *in, __global uint *out)
{
    const int i = get_global_id(0);
    uint a[SIDE * (SIDE + 1) / 2];
    uint divided = 0;
    for (int k = 0; k < SIDE * (SIDE + 1) / 2; k++)
        a[k] = in[i * 21 + k];
    for (int row = SIDE - 1; row >= 0; row--)
        for (int column = 0; column <= row; column++) {
            uint sum = a[row * (row + 1) / 2 + column];
            for (int k = column; k < row; k++)
                sum += a[row * (row + 1) / 2 + k] * a[k * (k + 1) / 2 + column];
            if (sum & 1) {
                sum = 0xffffffffu / sum;
                divided += row;
            } else if (column > 0 && (sum & 4)) {
                sum = a[row] % (sum | 3);
            }
            a[row * (row + 1) / 2 + column] = sum;
        }
    for (int k = 0; k < SIDE * (SIDE + 1) / 2; k++)
        out[i * 21 + k] = a[k] + divided;
}

// Sums of ever shorter pieces, in floating-point numbers; how many passes there are is an argument.
__kernel void pieces(__global const float *in, __global float *out, int passes)
{
    const uint i = get_global_id(0);
    float v[8];
    for (uchar k = 0; k < 8; k++)
        v[k] = in[i * 8 + k];
    for (int pass = 0; pass < passes; pass++)
        for (short from = 7; from > 0; from--)
            for (short k = from; k < 8; k += from) {
                if (v[k] > v[k - from])
                    v[k] = fma(v[k - from], 0.5f, v[k]);
                else
                    v[k - from] = v[k] - 0.25f * v[from];
            }
    for (uchar k = 0; k < 8; k++)
        out[i * 8 + k] = v[k];
}
