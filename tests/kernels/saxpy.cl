// y = factor * x + y.
__kernel void saxpy(float factor, __global const float *x, __global float *y, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        y[i] = factor * x[i] + y[i];
}
