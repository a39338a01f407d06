// OpenCL 2.0 atomics, with explicit memory orders, through generic pointers.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

__kernel void c11_atomics(__global atomic_int *cell, __global const int *in, __global int *seen, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    atomic_fetch_add_explicit(&cell[0], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_sub_explicit(&cell[1], v, memory_order_acq_rel, memory_scope_device);
    atomic_fetch_max(&cell[2], v);
    atomic_fetch_min(&cell[3], v);
    int expected = atomic_load_explicit(&cell[4], memory_order_acquire, memory_scope_device);
    while (!atomic_compare_exchange_strong_explicit(&cell[4], &expected, expected ^ v, memory_order_acq_rel,
                                                    memory_order_acquire, memory_scope_device))
        ;
    if (i == 0)
        atomic_store_explicit(&cell[5], 77, memory_order_release, memory_scope_device);
    seen[i] = atomic_fetch_add(&cell[6], 1);
}

__kernel void c11_atomics_long(__global atomic_ulong *cell, __global const ulong *in, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    atomic_fetch_add_explicit(&cell[0], in[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_or_explicit(&cell[1], in[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_xor_explicit(&cell[2], in[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_min_explicit(&cell[3], in[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&cell[4], in[i], memory_order_relaxed, memory_scope_device);
}
