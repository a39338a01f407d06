// Compressed-sparse-row matrix times vector, one row a work-item: trip counts differ from lane to lane.
__kernel void spmv_csr(__global const uint *row_start, __global const uint *column, __global const float *value,
                       __global const float *x, __global float *y, uint rows)
{
    size_t row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint i = row_start[row]; i < row_start[row + 1]; ++i)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}
