// Functions of numbers that are the same for all work-items, or for those of a work-group, beside the same functions of each work-item's own.

__kernel void powers(uint n, __global const float *base, __constant int *times, __global const float *own, __global float *shared_results,
                     __global float *own_results)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const size_t group = get_group_id(0);
    shared_results[i] = pown(base[0], times[0]) + exp(base[group]) * pow(base[group / 2], base[1]) - cos((float)times[1]);
    own_results[i] = pown(own[4 * i], (int)own[4 * i + 3]) + exp(own[4 * i + 1]) * pow(own[4 * i + 2], base[1]) - cos((float)times[1]);
}

// The second number is none that the first call was asked for.
__kernel void in_loops(__global const float *base, __global float *out)
{
    float sum = 0;
    for (int k = 0; k < 4; k++)
        sum += exp2(base[k]) + (k == 0 ? log(base[5]) : 0.0f);
    out[get_global_id(0)] = sum + log(base[get_group_id(0)]);
}
