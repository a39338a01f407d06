// Floats that are added up by exchanging a sum if it is still the one that was added to, as OpenCL C 1.2 has to.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

void add_global(volatile __global float *place, float value)
{
    union { uint bits; float number; } old, sum;
    do {
        old.number = *place;
        sum.number = old.number + value;
    } while (atomic_cmpxchg((volatile __global uint *)place, old.bits, sum.bits) != old.bits);
}

void add_local(volatile __local float *place, float value)
{
    union { uint bits; float number; } old, sum;
    do {
        old.number = *place;
        sum.number = old.number + value;
    } while (atomic_cmpxchg((volatile __local uint *)place, old.bits, sum.bits) != old.bits);
}

// What was there before.
double fetch_add(__global double *place, double value)
{
    __global ulong *bits = (__global ulong *)place;
    ulong old = *bits, assumed;
    do {
        assumed = old;
        old = atom_cmpxchg(bits, assumed, as_ulong(value + as_double(assumed)));
    } while (assumed != old);
    return as_double(old);
}

__kernel void weights(__global const uint *bins, __global const float *values, __global float *sums)
{
    __local float own[16];
    uint lid = get_local_id(0);
    if (lid < 16)
        own[lid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t i = get_global_id(0);
    if (bins[i] < 16)
        add_local(&own[bins[i]], values[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 16)
        add_global(&sums[lid], own[lid]);
    add_global(&sums[16], values[i]);
}

// Each gets a place of its own, and the last one knows the sum.
__kernel void places(__global const uint *bins, __global double *sums, __global double *before)
{
    size_t i = get_global_id(0);
    before[i] = fetch_add(&sums[bins[i]], 1.0);
}

// No sum: the largest one stays.
__kernel void largest(__global const float *values, volatile __global uint *most)
{
    float value = values[get_global_id(0)];
    uint old;
    do {
        old = *most;
    } while (atomic_cmpxchg(most, old, as_uint(fmax(as_float(old), value))) != old);
}
