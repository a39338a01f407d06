// Element-wise sum, the smallest kernel with a bound check.
__kernel void vector_add(__global const float *a, __global const float *b, __global float *sum, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        sum[i] = a[i] + b[i];
}
