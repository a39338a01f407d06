// Bioinformatics: alignment, edit distance, k-mers, hidden Markov models, phylogeny, suffix arrays.

#define SW_QUERY 64

//@ smith_waterman_linear_gap | 4096 | 64 | int=48 int=3 char*16:-4..6 uchar*64:0..4 uchar*196608:0..4 short*4096
__kernel void smith_waterman_linear_gap(int target_length, int gap, __constant char *scores,
                                        __constant uchar *query, __global const uchar *targets,
                                        __global short *best_scores)
{
    /* base t of all targets lies together */
    const int id = get_global_id(0);
    const int pitch = get_global_size(0);
    short row[SW_QUERY + 1];
    for (int q = 0; q <= SW_QUERY; q++)
        row[q] = 0;

    int best = 0;
    for (int t = 0; t < target_length; t++) {
        const int base = targets[t * pitch + id];
        int diagonal = 0, left = 0;
        for (int q = 1; q <= SW_QUERY; q++) {
            const int up = row[q];
            int v = diagonal + scores[query[q - 1] * 4 + base];
            v = max(v, max(up, left) - gap);
            v = max(v, 0);
            diagonal = up;
            left = v;
            row[q] = (short)v;
            best = max(best, v);
        }
    }
    best_scores[id] = (short)best;
}

#define BAND_HALF 8
#define BAND (2 * BAND_HALF + 1)
#define MINUS_INFINITY -1000000

//@ needleman_wunsch_banded_affine | 4096 | 64 | int=96 uchar*393216:0..4 uchar*393216:0..4 int*4096
__kernel void needleman_wunsch_banded_affine(int length, __global const uchar *seq_a,
                                             __global const uchar *seq_b, __global int *scores)
{
    const int id = get_global_id(0);
    const int pitch = get_global_size(0);
    const int match = 2, mismatch = -3, open = 5, extend = 1;
    int h[BAND + 1], e[BAND + 1];
    for (int k = 0; k <= BAND; k++) {
        h[k] = MINUS_INFINITY;
        e[k] = MINUS_INFINITY;
    }
    h[BAND_HALF] = 0;
    for (int j = 1; j < BAND - BAND_HALF; j++)
        h[BAND_HALF + j] = -(open + extend * j);

    for (int i = 1; i <= length; i++) {
        const uchar a = seq_a[(i - 1) * pitch + id];
        int f = MINUS_INFINITY, left = MINUS_INFINITY;
        for (int k = 0; k < BAND; k++) {
            const int j = i + k - BAND_HALF;
            if ((uint)j > (uint)length) {
                h[k] = e[k] = MINUS_INFINITY;
                continue;
            }
            const int down = max(e[k + 1], h[k + 1] - open) - extend;
            f = max(f, left - open) - extend;
            int v = max(down, f);
            if (j > 0)
                v = max(v, h[k] + (a == seq_b[(j - 1) * pitch + id] ? match : mismatch));
            h[k] = left = v;
            e[k] = down;
        }
    }
    scores[id] = h[BAND_HALF];
}

#define ED_LENGTH 64

//@ edit_distance_antidiagonal | 65536 | 64 | uchar*65536:0..4 uchar*65536:0..4 int*1024
__kernel __attribute__((reqd_work_group_size(ED_LENGTH, 1, 1)))
void edit_distance_antidiagonal(__global const uchar *first, __global const uchar *second,
                                __global int *distances)
{
    __local int diagonals[3][ED_LENGTH + 1];
    __local uchar b[ED_LENGTH];
    const int lid = get_local_id(0);
    const int pair = get_group_id(0);
    const uchar a = first[pair * ED_LENGTH + lid];
    b[lid] = second[pair * ED_LENGTH + lid];
    if (lid == 0) {
        diagonals[0][0] = 0;
        diagonals[1][0] = 1;
        diagonals[1][1] = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int i = lid + 1;
    for (int d = 2; d <= 2 * ED_LENGTH; d++) {
        __local int *now = diagonals[d % 3];
        __local const int *last = diagonals[(d + 2) % 3];
        __local const int *before = diagonals[(d + 1) % 3];
        const int j = d - i;
        if (lid == 0)
            now[0] = d;
        if (j == 0) {
            now[i] = i;
        } else if (j > 0 && j <= ED_LENGTH) {
            const int replaced = before[i - 1] + (a != b[j - 1]);
            now[i] = min(replaced, min(last[i - 1], last[i]) + 1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        distances[pair] = diagonals[(2 * ED_LENGTH) % 3][ED_LENGTH];
}

//@ myers_bit_vector_search | 16384 | 128 | int=128 uchar*1048576:0..4 uchar*128:0..4 uchar*16384 uchar*16384
__kernel void myers_bit_vector_search(int text_length, __global const uchar *patterns,
                                      __constant uchar *text, __global uchar *best_distance,
                                      __global uchar *best_end)
{
    const int id = get_global_id(0);
    const int pitch = get_global_size(0);
    ulong where[4] = { 0, 0, 0, 0 };
    for (int i = 0; i < 64; i++)
        where[patterns[i * pitch + id] & 3] |= 1UL << i;

    ulong plus = ~0UL, minus = 0;
    int score = 64, best = 64, end = 0;
    for (int t = 0; t < text_length; t++) {
        const ulong eq = where[text[t] & 3];
        const ulong xv = eq | minus;
        const ulong xh = (((eq & plus) + plus) ^ plus) | eq;
        ulong ph = minus | ~(xh | plus);
        ulong mh = plus & xh;
        score += (int)(ph >> 63) - (int)(mh >> 63);
        ph <<= 1;
        mh <<= 1;
        plus = mh | ~(xv | ph);
        minus = ph & xv;
        if (score < best) {
            best = score;
            end = t;
        }
    }
    best_distance[id] = (uchar)best;
    best_end[id] = (uchar)end;
}

#define KMER_CHUNK 32

//@ kmer_canonical_codes | 16384 | 128 | uint=524000 uint=31 uchar*524288 ulong*524288
__kernel void kmer_canonical_codes(uint bases, uint k, __global const uchar *sequence,
                                   __global ulong *codes)
{
    const uint start = get_global_id(0) * KMER_CHUNK;
    const ulong mask = (1UL << (2 * k)) - 1;
    const uint high_shift = 2 * (k - 1);
    ulong forward = 0, reverse = 0;

    for (uint i = 0; i < KMER_CHUNK + k - 1; i++) {
        const uint at = start + i;
        if (at >= bases)
            break;
        /* bits 1 and 2 of an ASCII letter tell A, C, T and G apart */
        const ulong code = (sequence[at] >> 1) & 3;
        forward = ((forward << 2) | code) & mask;
        reverse = (reverse >> 2) | ((code ^ 2) << high_shift);
        if (i + 1 >= k)
            codes[at + 1 - k] = min(forward, reverse);
    }
}

//@ kmer_histogram_4mers | 16384 | 256 | uint=65536 uint*65536 uint*256
__kernel void kmer_histogram_4mers(uint words, __global const uint *packed,
                                   volatile __global uint *histogram)
{
    __local uint bins[256];
    const uint lid = get_local_id(0);
    for (uint b = lid; b < 256; b += get_local_size(0))
        bins[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint w = get_global_id(0); w < words; w += get_global_size(0)) {
        const bool last = w + 1 == words;
        const ulong next = last ? 0 : packed[w + 1];
        ulong window = (next << 32) | packed[w];
        const int starts = last ? 13 : 16;
        for (int s = 0; s < starts; s++) {
            atomic_inc(&bins[window & 0xff]);
            window >>= 2;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = lid; b < 256; b += get_local_size(0))
        atomic_add(&histogram[b], bins[b]);
}

#define MIN_WINDOW 11
#define MIN_GROUP 256

static uint hash_kmer(uint x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

//@ minimizer_flags | 262144 | 256 | int=262144 uint*262144 uchar*262144
__kernel void minimizer_flags(int count, __global const uint *kmers, __global uchar *is_new)
{
    /* the tile begins one k-mer before the group's first window */
    __local uint tile[MIN_GROUP + MIN_WINDOW];
    const int lid = get_local_id(0);
    const int window = get_global_id(0);
    const int tile_start = get_group_id(0) * MIN_GROUP - 1;
    for (int i = lid; i < MIN_GROUP + MIN_WINDOW; i += MIN_GROUP) {
        const int at = tile_start + i;
        tile[i] = at >= 0 && at < count ? hash_kmer(kmers[at]) : UINT_MAX;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    int best = lid + 1, best_before = lid;
    for (int k = 1; k < MIN_WINDOW; k++) {
        if (tile[lid + 1 + k] < tile[best])
            best = lid + 1 + k;
        if (tile[lid + k] < tile[best_before])
            best_before = lid + k;
    }
    is_new[window] = window == 0 || best != best_before;
}

//@ hmm_forward_scaled | 16384 | 64 | int=64 float*4:0.1..1 float*16:0.1..1 float*16:0.1..1 uchar*1048576:0..4 float*16384
__kernel void hmm_forward_scaled(int length, __constant float4 *start,
                                 __constant float4 *transitions_to,
                                 __constant float4 *emissions_of,
                                 __global const uchar *observed, __global float *log_likelihood)
{
    const int id = get_global_id(0);
    const int pitch = get_global_size(0);
    const float4 to0 = transitions_to[0], to1 = transitions_to[1];
    const float4 to2 = transitions_to[2], to3 = transitions_to[3];

    float4 alpha = *start * emissions_of[observed[id]];
    float total = 0.0f;
    for (int t = 1; t < length; t++) {
        const float scale = alpha.x + alpha.y + alpha.z + alpha.w;
        total += log(scale);
        alpha /= scale;
        const float4 moved = (float4)(dot(alpha, to0), dot(alpha, to1),
                                      dot(alpha, to2), dot(alpha, to3));
        alpha = moved * emissions_of[observed[t * pitch + id]];
    }
    total += log(alpha.x + alpha.y + alpha.z + alpha.w);
    log_likelihood[id] = total - 200.0f;
}

#define VITERBI_LENGTH 64

//@ hmm_viterbi_path | 16384 | 64 | int*16:-4000..0 int*16:-3000..0 uchar*1048576:0..4 int*16384 uchar*1048576
__kernel void hmm_viterbi_path(__constant int *log_transition, __constant int *log_emission,
                               __global const uchar *observed, __global int *scores,
                               __global uchar *path)
{
    const int id = get_global_id(0);
    const int pitch = get_global_size(0);
    uchar came_from[VITERBI_LENGTH];
    int score[4], next[4];
    for (int s = 0; s < 4; s++)
        score[s] = log_emission[s * 4 + observed[id]];

    for (int t = 1; t < VITERBI_LENGTH; t++) {
        const int symbol = observed[t * pitch + id];
        uchar origins = 0;
        for (int to = 0; to < 4; to++) {
            int best = score[0] + log_transition[to];
            int origin = 0;
            for (int from = 1; from < 4; from++) {
                const int v = score[from] + log_transition[from * 4 + to];
                if (v > best) {
                    best = v;
                    origin = from;
                }
            }
            next[to] = best + log_emission[to * 4 + symbol];
            origins |= (uchar)(origin << (2 * to));
        }
        came_from[t] = origins;
        for (int s = 0; s < 4; s++)
            score[s] = next[s];
    }

    int state = 0;
    for (int s = 1; s < 4; s++)
        if (score[s] > score[state])
            state = s;
    scores[id] = score[state];
    for (int t = VITERBI_LENGTH - 1; t > 0; t--) {
        path[t * pitch + id] = (uchar)state;
        state = (came_from[t] >> (2 * state)) & 3;
    }
    path[id] = (uchar)state;
}

static float4 along_branch(__constant float4 *rows, float4 partial)
{
    return (float4)(dot(rows[0], partial), dot(rows[1], partial),
                    dot(rows[2], partial), dot(rows[3], partial));
}

//@ felsenstein_join_children | 65536 4 | 128 1 | float*64:0.01..1 float*64:0.01..1 float*1048576:0.001..1 uchar*65536:1..16 float*1048576 float*262144
__kernel void felsenstein_join_children(__constant float4 *left_matrices,
                                        __constant float4 *right_matrices,
                                        __global const float4 *left_partials,
                                        __global const uchar *right_tips,
                                        __global float4 *parent_partials,
                                        __global float *log_scale)
{
    const uint site = get_global_id(0);
    const uint category = get_global_id(1);
    const uint at = category * get_global_size(0) + site;

    /* a tip is a set of bases: one bit each, more than one where the read is ambiguous */
    const uchar tip = right_tips[site];
    const float4 tip_partial = select((float4)(0.0f), (float4)(1.0f),
                                      (((int4)(tip) & (int4)(1, 2, 4, 8)) != (int4)(0)));
    const float4 left = along_branch(left_matrices + category * 4, left_partials[at]);
    const float4 right = along_branch(right_matrices + category * 4, tip_partial);
    const float4 joined = left * right;

    const float2 pairs = fmax(joined.lo, joined.hi);
    const float largest = fmax(pairs.x, pairs.y);
    parent_partials[at] = joined / largest;
    log_scale[at] = log(largest) - 10.0f;
}

//@ jukes_cantor_distances | 256 256 | 16 16 | uint=32 uint*8192:0..65536 float*65536
__kernel void jukes_cantor_distances(uint words, __global const uint *genomes,
                                     __global float *distances)
{
    const uint i = get_global_id(0), j = get_global_id(1);
    const uint taxa = get_global_size(0);
    if (i == j) {
        distances[j * taxa + i] = 0.0f;
        return;
    }

    uint different = 0;
    for (uint w = 0; w < words; w++) {
        const uint x = genomes[i * words + w] ^ genomes[j * words + w];
        different += popcount((x | (x >> 1)) & 0x55555555u);
    }
    const float p = (float)different / (words * 16);
    const float saturated = 0.7f;
    distances[j * taxa + i] = p >= saturated ? 2.0f : -0.75f * log(1.0f - p * (4.0f / 3.0f));
}

#define PATTERN_LENGTH 12

/* below, above or at the start of the suffix: -1, 1 or 0 */
static int compare_to_suffix(__global const uchar *pattern, __global const uchar *text,
                             uint text_length, uint suffix)
{
    for (uint i = 0; i < PATTERN_LENGTH; i++) {
        if (suffix + i >= text_length)
            return 1;
        const int difference = (int)pattern[i] - (int)text[suffix + i];
        if (difference != 0)
            return difference < 0 ? -1 : 1;
    }
    return 0;
}

//@ suffix_array_range | 32768 | 128 | uint=65536 uchar*65536:0..4 uint*65536:0..65536 uchar*393216:0..4 uint*32768 uint*32768
__kernel void suffix_array_range(uint length, __global const uchar *text,
                                 __global const uint *suffixes, __global const uchar *patterns,
                                 __global uint *first, __global uint *past_last)
{
    const uint id = get_global_id(0);
    __global const uchar *pattern = patterns + id * PATTERN_LENGTH;

    uint low = 0, high = length;
    while (low < high) {
        const uint middle = (low + high) >> 1;
        if (compare_to_suffix(pattern, text, length, suffixes[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    first[id] = low;
    for (high = length; low < high;) {
        const uint middle = (low + high) >> 1;
        if (compare_to_suffix(pattern, text, length, suffixes[middle]) >= 0)
            low = middle + 1;
        else
            high = middle;
    }
    past_last[id] = low;
}

static uint fm_rank(__global const uint *counts, __global const uint4 *bwt, uint symbol,
                    uint position)
{
    const uint block = position >> 6;
    const uint inside = position & 63;
    const uint4 bits = bwt[block] ^ ~(symbol * 0x55555555u);
    const uint4 same = bits & (bits >> 1) & 0x55555555u;
    /* two bits for each base before the position, word by word */
    const int4 wanted = clamp((int4)(inside) - (int4)(0, 16, 32, 48), 0, 16);
    const ulong4 below = ((ulong4)(1) << (convert_ulong4(wanted) * 2)) - 1;
    const uint4 ones = popcount(same & convert_uint4(below));
    return counts[block * 4 + symbol] + ones.x + ones.y + ones.z + ones.w;
}

//@ fm_index_backward_search | 131072 | 128 | uint=65536 uint*4:0..16384 uint*4100:0..16384 uint*4100 ulong*131072 uint*131072 uchar*131072
__kernel void fm_index_backward_search(uint length, __constant uint *before_symbol,
                                       __global const uint *counts, __global const uint4 *bwt,
                                       __global const ulong *packed_reads,
                                       __global uint *occurrences, __global uchar *matched)
{
    const size_t id = get_global_id(0);
    ulong read = packed_reads[id];
    uint low = 0, high = length;
    uchar steps = 0;
    while (steps < 32) {
        const uint symbol = (uint)read & 3;
        const uint start = before_symbol[symbol];
        const uint new_low = start + fm_rank(counts, bwt, symbol, low);
        const uint new_high = start + fm_rank(counts, bwt, symbol, high);
        if (new_low >= new_high)
            break;
        low = min(new_low, length);
        high = min(new_high, length);
        read >>= 2;
        steps++;
    }
    occurrences[id] = high - low;
    matched[id] = steps;
}

#define RNA 32

//@ nussinov_max_pairs | 2048 | 32 | ulong*2048 uchar*2048
__kernel void nussinov_max_pairs(__global const ulong *packed_rna, __global uchar *max_pairs)
{
    const size_t id = get_global_id(0);
    const ulong rna = packed_rna[id];
    uchar best[RNA][RNA];
    for (int i = 0; i < RNA; i++)
        for (int j = 0; j < RNA; j++)
            best[i][j] = 0;

    for (int span = 4; span < RNA; span++) {
        for (int i = 0; i + span < RNA; i++) {
            const int j = i + span;
            const int sum = (int)((rna >> (2 * i)) & 3) + (int)((rna >> (2 * j)) & 3);
            const int pairs = sum == 3 || sum == 5; /* A-U, C-G, G-U */
            int most = best[i + 1][j - 1] + pairs;
            for (int k = i; k < j; k++)
                most = max(most, best[i][k] + best[k + 1][j]);
            best[i][j] = (uchar)most;
        }
    }
    max_pairs[id] = best[0][RNA - 1];
}

//@ quality_trim_3prime | 32768 | 128 | int=100 int=22 uchar*3276800:2..42 uchar*32768 ushort*32768
__kernel void quality_trim_3prime(int read_length, int threshold,
                                  __global const uchar *qualities, __global uchar *kept,
                                  __global ushort *kept_quality)
{
    const int read = get_global_id(0);
    const int pitch = get_global_size(0);

    int sum = 0, best = 0, cut = read_length;
    for (int i = read_length - 1; i >= 0; i--) {
        sum += threshold - qualities[i * pitch + read];
        if (sum < 0)
            break;
        if (sum > best) {
            best = sum;
            cut = i;
        }
    }

    ushort quality = 0;
    for (int i = 0; i < cut; i++)
        quality += qualities[i * pitch + read];
    kept[read] = (uchar)cut;
    kept_quality[read] = quality;
}

#define MOTIF 12

//@ weight_matrix_best_site | 65536 | 128 | int=2048 int*48:-800..500 uchar*1048576:0..4 int*512 int*512
__kernel void weight_matrix_best_site(int length, __constant int *weights,
                                      __global const uchar *sequences, __global int *best_score,
                                      __global int *best_site)
{
    __local int group_best;
    const int lid = get_local_id(0);
    const int sequence = get_group_id(0);
    __global const uchar *bases = sequences + sequence * length;
    if (lid == 0)
        group_best = INT_MIN;
    barrier(CLK_LOCAL_MEM_FENCE);

    int best = INT_MIN;
    for (int site = lid; site + MOTIF <= length; site += get_local_size(0)) {
        int score = 0;
        for (int m = 0; m < MOTIF; m++)
            score += weights[m * 4 + bases[site + m]];
        /* the score above, the leftmost site below */
        best = max(best, score * 4096 + (4095 - site));
    }
    atomic_max(&group_best, best);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        best_score[sequence] = group_best >> 12;
        best_site[sequence] = 4095 - (group_best & 4095);
    }
}
