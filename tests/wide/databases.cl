// Databases: predicate scans, joins, group-by, compaction, decoding of columns, string matching.

//@ revenue_scan_date_range | 32768 | 256 | uint=1000000 ushort=9000 ushort=20000 ushort*1000000:8000..25000 uchar*1000000:0..11 uchar*1000000:1..51 int*1000000:90000..10000000 long*128
__kernel void revenue_scan_date_range(uint rows, ushort first_day, ushort last_day,
                                      __global const ushort *restrict ship_day,
                                      __global const uchar *restrict discount,
                                      __global const uchar *restrict quantity,
                                      __global const int *restrict price_cents,
                                      __global long *restrict group_revenue)
{
    __local long sums[256];
    const uint lid = get_local_id(0);
    long revenue = 0;
    for (uint row = get_global_id(0); row < rows; row += get_global_size(0)) {
        const ushort day = ship_day[row];
        const bool wanted = day >= first_day && day < last_day && quantity[row] < 24
                         && discount[row] >= 5 && discount[row] <= 7;
        if (wanted)
            revenue += (long)price_cents[row] * discount[row];
    }

    sums[lid] = revenue;
    for (uint span = get_local_size(0) / 2; span > 0; span /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < span)
            sums[lid] += sums[lid + span];
    }
    if (lid == 0)
        group_revenue[get_group_id(0)] = sums[0];
}

//@ predicate_bitmap_words | 32768 | 128 | int=-1000000000 int=1200000000 int*1048576 uint*32768 uint*32768 uint*32768
__kernel void predicate_bitmap_words(int low, int high, __global const int *column,
                                     __global const uint *validity, __global uint *selected,
                                     __global uint *selected_count)
{
    const size_t word = get_global_id(0);
    const uint valid = validity[word];
    uint bits = 0;
    if (valid != 0) {
        for (uint i = 0; i < 32; i += 4) {
            const int4 v = vload4(word * 8 + i / 4, column);
            const int4 hit = (v >= (int4)(low)) & (v < (int4)(high));
            const uint nibble = (hit.x & 1) | (hit.y & 2) | (hit.z & 4) | (hit.w & 8);
            bits |= nibble << i;
        }
    }
    bits &= valid;
    selected[word] = bits;
    selected_count[word] = popcount(bits);
}

#define JOIN_LOG2 16
#define JOIN_MASK ((1u << JOIN_LOG2) - 1)

//@ hash_join_probe_linear | 262144 | 256 | int=12 int*65536:-20000..60000 int*65536 int*262144:0..60000 int*262144 int*262144
__kernel void hash_join_probe_linear(int max_probes, __global const int *table_keys,
                                     __global const int *table_rows,
                                     __global const int *probe_keys,
                                     __global int *matched_row, __global int *probe_steps)
{
    const int row = get_global_id(0);
    const int key = probe_keys[row];
    uint slot = ((uint)key * 2654435769u) >> (32 - JOIN_LOG2);

    int found = -1;
    int steps = 0;
    while (steps < max_probes) {
        const int there = table_keys[slot];
        steps++;
        if (there == key) {
            found = table_rows[slot];
            break;
        }
        if (there < 0) /* an empty slot ends the chain */
            break;
        slot = (slot + 1) & JOIN_MASK;
    }
    matched_row[row] = found;
    probe_steps[row] = steps;
}

#define GROUPS 64

//@ group_by_count_sum_extrema | 65536 | 256 | uint=262144 uchar*262144:0..64 int*262144:-100000..100000 uint*64 int*64 int*64 int*64
__kernel void group_by_count_sum_extrema(uint rows, __global const uchar *group_key,
                                         __global const int *amount,
                                         volatile __global uint *counts,
                                         volatile __global int *totals,
                                         volatile __global int *smallest,
                                         volatile __global int *largest)
{
    __local uint l_count[GROUPS];
    __local int l_total[GROUPS], l_min[GROUPS], l_max[GROUPS];
    const uint lid = get_local_id(0);
    if (lid < GROUPS) {
        l_count[lid] = 0;
        l_total[lid] = 0;
        l_min[lid] = INT_MAX;
        l_max[lid] = INT_MIN;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint row = get_global_id(0); row < rows; row += get_global_size(0)) {
        const uint g = group_key[row];
        const int a = amount[row];
        atomic_inc(&l_count[g]);
        atomic_add(&l_total[g], a);
        atomic_min(&l_min[g], a);
        atomic_max(&l_max[g], a);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (lid < GROUPS && l_count[lid] != 0) {
        atomic_add(&counts[lid], l_count[lid]);
        atomic_add(&totals[lid], l_total[lid]);
        atomic_min(&smallest[lid], l_min[lid]);
        atomic_max(&largest[lid], l_max[lid]);
    }
}

//@ compact_matching_rows | 524288 | 256 | int=500000000 int*524288 int*524288 int*2048 local*2048
__kernel void compact_matching_rows(int threshold, __global const int *column,
                                    __global int *row_ids, __global int *block_counts,
                                    __local int *scratch)
{
    const int lid = get_local_id(0);
    const int size = get_local_size(0);
    const int row = get_global_id(0);
    const int keep = column[row] > threshold;

    /* inclusive scan between two halves of the scratch */
    int from = 0, to = size;
    scratch[from + lid] = keep;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < size; reach *= 2) {
        int sum = scratch[from + lid];
        if (lid >= reach)
            sum += scratch[from + lid - reach];
        scratch[to + lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int swap = from;
        from = to;
        to = swap;
    }

    const int total = scratch[from + size - 1];
    const int base = get_group_id(0) * size;
    if (keep)
        row_ids[base + scratch[from + lid] - 1] = row;
    if (lid >= total)
        row_ids[base + lid] = -1;
    if (lid == 0)
        block_counts[get_group_id(0)] = total;
}

//@ unpack_bits_with_reference | 1048576 | 256 | uint=1048000 uint=11 int=-700 uint*360449 int*1048576
__kernel void unpack_bits_with_reference(uint count, uint width, int reference,
                                         __global const uint *restrict packed,
                                         __global int *restrict values)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;

    const uint bit = i * width;
    const uint word = bit >> 5;
    const uint shift = bit & 31;
    uint v = packed[word] >> shift;
    if (shift + width > 32)
        v |= packed[word + 1] << (32 - shift);

    const uint mask = (1u << width) - 1;
    v &= mask;
    /* all ones stand for a null */
    values[i] = v == mask ? INT_MIN : reference + (int)v;
}

//@ delta_decode_zigzag_blocks | 524288 | 128 | int*4096:-1000000..1000000 ushort*1048576 int*1048576
__kernel void delta_decode_zigzag_blocks(__global const int *block_first,
                                         __global const ushort2 *deltas, __global int2 *values)
{
    const size_t i = get_global_id(0);
    const int2 coded = convert_int2(deltas[i]);
    const int2 delta = (coded >> 1) ^ -(coded & 1);

    const int pair = delta.x + delta.y;
    const int before = work_group_scan_exclusive_add(pair);
    const int base = block_first[get_group_id(0)] + before;
    int2 v;
    v.x = base + delta.x;
    v.y = v.x + delta.y;
    values[i] = v;
}

//@ dictionary_decode_text16 | 262144 | 256 | ushort=1000 ushort*262144:0..1024 uint*8192 uchar*16384 uchar*4194304 uchar*262144
__kernel void dictionary_decode_text16(ushort entries, __global const ushort *codes,
                                       __global const uint *validity,
                                       __global const uchar16 *dictionary,
                                       __global uchar16 *text, __global uchar *length)
{
    const uint row = get_global_id(0);
    const bool valid = (validity[row >> 5] >> (row & 31)) & 1;
    uchar16 s = (uchar16)(0);
    uchar n = 0;
    if (valid) {
        const ushort code = min(codes[row], (ushort)(entries - 1));
        s = dictionary[code];
        /* the last byte says how many of the others count */
        n = s.sf & 15;
        const uchar16 position = (uchar16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        s = select((uchar16)(' '), s, position < (uchar16)(n));
    }
    text[row] = s;
    length[row] = n;
}

//@ rle_expand_by_search | 262144 | 256 | int=16384 int*16384:x16 long*16384 long*262144
__kernel void rle_expand_by_search(int runs, __global const int *run_start,
                                   __global const long *run_value, __global long *column)
{
    const int row = get_global_id(0);

    /* the last run that starts at or before the row */
    int low = 0;
    int count = runs;
    while (count > 1) {
        const int half_count = count / 2;
        if (run_start[low + half_count] <= row)
            low += half_count;
        count -= half_count;
    }
    const int into = row - run_start[low];
    column[row] = run_value[low] + (into == 0 ? 0L : (long)into * 1000);
}

#define TEXT_WIDTH 32

//@ contains_substring_fixed | 131072 | 128 | int=4 uchar*8:97..101 uchar*4194304:97..101 char*131072
__kernel void contains_substring_fixed(int needle_length, __constant uchar *needle,
                                       __global const uchar *rows, __global char *position)
{
    const size_t row = get_global_id(0);
    __global const uchar *text = rows + row * TEXT_WIDTH;
    const uchar first = needle[0];

    char found = -1;
    for (int start = 0; start + needle_length <= TEXT_WIDTH; start++) {
        if (text[start] != first)
            continue;
        int k = 1;
        while (k < needle_length && text[start + k] == needle[k])
            k++;
        if (k == needle_length) {
            found = (char)start;
            break;
        }
    }
    position[row] = found;
}

//@ like_wildcards_unanchored | 65536 | 128 | uchar=95 uchar=96 short=24 short=10 uchar*10:95..101 uchar*1572864:97..101 short*65536
__kernel void like_wildcards_unanchored(uchar any_run, uchar any_one, short text_length,
                                        short pattern_length, __constant uchar *pattern,
                                        __global const uchar *columns, __global short *found_at)
{
    const uint row = get_global_id(0);
    const uint pitch = get_global_size(0);
    short s = 0, p = 0, star = -1, mark = 0, began = 0;

    /* a mismatch goes back behind the last run, or to a later start of the whole pattern */
    while (s < text_length && p < pattern_length) {
        const uchar want = pattern[p];
        if (want == any_run) {
            star = p++;
            mark = s;
        } else if (want == any_one || want == columns[s * pitch + row]) {
            s++;
            p++;
        } else {
            s = ++mark;
            p = star + 1;
            if (star < 0)
                began = mark;
        }
    }
    while (p < pattern_length && pattern[p] == any_run)
        p++;
    found_at[row] = p == pattern_length ? began : -1;
}

static uint lower_bound(__global const int *sorted, uint count, int key)
{
    uint first = 0;
    while (count > 0) {
        const uint step = count / 2;
        if (sorted[first + step] < key) {
            first += step + 1;
            count -= step + 1;
        } else {
            count = step;
        }
    }
    return first;
}

//@ range_join_count_sorted | 131072 | 128 | uint=65536 int*65536:x3 int*131072:-1000..200000 ushort*131072:0..500 uint*131072 uint*131072
__kernel void range_join_count_sorted(uint inner_rows, __global const int *inner_keys,
                                      __global const int *outer_keys,
                                      __global const ushort *outer_widths,
                                      __global uint *first_match, __global uint *matches)
{
    const uint row = get_global_id(0);
    const int from = outer_keys[row];
    const int to = from + outer_widths[row];
    if (from == to || to <= inner_keys[0] || from > inner_keys[inner_rows - 1]) {
        first_match[row] = inner_rows;
        matches[row] = 0;
        return;
    }
    const uint first = lower_bound(inner_keys, inner_rows, from);
    const uint rest = inner_rows - first;
    first_match[row] = first;
    matches[row] = lower_bound(inner_keys + first, min(rest, 512u), to);
}

#define BAND_TILE 128

//@ band_join_tiled | 8192 | 128 | int=2000 int=250 int*8192:0..1000000 int*2000:0..1000000 short*8192:0..40 short*2000:0..40 int*8192 int*8192
__kernel void band_join_tiled(int inner_rows, int band, __global const int *outer_time,
                              __global const int *inner_time, __global const short *outer_site,
                              __global const short *inner_site, __global int *matches,
                              __global int *nearest)
{
    __local int2 tile[BAND_TILE];
    const int lid = get_local_id(0);
    const int row = get_global_id(0);
    const int time = outer_time[row];
    const int site = outer_site[row];

    int count = 0, best = INT_MAX;
    for (int base = 0; base < inner_rows; base += BAND_TILE) {
        const int live = min(BAND_TILE, inner_rows - base);
        if (lid < live)
            tile[lid] = (int2)(inner_time[base + lid], inner_site[base + lid]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < live; i++) {
            const int2 other = tile[i];
            const int apart = abs(time - other.x);
            if (other.y == site) {
                best = min(best, apart);
                count += apart <= band;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    matches[row] = count;
    nearest[row] = best;
}

#define TOP 4

//@ top4_per_partition | 16384 | 64 | uint=64 uint*16384:x64 uchar*16384:0..65 uint*1048576 uint*65536
__kernel void top4_per_partition(uint capacity, __global const uint *partition_start,
                                 __global const uchar *partition_rows,
                                 __global const uint *score, __global uint *top)
{
    const size_t part = get_global_id(0);
    const uint start = partition_start[part];
    const uint rows = min((uint)partition_rows[part], capacity);
    uint best[TOP] = { 0, 0, 0, 0 };

    for (uint r = 0; r < rows; r++) {
        uint v = score[start + r];
        if (v <= best[TOP - 1])
            continue;
        for (int place = 0; place < TOP; place++) {
            const uint there = best[place];
            best[place] = max(there, v);
            v = min(there, v);
        }
    }
    for (int place = 0; place < TOP; place++)
        top[part * TOP + place] = best[place];
}

#define SORT_SIZE 512

//@ bitonic_sort_blocks | 131072 | 256 | uint*262144 uint*262144 uint*262144
__kernel void bitonic_sort_blocks(__global const uint *keys, __global uint *sorted_keys,
                                  __global uint *sorted_rows)
{
    __local ulong block[SORT_SIZE];
    const uint lid = get_local_id(0);
    const uint base = get_group_id(0) * SORT_SIZE;
    for (uint i = lid; i < SORT_SIZE; i += SORT_SIZE / 2)
        block[i] = ((ulong)keys[base + i] << 32) | (base + i);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint run = 2; run <= SORT_SIZE; run <<= 1) {
        for (uint apart = run >> 1; apart > 0; apart >>= 1) {
            const uint a = 2 * lid - (lid & (apart - 1));
            const uint b = a + apart;
            const ulong x = block[a], y = block[b];
            const bool ascending = (a & run) == 0;
            if ((x > y) == ascending) {
                block[a] = y;
                block[b] = x;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    for (uint i = lid; i < SORT_SIZE; i += SORT_SIZE / 2) {
        sorted_keys[base + i] = (uint)(block[i] >> 32);
        sorted_rows[base + i] = (uint)block[i];
    }
}

//@ dates_to_calendar_months | 262144 | 256 | int*262144:-20000..40000 int*262144 uint*12
__kernel void dates_to_calendar_months(__global const int *epoch_days, __global int *yyyymmdd,
                                       volatile __global uint *rows_by_month)
{
    __local uint months[12];
    const int lid = get_local_id(0);
    const int row = get_global_id(0);
    if (lid < 12)
        months[lid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* years begin in March here, so that the leap day is the last one */
    const int shifted = epoch_days[row] + 719468;
    const int era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int day_of_era = shifted - era * 146097;
    const int year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524
                             - day_of_era / 146096) / 365;
    const int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4
                                          - year_of_era / 100);
    const int march_month = (5 * day_of_year + 2) / 153;
    const int day = day_of_year - (153 * march_month + 2) / 5 + 1;
    const int month = march_month < 10 ? march_month + 3 : march_month - 9;
    const int year = era * 400 + year_of_era + (month <= 2);

    yyyymmdd[row] = (year * 100 + month) * 100 + day;
    atomic_inc(&months[month - 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 12)
        atomic_add(&rows_by_month[lid], months[lid]);
}
