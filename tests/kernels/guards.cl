// translate: --spirv-fp-contract=fast
// What work-items do whose ids are within a bound: products in registers and in private variables that only some of them change,
// and sums behind that, which may be fused with products that they find next to them.

__kernel void guarded(__global const float *a, __global const float *b, __global float *out, uint n)
{
    size_t i = get_global_id(0);
    float sum = 0.5f;
    // A bound in the middle of a sub-group.
    if (i < n - 7) {
        float parts[3] = { 1.0f, a[i], b[i] };
        float product = a[i] * b[i];
        parts[(int)(4.0f * a[i]) % 3] = product * 0.75f;
        if (b[i] > 1.0f)
            product = a[i] * product;
        sum = product + b[i];
        sum += parts[(int)(8.0f * b[i]) % 3] * a[i];
        out[i] = sum - parts[1];
    }
    out[n + i] = sum * 1.5f + 0.25f;
}

__kernel void guarded_loop(__global const float *a, __global const float *b, __global float *out, uint n)
{
    float sum = a[get_global_id(0)];
    for (size_t i = get_global_id(0); i < 100 * n - 7; i += get_global_size(0)) {
        float product = a[i] * b[i];
        if (a[i] > b[i])
            product *= 0.5f;
        sum = sum * 0.875f + product;
        out[i] = sum;
    }
    out[16000 + get_global_id(0)] = sum * a[1] + 1.0f;
}

// A join that some reach with a product, all at once, and others each under a mask.
__kernel void guarded_join(__global const float *a, __global const float *b, __global float *out, uint n)
{
    size_t i = get_global_id(0);
    if (i < n - 7) {
        float t;
        if (n > 3) {
            t = a[i] * b[i + 2];
        } else if (a[i] > b[i]) {
            out[2 * n + i] = 1.0f;
            t = b[i];
        } else {
            out[3 * n + i] = 1.0f;
            t = 2.0f;
        }
        out[n + i] = t + a[i + 1];
    }
}

// Each row's end is somewhere else in a sub-group, and the columns of a row are a loop.
__kernel void guarded_rows(__global const float *a, __global const float *b, __global float *out, uint n)
{
    size_t x = get_global_id(0), y = get_global_id(1);
    if (x > 2 && x < n - 3 && y < n - 1) {
        float sum = 0;
        for (uint k = 0; k < n; k++)
            sum += a[y * n + k] * b[k * n + x];
        out[y * n + x] = sum + a[y * n + x - 1];
    }
}

// Work-items go through a range in strides: each writes how often it has been where.
__kernel void strided(__global uint *out, uint n, uint size)
{
    for (uint i = get_global_id(0); i < n; i += size)
        out[i] += i + 1;
}

__kernel void strided_down(__global uint *out, int n, int size)
{
    for (int i = n - 1 - (int)get_global_id(0); i >= 0; i -= size)
        out[i] += i + 1;
}

// The last numbers before they wrap around.
__kernel void strided_to_the_end(__global uint *out, uint first, uint size)
{
    for (uint i = first + (uint)get_global_id(0); i >= 1000; i += size)
        out[i - first] += 1;
}

__kernel void strided_sum(__global uint *out, ulong n, ulong size)
{
    uint sum = 0, count = 0;
    for (ulong i = get_global_id(0); i < n; i += size) {
        if (i % 3 == 0)
            sum += out[n + i];
        count++;
    }
    out[get_global_id(0)] = sum + 1000 * count;
}

__kernel void triangle(__global uint *out, uint n)
{
    uint i = get_global_id(0), sum = 0;
    for (uint j = 0; j <= i; j++)
        sum += out[n + j];
    out[i] = sum;
}
