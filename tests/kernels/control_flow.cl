// Divergent control flow. Each kernel maps one int to one int, so that the host can follow every work-item.

__kernel void nested_ifs(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    int r;
    if (v > 0) {
        if (v % 3 == 0) {
            r = v * 7;
            if (v % 2 == 0)
                r -= out[i];
        } else if (v % 5 == 0) {
            r = v ^ 0x55;
        } else {
            r = v + 1;
        }
    } else {
        r = v < -100 ? -v : v * v;
    }
    out[i] = r;
}

__kernel void early_return(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    if (v < 0) {
        out[i] = -1;
        return;
    }
    int sum = 0;
    for (int k = 0; k < 64; ++k) {
        sum += k ^ v;
        if (sum > 1000) {
            out[i] = k;
            return;
        }
    }
    out[i] = sum;
}

// Steps of the Collatz sequence: every lane leaves the loop at its own time.
__kernel void divergent_trip_count(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint v = (uint)in[i] | 1u;
    int steps = 0;
    while (v != 1 && steps < 500) {
        v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        ++steps;
    }
    out[i] = steps;
}

__kernel void break_and_continue(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    int r = 0;
    for (int k = 0; k < 100; ++k) {
        if ((k + v) % 3 == 0)
            continue;
        r += k * v;
        if (r % 17 == 5)
            break;
        r ^= k;
    }
    out[i] = r;
}

__kernel void switch_cases(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    int r = v;
    switch (v) {
    case 0:
        r = out[i] + 3;
        break;
    case 1:
        out[i] = 11;
        r += 100;
        // falls through
    case 2:
        r *= 3;
        break;
    case 5:
        for (int k = 0; k < (v & 15); ++k)
            r += k * r;
        break;
    case 6:
        out[i] = -6;
        return;
    default:
        r = ~r;
    }
    out[i] = r;
}

__kernel void switch_long(__global const long *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int r;
    switch (in[i]) {
    case 0x100000000L:
        r = out[i] * 5;
        break;
    case -1L:
        r = out[i] - 9;
        break;
    case 7L:
        r = out[i] ^ 0x33;
        break;
    default:
        r = 1;
    }
    out[i] = r;
}

// A barrier in a uniform loop whose body also diverges: neighbours exchange values each round.
__kernel void barrier_in_loop(__global const int *in, __global int *out, __local int *scratch, uint rounds)
{
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    int v = in[get_global_id(0)];
    for (uint round = 0; round < rounds; ++round) {
        scratch[lid] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        int neighbour = scratch[(lid + round + 1) % size];
        if (neighbour > v)
            v += neighbour / 2;
        else
            v -= 3;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = v;
}

// The trip count is uniform within a work-group and differs between groups.
__kernel void barrier_trip_count_by_group(__global int *out, __local int *scratch)
{
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    int v = (int)get_global_id(0);
    uint rounds = get_group_id(0) % 4;
    for (uint round = 0; round < rounds; ++round) {
        scratch[lid] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        v += scratch[size - 1 - lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = v;
}

__kernel void divergent_in_uniform_loop(__global const int *in, __global int *out, uint n, int outer)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int r = 0;
    for (int a = 0; a < outer; ++a) {
        int limit = in[(i + (uint)a) % n];
        for (int b = 0; b < limit; ++b) {
            if (((a ^ b) & 3) == 3)
                break;
            for (int c = b; c < limit; c += 2)
                r += a * b + c;
        }
        r ^= a;
    }
    out[i] = r;
}

// Leaves two loops at once, from the inner one.
__kernel void two_level_exit(__global const int *in, __global int *out, uint n, int limit)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    int r = -1;
    for (int a = 1; a < limit; ++a) {
        for (int b = a; b < limit; ++b) {
            if (a * b == v) {
                r = a * 100 + b;
                goto found;
            }
        }
    }
found:
    out[i] = r;
}

// Memory side effects under a mask: only the lanes that are in the branch may store.
__kernel void masked_stores(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    if (v & 1)
        out[i] = v;
    if (v & 2) {
        out[i] += 1000;
        if (v & 4)
            out[(i + 1) % n + n] = v;
    }
}

// A division that only the lanes for which it is defined may reach.
__kernel void guarded_division(__global const int *a, __global const int *b, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int divisor = b[i];
    out[i] = divisor != 0 && !(a[i] == INT_MIN && divisor == -1) ? a[i] / divisor : -7;
}

// Short-circuit conditions whose right side loads what the left side guards.
__kernel void short_circuit(__global const int *in, __global const int *table, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    if (v >= 0 && v < 32 && (table[v] > 10 || table[31 - v] < 3))
        out[i] = table[v] - table[31 - v];
    else
        out[i] = v;
}

__kernel void do_while_with_two_exits(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint state = (uint)in[i];
    int steps = 0;
    do {
        state = state * 1664525u + 1013904223u;
        ++steps;
        if ((state >> 28) == 9)
            break;
    } while ((state >> 27) != 3 && steps < 200);
    out[i] = steps * 2 + (int)(state & 1);
}

// Compilers leave this loop in two places, one for each side of the condition, since what is behind it is known in either.
__kernel void guarded_rounds(__global const uint *in, __global uint *out, __local uint *shared, int rounds, uint few)
{
    size_t i = get_global_id(0), l = get_local_id(0);
    uint sum = 1;
    for (int round = 0; round < 40; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] = in[i] + round * rounds;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < 50)
            for (uint k = 0; k < 50; k++)
                sum = sum * 5u + shared[k & few];
    }
    if (l < 50)
        out[i] = sum;
}

// Variables that loops exchange, of which work-items take one along when they leave.
__kernel void exchanged(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int a = in[i], b = a * 3 + 10;
    for (int k = in[i]; k > 0; --k) {
        int t = a;
        a = b;
        b = t;
    }
    out[i] = a;
}

__kernel void exchanged_other(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int a = in[i], b = a * 3 + 10;
    for (int k = in[i]; k > 0; --k) {
        int t = a;
        a = b;
        b = t;
    }
    out[i] = b;
}

__kernel void rotated(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int a = in[i], b = a * 3 + 10, c = a ^ 0x55, sum = 0;
    for (int k = in[i]; k > 0; --k) {
        int t = a;
        a = b;
        b = c;
        c = t;
        sum = sum * 5 + b;
    }
    out[i] = a * 7 + b + sum;
}

__kernel void fibonacci(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint a = in[i], b = in[i] + 10, k = 0;
    for (;;) {
        if (k >= (uint)in[i])
            break;
        uint t = a + b;
        a = b;
        b = t;
        ++k;
    }
    out[i] = (int)a;
}

// The sum is taken out of both loops, the last product out of the inner one, and what was before it out of the outer one.
__kernel void nested_sums(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i], sum = 0, last = 1, before = 0;
    for (int j = 0; j < v % 7; ++j) {
        before = last;
        for (int k = 0; k < (v + j) % 5; ++k) {
            last = last * 3 + k;
            if (last % 11 == 4)
                goto done;
            sum += last ^ j;
        }
        sum += last;
    }
done:
    out[i] = sum * 5 + last * 3 + before;
}

// A loop that is left at its bound with what it found so far, and by a break with one bit more.
__kernel void rays(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint v = (uint)in[i], blockers = v >> 6, seen = 0;
    for (uint k = v & 31; k < 32; k++) {
        seen |= 1u << k;
        if (blockers >> k & 1)
            break;
    }
    for (int k = (int)(v & 31) - 1; k >= 0; k--) {
        seen |= 1u << k;
        if (blockers >> k & 1)
            break;
    }
    out[i] = (int)seen;
}

// Each iteration changes some of four variables and leaves the others; an exit changes all of them.
__kernel void mediants(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i];
    int a = 0, b = 1, c = 1, d = 0;
    for (int k = 0; k < 20; k++) {
        int m = a + c, p = b + d, side = v * p - 37 * m;
        if (side > 0) {
            a = m;
            b = p;
        } else if (side < 0) {
            c = m;
            d = p;
        } else {
            a = c = m;
            b = d = p;
            break;
        }
    }
    out[i] = a * 1000 + b * 100 + c * 10 + d;
}

// An inner loop is left in three ways, and the outer one in two, each with another value of what both change.
__kernel void nested_exits(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int v = in[i], r = v & 15, last = -1, k = 0;
    for (; k < 9; k++) {
        for (int j = 0; j < 7; j++) {
            last = j;
            if ((r ^ j) % 11 == 3)
                break;
            r += v >> (j & 3);
            if (r % 13 == 1) {
                last = -j;
                goto done;
            }
            if (r < -40)
                r = -r;
        }
        if (r % 5 == 2)
            continue;
        r += last;
        if (r > 400)
            break;
    }
done:
    out[i] = r * 64 + last * 8 + k;
}

// Nobody enters the loop without end.
__kernel void never_entered(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    if (in[i] == 12345)
        for (;;)
            ;
    out[i] += in[i];
}

// What the loop is left with is one summand, and in one of its two exits both.
__kernel void both_summands(__global const uint *in, __global const uint *by, __global uint *out)
{
    uint gid = (uint)get_global_id(0);
    uint v = gid, i = 0;
    do
        v *= by[gid];
    while (++i < (v & 3u) && v != in[gid]);
    out[gid] = v + in[gid];
}
