// Sorting and searching: networks, radix passes, merging, partition, selection, histograms, search.

#define BITONIC_ITEMS 256
#define BITONIC_KEYS (2 * BITONIC_ITEMS)

//@ bitonic_sort_512_local | 65536 | 256 | uint*131072 uint*131072
__kernel void bitonic_sort_512_local(__global const uint *in, __global uint *out)
{
    __local uint keys[BITONIC_KEYS];
    const uint lid = get_local_id(0);
    const uint base = get_group_id(0) * BITONIC_KEYS;
    keys[lid] = in[base + lid];
    keys[lid + BITONIC_ITEMS] = in[base + lid + BITONIC_ITEMS];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint size = 2; size <= BITONIC_KEYS; size <<= 1) {
        for (uint stride = size >> 1; stride > 0; stride >>= 1) {
            const uint low = 2 * lid - (lid & (stride - 1));
            const uint high = low + stride;
            const bool ascending = (low & size) == 0;
            const uint a = keys[low], b = keys[high];
            if ((a > b) == ascending) {
                keys[low] = b;
                keys[high] = a;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    out[base + lid] = keys[lid];
    out[base + lid + BITONIC_ITEMS] = keys[lid + BITONIC_ITEMS];
}

// One step over 64-bit keys with their 32-bit payload, out of place.
//@ bitonic_global_step_pairs | 131072 | 128 | uint=4096 uint=512 ulong*262144 uint*262144 ulong*262144 uint*262144
__kernel void bitonic_global_step_pairs(const uint size, const uint stride,
                                        __global const ulong *keys_in,
                                        __global const uint *values_in,
                                        __global ulong *keys_out, __global uint *values_out)
{
    const uint t = get_global_id(0);
    const uint low = 2 * t - (t & (stride - 1));
    const uint high = low + stride;
    const ulong ka = keys_in[low], kb = keys_in[high];
    const uint va = values_in[low], vb = values_in[high];

    const bool descending = (low & size) != 0;
    const bool out_of_order = ka > kb || (ka == kb && va > vb);
    const bool swap = out_of_order != descending;
    keys_out[low] = swap ? kb : ka;
    keys_out[high] = swap ? ka : kb;
    values_out[low] = swap ? vb : va;
    values_out[high] = swap ? va : vb;
}

#define RADIX 16

// Digit counts of each block, stored digit by digit for the scan that follows.
//@ radix_count_digits | 65536 | 128 | uint=524288 uint=8 uint*524288 uint*8192
__kernel void radix_count_digits(const uint n, const uint shift, __global const uint *keys,
                                 __global uint *counts)
{
    __local uint bins[RADIX];
    const uint lid = get_local_id(0), items = get_local_size(0);
    const uint group = get_group_id(0), groups = get_num_groups(0);
    for (uint d = lid; d < RADIX; d += items)
        bins[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint per_group = n / groups;
    const uint first = group * per_group;
    const uint last = group + 1 == groups ? n : first + per_group;
    ulong packed = 0;
    for (uint i = first + lid; i < last; i += items) {
        const uint digit = (keys[i] >> shift) & (RADIX - 1);
        // Digits below eight count in bytes of a register, the rest directly.
        if (digit < 8)
            packed += 1ul << (8 * digit);
        else
            atomic_inc(&bins[digit]);
    }
    for (uint d = 0; d < 8; ++d) {
        const uint mine = (uint)(packed >> (8 * d)) & 0xffu;
        if (mine != 0)
            atomic_add(&bins[d], mine);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < RADIX)
        counts[lid * groups + group] = bins[lid];
}

#define SCATTER_ITEMS 256
#define SCATTER_WORDS (SCATTER_ITEMS / 32)

// Stable scatter into one bucket per block and digit; ranks come from bit masks of the block.
//@ radix_scatter_to_buckets | 131072 | 256 | uint=28 uint*131072 uint*2097152 ushort*8192
__kernel void radix_scatter_to_buckets(const uint shift, __global const uint *keys,
                                       __global uint *buckets, __global ushort *bucket_size)
{
    __local uint members[RADIX][SCATTER_WORDS];
    const uint lid = get_local_id(0);
    const uint word = lid >> 5;
    const uint bit = 1u << (lid & 31);
    if (lid < RADIX * SCATTER_WORDS)
        members[lid / SCATTER_WORDS][lid % SCATTER_WORDS] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint key = keys[get_global_id(0)];
    const uint digit = (key >> shift) & (RADIX - 1);
    atomic_or(&members[digit][word], bit);
    barrier(CLK_LOCAL_MEM_FENCE);

    uint rank = popcount(members[digit][word] & (bit - 1));
    for (uint w = 0; w < word; ++w)
        rank += popcount(members[digit][w]);
    const uint first_bucket = get_group_id(0) * RADIX;
    buckets[(first_bucket + digit) * SCATTER_ITEMS + rank] = key;

    if (lid < RADIX) {
        uint total = 0;
        for (uint w = 0; w < SCATTER_WORDS; ++w)
            total += popcount(members[lid][w]);
        bucket_size[first_bucket + lid] = (ushort)total;
    }
}

#define SPLIT_ITEMS 128

// Sorts a block by four bits of its keys with one stable split per bit.
//@ radix_split_block_by_bits | 131072 | 128 | int=12 int*131072 ushort*131072
__kernel void radix_split_block_by_bits(const int first_bit, __global const int *keys,
                                        __global ushort *order)
{
    __local int key_of[SPLIT_ITEMS];
    __local ushort origin[SPLIT_ITEMS];
    __local int zeros[SPLIT_ITEMS];
    const int lid = get_local_id(0);
    const size_t gid = get_global_id(0);
    int key = keys[gid];
    ushort from = (ushort)lid;

    for (int b = first_bit; b < first_bit + 4; ++b) {
        const int is_zero = ((key >> b) & 1) ^ 1;
        int sum = is_zero;
        zeros[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < SPLIT_ITEMS; step <<= 1) {
            const int left = lid >= step ? zeros[lid - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            sum += left;
            zeros[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int total = zeros[SPLIT_ITEMS - 1];
        const int to = is_zero ? sum - 1 : total + lid - sum;
        key_of[to] = key;
        origin[to] = from;
        barrier(CLK_LOCAL_MEM_FENCE);
        key = key_of[lid];
        from = origin[lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    order[gid] = from;
}

#define MERGE_RUN 8

// Merges two sorted arrays; each work-item finds its start on the merge path and emits eight keys.
//@ merge_path_pairwise | 32768 | 64 | int=150000 int=112144 int*150000:x3 int*112144:x4 int*262144
__kernel void merge_path_pairwise(const int na, const int nb, __global const int *a,
                                  __global const int *b, __global int *out)
{
    const int diagonal = (int)get_global_id(0) * MERGE_RUN;
    const int total = na + nb;
    if (diagonal >= total)
        return;

    int lo = max(0, diagonal - nb);
    int hi = min(diagonal, na);
    while (lo < hi) {
        const int mid = (lo + hi) >> 1;
        if (a[mid] <= b[diagonal - 1 - mid])
            lo = mid + 1;
        else
            hi = mid;
    }

    int ia = lo, ib = diagonal - lo;
    const int end = min(diagonal + MERGE_RUN, total);
    for (int k = diagonal; k < end; ++k) {
        const bool take_a = ib >= nb || (ia < na && a[ia] <= b[ib]);
        out[k] = take_a ? a[ia++] : b[ib++];
    }
}

// Lower bound without branches, then a gallop over the duplicates for the upper bound.
//@ equal_range_batch | 131072 | 256 | uint=65536 uint=131072 uint=5 uint*65536:x4 uint*131072:0..8300 uint*131072 ushort*131072
__kernel void equal_range_batch(const uint n, const uint queries, const uint shift,
                                __global const uint *table, __global const uint *wanted,
                                __global uint *first, __global ushort *matches)
{
    const uint q = get_global_id(0);
    if (q >= queries)
        return;

    const uint key = wanted[q];
    uint base = 0, length = n;
    while (length > 1) {
        const uint half_length = length >> 1;
        base = (table[base + half_length - 1] >> shift) < key ? base + half_length : base;
        length -= half_length;
    }
    base += (table[base] >> shift) < key ? 1 : 0;
    first[q] = base;

    uint reach = 1;
    while (base + reach <= n && (table[base + reach - 1] >> shift) == key)
        reach <<= 1;
    uint lo = base + (reach >> 1);
    uint hi = min(base + reach, n);
    while (lo < hi) {
        const uint mid = lo + (hi - lo) / 2;
        if ((table[mid] >> shift) <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    matches[q] = (ushort)(lo - base);
}

// Search in a tree laid out breadth first, children of i at 2i and 2i + 1.
//@ breadth_first_tree_search | 262144 | 128 | uint=65535 uint=262000 short*65536 short*262144 uint*262144
__kernel void breadth_first_tree_search(const uint n, const uint queries,
                                        __global const short *tree,
                                        __global const short *wanted, __global uint *found)
{
    const size_t q = get_global_id(0);
    if (q >= queries)
        return;

    const short key = wanted[q];
    uint node = 1;
    while (node <= n)
        node = 2 * node + (tree[node] < key ? 1 : 0);

    // Undo the trailing right turns and the left turn before them.
    const uint right_turns = popcount(node & ~(node + 1));
    node >>= right_turns + 1;
    found[q] = node != 0 ? node : n + 1;
}

#define HIST_COPIES 4

//@ byte_histogram_privatised | 8192 | 64 | uint=65536 uchar*1048576 uint*256
__kernel void byte_histogram_privatised(const uint vectors, __global const uchar16 *data,
                                        __global uint *histogram)
{
    __local uint bins[HIST_COPIES][256];
    const uint lid = get_local_id(0), items = get_local_size(0);
    for (uint b = lid; b < HIST_COPIES * 256; b += items)
        bins[b >> 8][b & 255] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    __local uint *mine = bins[lid % HIST_COPIES];
    for (uint i = get_global_id(0); i < vectors; i += get_global_size(0)) {
        uchar bytes[16];
        vstore16(data[i], 0, bytes);
        for (int k = 0; k < 16; ++k)
            atomic_inc(&mine[bytes[k]]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint b = lid; b < 256; b += items) {
        uint total = 0;
        for (uint c = 0; c < HIST_COPIES; ++c)
            total += bins[c][b];
        if (total > 0)
            atomic_add(&histogram[b], total);
    }
}

#define SELECT_ITEMS 128
#define SELECT_PER_ITEM 8

// k-th smallest of 1024 keys per group: four passes narrow the candidates by a byte each.
//@ select_kth_by_bytes | 32768 | 128 | uint=300 uint*262144 uint*256
__kernel void select_kth_by_bytes(const uint k, __global const uint *keys, __global uint *result)
{
    __local uint bins[256];
    __local uint chosen[2];
    const uint lid = get_local_id(0);
    const uint base = get_group_id(0) * SELECT_ITEMS * SELECT_PER_ITEM;
    uint mine[SELECT_PER_ITEM];
    for (uint i = 0; i < SELECT_PER_ITEM; ++i)
        mine[i] = keys[base + i * SELECT_ITEMS + lid];

    uint prefix = 0, rank = k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bins[lid] = 0;
        bins[lid + SELECT_ITEMS] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < SELECT_PER_ITEM; ++i) {
            const uint upper = shift == 24 ? 0 : mine[i] >> (shift + 8);
            if (upper == prefix)
                atomic_inc(&bins[(mine[i] >> shift) & 255]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            uint left = rank, digit = 0;
            while (digit < 255 && left >= bins[digit])
                left -= bins[digit++];
            chosen[0] = digit;
            chosen[1] = left;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        prefix = (prefix << 8) | chosen[0];
        rank = chosen[1];
    }
    if (lid == 0)
        result[get_group_id(0)] = prefix;
}

// Stable partition of each block around a pivot, with the payload; smaller keys go first.
//@ partition_blocks_by_pivot | 262144 | 256 | float=0.37 float*262144 uchar*262144 float*262144 uchar*262144 int*1024
__kernel void partition_blocks_by_pivot(const float pivot, __global const float *keys,
                                        __global const uchar *tags, __global float *keys_out,
                                        __global uchar *tags_out, __global int *smaller)
{
    __local int scan[2][256];
    const int lid = get_local_id(0);
    const int gid = get_global_id(0);
    const float key = keys[gid];
    const int below = key < pivot;

    int side = 0;
    scan[0][lid] = below;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < 256; step <<= 1) {
        int v = scan[side][lid];
        if (lid >= step)
            v += scan[side][lid - step];
        side ^= 1;
        scan[side][lid] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const int total = scan[side][255];
    const int before = scan[side][lid] - below;
    const int to = gid - lid + (below ? before : total + lid - before);
    keys_out[to] = key;
    tags_out[to] = tags[gid];
    if (lid == 0)
        smaller[get_group_id(0)] = total;
}

uint16 compare_exchange_lanes(uint16 v, uint distance, uint block)
{
    const uint16 lanes = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint16 other = shuffle(v, lanes ^ distance);
    const int16 upper = (lanes & distance) != 0;
    const int16 descending = (lanes & block) != 0;
    return select(min(v, other), max(v, other), upper ^ descending);
}

// Sixteen keys in one vector, sorted by a bitonic network of lane shuffles.
//@ sort16_in_vector_lanes | 32768 | 64 | uint*524288 uint*524288
__kernel void sort16_in_vector_lanes(__global const uint *in, __global uint *out)
{
    const size_t i = get_global_id(0);
    uint16 v = vload16(i, in);

    v = compare_exchange_lanes(v, 1, 2);
    v = compare_exchange_lanes(v, 2, 4);
    v = compare_exchange_lanes(v, 1, 4);
    v = compare_exchange_lanes(v, 4, 8);
    v = compare_exchange_lanes(v, 2, 8);
    v = compare_exchange_lanes(v, 1, 8);
    v = compare_exchange_lanes(v, 8, 16);
    v = compare_exchange_lanes(v, 4, 16);
    v = compare_exchange_lanes(v, 2, 16);
    v = compare_exchange_lanes(v, 1, 16);
    vstore16(v, i, out);
}

#define RECORDS 24

typedef struct {
    int key;
    uint payload;
} Record;

// Short lists of records, one per work-item, sorted by insertion in private memory.
//@ insertion_sort_record_lists | 16384 | 64 | int=16000 int*786432 int*786432
__kernel void insertion_sort_record_lists(const int lists, __global const Record *in,
                                          __global Record *out)
{
    const int list = get_global_id(0);
    if (list >= lists)
        return;

    Record sorted[RECORDS];
    int count = 0;
    for (int i = 0; i < RECORDS; ++i) {
        const Record r = in[list * RECORDS + i];
        int at = count;
        while (at > 0 && sorted[at - 1].key > r.key) {
            sorted[at] = sorted[at - 1];
            --at;
        }
        sorted[at] = r;
        ++count;
    }
    for (int i = 0; i < RECORDS; ++i) {
        sorted[i].payload = rotate(sorted[i].payload, (uint)i);
        out[list * RECORDS + i] = sorted[i];
    }
}

#define TOP_K 8

// The eight smallest keys of a strided subset, kept in a heap whose root is the largest of them.
//@ smallest_eight_heap | 4096 | 64 | uint=524288 uint*524288 uint*32768
__kernel void smallest_eight_heap(const uint n, __global const uint *keys, __global uint *heaps)
{
    const uint id = get_global_id(0);
    const uint stride = get_global_size(0);
    uint heap[TOP_K];
    for (uint i = 0; i < TOP_K; ++i)
        heap[i] = UINT_MAX;

    for (uint i = id; i < n; i += stride) {
        const uint key = keys[i];
        if (key >= heap[0])
            continue;
        uint node = 0;
        for (;;) {
            uint child = 2 * node + 1;
            if (child >= TOP_K)
                break;
            if (child + 1 < TOP_K && heap[child + 1] > heap[child])
                ++child;
            if (heap[child] <= key)
                break;
            heap[node] = heap[child];
            node = child;
        }
        heap[node] = key;
    }
    for (uint i = 0; i < TOP_K; ++i)
        heaps[i * stride + id] = heap[i];
}

// Earliest place where a short pattern occurs, and the number of its occurrences.
//@ find_pattern_in_text | 262144 | 256 | int=1048000 int=7 uchar*1048576:97..101 uchar*8:97..101 uint*2
__kernel void find_pattern_in_text(const int text_length, const int pattern_length,
                                   __global const uchar *text, __constant uchar *pattern,
                                   __global uint *summary)
{
    __local uint group_first;
    __local uint group_count;
    if (get_local_id(0) == 0) {
        group_first = UINT_MAX;
        group_count = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int last_start = text_length - pattern_length;
    for (int i = get_global_id(0); i <= last_start; i += (int)get_global_size(0)) {
        if (text[i] != pattern[0])
            continue;
        int k = 1;
        while (k < pattern_length && text[i + k] == pattern[k])
            ++k;
        if (k < pattern_length)
            continue;
        atomic_min(&group_first, (uint)i);
        atomic_inc(&group_count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && group_count > 0) {
        atomic_min(&summary[0], group_first);
        atomic_add(&summary[1], group_count);
    }
}

#define RANK_TILE 128

// Sorting by counting: the rank of a key is the number of keys before it, ties in input order.
//@ rank_sort_by_counting | 4096 | 128 | ushort=4096 ushort*4096 ushort*4096 ushort*4096
__kernel void rank_sort_by_counting(const ushort n, __global const ushort *keys,
                                    __global ushort *sorted, __global ushort *rank_of)
{
    __local ushort tile[RANK_TILE];
    const ushort lid = get_local_id(0);
    const ushort i = get_global_id(0);
    const ushort key = keys[i];

    ushort rank = 0;
    for (ushort start = 0; start < n; start += RANK_TILE) {
        tile[lid] = keys[start + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (ushort t = 0; t < RANK_TILE; ++t) {
            const ushort other = tile[t];
            rank += other < key || (other == key && start + t < i);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sorted[rank] = key;
    rank_of[i] = rank;
}
