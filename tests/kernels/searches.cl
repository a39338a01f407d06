// Loops that lanes go through together until they part: searches, and ways down a tree.

// The first element that is not less than a key.
__kernel void lower_bound(ulong n, __global const uint *sorted, uint keys, __global const uint *key,
                          __global uint *out)
{
    size_t i = get_global_id(0);
    if (i >= keys)
        return;
    uint wanted = key[i];
    size_t begin = 0, length = n;
    while (length > 0) {
        size_t rest = length >> 1, middle = begin + rest;
        if (sorted[middle] < wanted) {
            begin = middle + 1;
            length -= rest + 1;
        } else {
            length = rest;
        }
    }
    out[i] = (uint)begin;
}

// The same with two ends of 32 bits, for two work-items of three, and how often it was asked.
__kernel void bounds_of_some(int n, __global const uint *sorted, uint keys, __global const uint *key,
                             __global uint *out)
{
    int i = get_global_id(0);
    if (i >= keys)
        return;
    if (i % 3 == 1) {
        out[i] = 0;
        return;
    }
    int low = 0, high = n, asked = 0;
    while (low < high) {
        int middle = (low + high) / 2;
        bool is_less = sorted[middle] < key[i];
        low = is_less ? middle + 1 : low;
        high = is_less ? high : middle;
        ++asked;
    }
    out[i] = 32 * low + asked;
}

// Within the row that a work-item belongs to. Two rows in one sub-group begin apart.
__kernel void in_rows(uint per_row, __global const uint *begins, __global const float *sorted, uint keys,
                      __global const float *key, __global uint *out)
{
    uint i = get_global_id(0);
    if (i >= keys)
        return;
    uint row = i / per_row;
    ulong begin = begins[row], length = begins[row + 1] - begins[row];
    float wanted = key[i];
    // What is no number comes last.
    while (length != 0) {
        ulong rest = length / 2, middle = begin + rest;
        float found = sorted[middle];
        bool is_less = isnan(wanted) ? !isnan(found) : found < wanted;
        begin = is_less ? middle + 1 : begin;
        length = is_less ? length - rest - 1 : rest;
    }
    out[i] = (uint)begin;
}

// Down a tree whose nodes are lists of their children; a leaf is its own child. The sum is each work-item's own.
__kernel void down_a_tree(__global const uint *less, __global const uint *more, __global const uint *pivot,
                          uint keys, __global const uint *key, __global uint *out)
{
    uint i = get_global_id(0);
    if (i >= keys)
        return;
    uint node = 0, depth = 0, sum = i;
    while (less[node] != node) {
        bool goes_down = key[i] < pivot[node];
        sum += goes_down ? key[i] : pivot[node];
        node = goes_down ? less[node] : more[node];
        ++depth;
    }
    out[i] = node + 65536 * depth + 3 * sum;
}

// The first of a shared list that a work-item likes, and what comes behind it.
__kernel void first_of_list(uint n, __global const uint *list, uint keys, __global const uint *key,
                            __global uint *out)
{
    uint i = get_global_id(0);
    if (i >= keys)
        return;
    uint at = 0;
    while (at < n && list[at] % key[i] != 0)
        at += 1 + list[at] % 3;
    out[i] = at < n ? list[at] + at : at;
}

// Work-items beside each other look at the same element, which is another for those further away: what two have in common is not what all have.
__kernel void of_pairs(uint n, __global const uint *list, uint keys, __global const uint *key, uint least,
                       __global uint *out)
{
    uint i = get_global_id(0);
    if (i >= keys)
        return;
    uint wanted = key[i], begin = 0, end = n / 64, sum = wanted;
    bool is_small = wanted < (i & 31) * 1000;
    while (begin < end) {
        uint place = begin + (i >> 1);
        if (list[place % n] >= least) {
            --end;
            continue;
        }
        begin += 1 + (place & 1);
        sum += is_small ? sum : list[n / 2];
    }
    out[i] = sum + 7 * begin;
}

// The same from where each pair begins.
__kernel void from_pairs(uint n, __global const uint *list, uint keys, __global const uint *key, uint least,
                         __global uint *out)
{
    uint i = get_global_id(0);
    if (i >= keys)
        return;
    uint begin = (i >> 1) % n, end = n, sum = key[i];
    while (begin < end) {
        if (list[begin] >= least + (i >> 3)) {
            begin += 3;
            continue;
        }
        sum += list[begin] > key[i] ? 1 : 2;
        ++begin;
    }
    out[i] = sum + 7 * begin;
}

// A lower bound in which the work-item's place decides, too.
__kernel void lower_bound_by_place(int n, __global const int *list, __global const int *key, __global int *out)
{
    const int i = get_global_id(0), place = get_local_id(0);
    int sum = 0, low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (list[middle] < key[i])
            low = middle + 1;
        else
            high = middle;
        if (n < place)
            sum -= low * 15;
    }
    out[i] = sum + low;
}

// Slots of a hash table behind a step that few work-items have a part in.
__kernel void probe_behind_barrier(__global const int *slots, __global const int *key, __global int *out,
                                   __global int *shared)
{
    const int i = get_global_id(0), place = get_local_id(0);
    if (place < 64)
        shared[place] += 64;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int wanted = key[i];
    int at = wanted & 1023;
    while (slots[at] != wanted)
        at = at == 1023 ? 0 : at + 1;
    out[i] = at;
}
