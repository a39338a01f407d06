// Functions that use what a kernel uses: meant to be run with calls that stay calls.

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

#define NOINLINE __attribute__((noinline))

// Collectives in turns, in the kernel and in functions at two depths: all of them share the work-group's scratch.
NOINLINE int sum_of_group(int v)
{
    return work_group_reduce_add(v);
}

NOINLINE int place_in_group(int v)
{
    return work_group_scan_inclusive_add(v) + sum_of_group(v * 2);
}

__kernel void collectives_in_turns(__global const int *in, __global int *out)
{
    int v = in[get_global_id(0)];
    int r = 0;
    for (int round = 0; round < 3; ++round) {
        r += work_group_reduce_max(v + round);
        r += place_in_group(v) * 3;
        r += work_group_broadcast(v, round) + sum_of_group(r & 15);
        r += work_group_any(v == round);
    }
    out[get_global_id(0)] = r;
}

// Where a pointer leads is asked in functions, of objects of theirs and of their callers.
NOINLINE int kind_of(int *p)
{
    return (to_private(p) ? 1 : 0) + (to_local(p) ? 2 : 0) + (to_global(p) ? 4 : 0);
}

NOINLINE int kinds(int *a, int *b, int index)
{
    int own[8];
    for (int k = 0; k < 8; ++k)
        own[k] = index + k;
    int kind = kind_of(own + (index & 7)) * 100 + kind_of(a) * 10 + kind_of(b);
    return kind * 1000 + own[index & 7];
}

__kernel void kinds_of_pointers(__global int *data, __global int *out, __local int *scratch)
{
    size_t i = get_global_id(0);
    int mine[3] = { 1, 2, data[i] };
    int first = kinds(mine + (data[i] & 1), scratch + get_local_id(0), data[i]);
    int second = data[i] & 2 ? kinds(data + i, mine, data[i]) : 0;
    out[2 * i] = first;
    out[2 * i + 1] = second;
}

// Atomics and sub-group operations for the lanes that call.
NOINLINE int count_and_vote(__global int *counter, int v)
{
    int mine = atomic_add(counter, v);
    return sub_group_reduce_add(v) + (sub_group_any(v > 60) ? 1000 : 0) + (mine >= 0 ? 0 : 5000);
}

__kernel void lanes_that_call(__global const int *in, __global int *out, __global int *counter)
{
    size_t i = get_global_id(0);
    int v = in[i];
    out[i] = -1;
    if (v & 1)
        out[i] = count_and_vote(counter, v);
}

// Large private objects at several depths, and a result in memory.
typedef struct {
    int v[300];
} block;

NOINLINE block filled(int seed)
{
    block b;
    for (int k = 0; k < 300; ++k)
        b.v[k] = seed * k;
    return b;
}

NOINLINE int picked(block b, int at)
{
    block other = filled(at);
    b.v[at % 300] += other.v[(at + 1) % 300];
    int sum = 0;
    for (int k = 0; k < 300; k += 7)
        sum += b.v[(k + at) % 300];
    return sum;
}

__kernel void large_objects(__global const int *in, __global int *out)
{
    size_t i = get_global_id(0);
    block b = filled(in[i]);
    int r = picked(b, in[i]);
    if (in[i] & 1)
        r += picked(b, in[i] + 100);
    out[i] = r + b.v[in[i] % 300];
}
