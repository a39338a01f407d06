// build: -O0 -Xclang -disable-O0-optnone
// Products that wait in a private array, and at a join that others reach under a mask, for the sums behind them.

__kernel void guarded_products(__global const float *a, __global const float *b, __global float *out, uint n)
{
    size_t i = get_global_id(0);
    float parts[3];
    parts[0] = a[i];
    parts[1] = b[i];
    parts[2] = 1.0f;
    // A bound in the middle of a sub-group.
    if (i < n - 7) {
        float t;
        parts[1] = a[i] * b[i];
        float sum = parts[1] + b[i + 1];
        if (n > 3) {
            t = a[i] * b[i + 2];
        } else {
            if (a[i] > b[i]) {
                out[2 * n + i] = 1.0f;
                t = 1.0f;
            } else {
                t = 2.0f;
            }
        }
        out[i] = sum;
        out[n + i] = t + a[i + 1];
    }
    out[1000 + i] = parts[(int)(4.0f * a[i]) % 3];
}
