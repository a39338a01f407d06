// Graph algorithms over CSR: traversal, ranking, components, shortest paths, colouring, triangles.

// Vertices of the current level push their unvisited neighbours into the next one.
//@ bfs_push_level | 65536 | 128 | uint=65536 uint=5 uint*65537:x12 uint*786432:0..65536 uint*65536:0..10 uint*65536 uint*1
__kernel void bfs_push_level(const uint vertices, const uint current,
                             __global const uint *row_ptr, __global const uint *neighbours,
                             __global const uint *level, __global uint *next_level,
                             __global uint *reached)
{
    __local uint group_reached;
    if (get_local_id(0) == 0)
        group_reached = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint v = get_global_id(0);
    if (v < vertices && level[v] == current) {
        uint mine = 0;
        const uint end = row_ptr[v + 1];
        for (uint e = row_ptr[v]; e < end; ++e) {
            const uint u = neighbours[e];
            if (level[u] <= current)
                continue;
            atomic_min(&next_level[u], current + 1);
            ++mine;
        }
        atomic_add(&group_reached, mine);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && group_reached != 0)
        atomic_add(reached, group_reached);
}

#define BITMAP_ITEMS 128

// Unvisited vertices look for a parent in the frontier's bitmap and stop at the first.
//@ bfs_pull_bitmap | 131072 | 128 | int=131072 int*131073:x10 int*1310720:0..131072 uint*4096 uint*4096 int*131072 uint*4096
__kernel void bfs_pull_bitmap(const int vertices, __global const int *row_ptr,
                              __global const int *neighbours, __global const uint *visited,
                              __global const uint *frontier, __global int *parent,
                              __global uint *next_frontier)
{
    __local uint found[BITMAP_ITEMS / 32];
    const int lid = get_local_id(0);
    const int v = get_global_id(0);
    if (lid < BITMAP_ITEMS / 32)
        found[lid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    int from = -1;
    const uint bit = 1u << (v & 31);
    if (v < vertices && (visited[v >> 5] & bit) == 0) {
        const int end = row_ptr[v + 1];
        for (int e = row_ptr[v]; e < end; ++e) {
            const int u = neighbours[e];
            if ((frontier[u >> 5] >> (u & 31)) & 1u) {
                from = u;
                break;
            }
        }
    }
    if (from >= 0)
        atomic_or(&found[lid >> 5], bit);
    if (v < vertices)
        parent[v] = from;
    barrier(CLK_LOCAL_MEM_FENCE);

    const int word = (v - lid) / 32 + lid;
    if (lid < BITMAP_ITEMS / 32 && word * 32 < vertices)
        next_frontier[word] = found[lid];
}

#define RANK_LANES 8
#define RANK_VERTICES 16

// Eight lanes gather the ranks of a vertex's predecessors.
//@ pagerank_pull_eight_lanes | 262144 | 128 | uint=32768 float=0.85 uint*32769:x20 ushort*655360:0..32768 float*32768 uchar*32768:1..40 float*32768
__kernel void pagerank_pull_eight_lanes(const uint vertices, const float damping,
                                        __global const uint *row_ptr,
                                        __global const ushort *sources,
                                        __global const float *rank,
                                        __global const uchar *out_degree,
                                        __global float *next_rank)
{
    __local float partial[RANK_VERTICES * RANK_LANES];
    const uint lid = get_local_id(0);
    const uint lane = lid & (RANK_LANES - 1);
    const uint v = get_global_id(0) / RANK_LANES;

    float sum = 0.0f;
    if (v < vertices) {
        const uint end = row_ptr[v + 1];
        for (uint e = row_ptr[v] + lane; e < end; e += RANK_LANES) {
            const ushort u = sources[e];
            sum += rank[u] / (float)out_degree[u];
        }
    }
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4)
        partial[lid] += partial[lid + 4];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0 && v < vertices) {
        const float4 p = vload4(0, partial + lid);
        next_rank[v] = (1.0f - damping) + damping * (p.x + p.y + p.z + p.w);
    }
}

// Fixed-point shares pushed along the edges; a vertex without edges keeps its rank.
//@ pagerank_push_fixed_point | 32768 | 64 | uint=32768 uint=55705 uint*32769:x16 uint*524288:0..32768 uint*32768:0..16777216 uint*32768
__kernel void pagerank_push_fixed_point(const uint vertices, const uint damping16,
                                        __global const uint *row_ptr,
                                        __global const uint *targets,
                                        __global const uint *rank, __global uint *next_rank)
{
    for (uint v = get_global_id(0); v < vertices; v += get_global_size(0)) {
        const uint begin = row_ptr[v];
        const uint degree = row_ptr[v + 1] - begin;
        const uint flow = mul_hi(rank[v], damping16 << 16);
        if (degree == 0) {
            atomic_add(&next_rank[v], flow);
            continue;
        }
        const uint share = flow / degree;
        if (share == 0)
            continue;
        for (uint e = begin; e < begin + degree; ++e)
            atomic_add(&next_rank[targets[e]], share);
    }
}

// Takes the least label around a vertex, follows it one step, and counts what changed.
//@ components_spread_least_label | 65536 | 256 | int=65500 int*65537:x11 int*720896:0..65536 int*65536:0..65536 int*65536 int*1
__kernel void components_spread_least_label(const int vertices, __global const int *row_ptr,
                                            __global const int *neighbours,
                                            __global const int *label,
                                            __global int *next_label, __global int *changes)
{
    __local int group_changes;
    if (get_local_id(0) == 0)
        group_changes = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const int v = get_global_id(0);
    if (v < vertices) {
        const int old = label[v];
        int least = old;
        for (int e = row_ptr[v], end = row_ptr[v + 1]; e < end; ++e)
            least = min(least, label[neighbours[e]]);
        if (least < old) {
            least = min(least, label[least]);
            atomic_inc(&group_changes);
        }
        next_label[v] = least;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_add(changes, group_changes);
}

// Full path compression: parents only ever point to smaller vertices, so that chains end.
//@ components_compress_paths | 262144 | 128 | uint=262144 uint=64 uint*262144:0..262144 uint*262144 uchar*262144
__kernel void components_compress_paths(const uint vertices, const uint max_hops,
                                        __global const uint *parent, __global uint *root,
                                        __global uchar *depth)
{
    const uint v = get_global_id(0);
    if (v >= vertices)
        return;

    uint here = v;
    uint hops = 0;
    while (hops < max_hops) {
        const uint up = parent[here];
        if (up >= here)
            break;
        here = up;
        ++hops;
    }
    root[v] = here;
    depth[v] = convert_uchar_sat(hops);
}

#define UNREACHED UINT_MAX

//@ sssp_pull_relax | 65536 | 64 | uint=65536 uint*65537:x10 uint*655360:0..65536 ushort*655360 uint*65536 uint*65536 uint*65536
__kernel void sssp_pull_relax(const uint vertices, __global const uint *row_ptr,
                              __global const uint *sources, __global const ushort *weights,
                              __global const uint *distance, __global uint *next_distance,
                              __global uint *via)
{
    const uint v = get_global_id(0);
    if (v >= vertices)
        return;

    uint best = distance[v];
    uint best_edge = UNREACHED;
    const uint end = row_ptr[v + 1];
    for (uint e = row_ptr[v]; e < end; ++e) {
        const uint d = distance[sources[e]];
        if (d == UNREACHED)
            continue;
        const uint candidate = add_sat(d, (uint)weights[e] + 1u);
        if (candidate < best) {
            best = candidate;
            best_edge = e;
        }
    }
    next_distance[v] = best;
    via[v] = best_edge;
}

// Delta stepping: vertices of one bucket relax only their light edges.
//@ sssp_light_edges_of_bucket | 65536 | 128 | int=65536 int=3 int=100 int*65537:x14 int*917504:0..65536 uchar*917504 int*65536:0..1000 int*65536
__kernel void sssp_light_edges_of_bucket(const int vertices, const int bucket, const int delta,
                                         __global const int *row_ptr,
                                         __global const int *targets,
                                         __global const uchar *weights,
                                         __global const int *distance, __global int *request)
{
    const int v = get_global_id(0);
    if (v >= vertices)
        return;

    const int d = distance[v];
    if (d < bucket * delta || d >= (bucket + 1) * delta)
        return;
    const int end = row_ptr[v + 1];
    for (int e = row_ptr[v]; e < end; ++e) {
        const int w = weights[e];
        if (w > delta)
            continue;
        const int u = targets[e];
        if (d + w < distance[u])
            atomic_min(&request[u], d + w);
    }
}

#define MINPLUS_T 16

// One block step of all-pairs shortest paths on 16-bit distances that saturate.
//@ apsp_min_plus_tiles | 208 208 | 16 16 | int=200 ushort*40000 ushort*40000 ushort*40000 ushort*40000
__kernel void apsp_min_plus_tiles(const int n, __global const ushort *direct,
                                  __global const ushort *left, __global const ushort *right,
                                  __global ushort *shortest)
{
    __local ushort a[MINPLUS_T][MINPLUS_T];
    __local ushort b[MINPLUS_T][MINPLUS_T];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int col = get_global_id(0), row = get_global_id(1);

    ushort best = (row < n && col < n) ? direct[row * n + col] : USHRT_MAX;
    for (int k0 = 0; k0 < n; k0 += MINPLUS_T) {
        a[ly][lx] = (row < n && k0 + lx < n) ? left[row * n + k0 + lx] : USHRT_MAX;
        b[ly][lx] = (k0 + ly < n && col < n) ? right[(k0 + ly) * n + col] : USHRT_MAX;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < MINPLUS_T; ++k)
            best = min(best, add_sat(a[ly][k], b[k][lx]));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && col < n)
        shortest[row * n + col] = best;
}

#define COLOURS 32

uint vertex_priority(uint v)
{
    v ^= v >> 15;
    v *= 0x2c1b3c6du;
    v ^= v >> 12;
    v *= 0x297a2d39u;
    return v ^ (v >> 15);
}

// Jones-Plassmann round: a local maximum among the uncoloured takes the lowest free colour.
//@ colour_local_maxima | 65536 | 128 | uint=65536 uint*65537:x9 uint*589824:0..65536 uchar*65536:0..48 uchar*65536
__kernel void colour_local_maxima(const uint vertices, __global const uint *row_ptr,
                                  __global const uint *neighbours,
                                  __global const uchar *colour, __global uchar *next_colour)
{
    const uint v = get_global_id(0);
    if (v >= vertices)
        return;
    const uchar own = colour[v];
    next_colour[v] = own;
    if (own < COLOURS)
        return;

    const uint priority = vertex_priority(v);
    uint taken = 0;
    for (uint e = row_ptr[v], end = row_ptr[v + 1]; e < end; ++e) {
        const uint u = neighbours[e];
        if (u == v)
            continue;
        const uchar c = colour[u];
        if (c < COLOURS) {
            taken |= 1u << c;
            continue;
        }
        const uint rival = vertex_priority(u);
        if (rival > priority || (rival == priority && u > v))
            return;
    }
    const uint free_bits = ~taken;
    if (free_bits != 0)
        next_colour[v] = (uchar)(31 - clz(free_bits & (0u - free_bits)));
}

#define TRI_VERTICES 4096
#define TRI_WORDS (TRI_VERTICES / 32)

// The neighbourhood of a group's vertex becomes a bitmap that two-step paths are tested against.
//@ triangles_by_neighbour_bitmap | 131072 | 64 | ushort=2048 uint*4097:x24 ushort*98304:0..4096 uint*2048
__kernel void triangles_by_neighbour_bitmap(const ushort vertices, __global const uint *row_ptr,
                                            __global const ushort *neighbours,
                                            __global uint *triangles)
{
    __local uint bitmap[TRI_WORDS];
    __local uint count;
    const uint lid = get_local_id(0), items = get_local_size(0);
    const ushort v = get_group_id(0);
    if (v >= vertices)
        return;

    for (uint w = lid; w < TRI_WORDS; w += items)
        bitmap[w] = 0;
    if (lid == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint begin = row_ptr[v], end = row_ptr[v + 1];
    for (uint e = begin + lid; e < end; e += items) {
        const ushort u = neighbours[e];
        atomic_or(&bitmap[u >> 5], 1u << (u & 31));
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Eight lanes share the list of each neighbour.
    uint mine = 0;
    for (uint e = begin + lid / 8; e < end; e += items / 8) {
        const ushort u = neighbours[e];
        const uint stop = row_ptr[u + 1];
        for (uint f = row_ptr[u] + lid % 8; f < stop; f += 8) {
            const ushort w = neighbours[f];
            if (w != v && w != u)
                mine += (bitmap[w >> 5] >> (w & 31)) & 1u;
        }
    }
    atomic_add(&count, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        triangles[v] = count;
}

// Similarity of the ends of an edge; neighbour lists are sorted and stored as gaps.
//@ jaccard_merge_gap_lists | 65536 | 128 | int=65000 int*8193:x24 uchar*196608:1..30 ushort*65536:0..8192 ushort*65536:0..8192 float*65536
__kernel void jaccard_merge_gap_lists(const int edges, __global const int *row_ptr,
                                      __global const uchar *gaps,
                                      __global const ushort *edge_from,
                                      __global const ushort *edge_to,
                                      __global float *similarity)
{
    const int e = get_global_id(0);
    if (e >= edges)
        return;

    const int u = edge_from[e], v = edge_to[e];
    int i = row_ptr[u], j = row_ptr[v];
    const int i_end = row_ptr[u + 1], j_end = row_ptr[v + 1];
    const int total = (i_end - i) + (j_end - j);
    if (i >= i_end || j >= j_end) {
        similarity[e] = 0.0f;
        return;
    }

    int common = 0;
    int a = gaps[i], b = gaps[j];
    for (;;) {
        const int step_a = a <= b, step_b = b <= a;
        common += step_a & step_b;
        i += step_a;
        j += step_b;
        if (i >= i_end || j >= j_end)
            break;
        if (step_a)
            a += gaps[i];
        if (step_b)
            b += gaps[j];
    }
    similarity[e] = (float)common / (float)(total - common);
}

#define EDGE_BITS 19

// Boruvka: every component learns its lightest outgoing edge (weight above, edge number below).
//@ boruvka_lightest_edges | 32768 | 64 | uint=32768 uint*32769:x16 uint*524288:0..32768 ushort*524288 ushort*32768:0..2000 uint*2048
__kernel void boruvka_lightest_edges(const uint vertices, __global const uint *row_ptr,
                                     __global const uint *neighbours,
                                     __global const ushort *weights,
                                     __global const ushort *component,
                                     __global uint *lightest)
{
    const uint v = get_global_id(0);
    if (v >= vertices)
        return;

    const ushort home = component[v];
    uint best = UINT_MAX;
    for (uint e = row_ptr[v]; e < row_ptr[v + 1]; ++e) {
        if (component[neighbours[e]] == home)
            continue;
        const uint key = ((uint)(weights[e] >> 4) << EDGE_BITS) | e;
        best = min(best, key);
    }
    if (best != UINT_MAX)
        atomic_min(&lightest[home], best);
}

// Brandes, backwards: a vertex collects the dependencies of its successors one level deeper.
//@ betweenness_pull_dependencies | 32768 | 128 | int=32768 int*32769:x18 int*589824:0..32768 uchar*32768:0..6 ushort*32768:1..50 float*32768 float*32768
__kernel void betweenness_pull_dependencies(const int vertices, __global const int *row_ptr,
                                            __global const int *neighbours,
                                            __global const uchar *depth,
                                            __global const ushort *paths,
                                            __global const float *dependency,
                                            __global float *next_dependency)
{
    const int v = get_global_id(0);
    if (v >= vertices)
        return;

    const uchar deeper = depth[v] + 1;
    const float own_paths = paths[v];
    float sum = 0.0f;
    const int end = row_ptr[v + 1];
    for (int e = row_ptr[v]; e < end; ++e) {
        const int w = neighbours[e];
        if (depth[w] == deeper)
            sum += native_divide(own_paths, (float)paths[w]) * (1.0f + dependency[w]);
    }
    next_dependency[v] = sum;
}

#define MAX_DEGREE 16

// Community detection: the most frequent label around a vertex wins, the least one in a draw.
//@ communities_majority_label | 32768 | 64 | uint=32768 ulong*32769:x15 ushort*491520:0..32768 ushort*32768:0..24 ushort*32768
__kernel void communities_majority_label(const uint vertices, __global const ulong *row_ptr,
                                         __global const ushort *neighbours,
                                         __global const ushort *label,
                                         __global ushort *next_label)
{
    const uint v = get_global_id(0);
    if (v >= vertices)
        return;

    const ulong begin = row_ptr[v];
    const int degree = (int)min(row_ptr[v + 1] - begin, (ulong)MAX_DEGREE);
    ushort around[MAX_DEGREE];
    for (int i = 0; i < degree; ++i)
        around[i] = label[neighbours[begin + i]];

    ushort winner = label[v];
    int votes = 0;
    for (int i = 0; i < degree; ++i) {
        int same = 0;
        for (int j = 0; j < degree; ++j)
            same += around[j] == around[i];
        if (same > votes || (same == votes && around[i] < winner)) {
            votes = same;
            winner = around[i];
        }
    }
    next_label[v] = winner;
}

// Walks with restart, counting visits; an edge is drawn by scaling random bits to the degree.
//@ random_walks_with_restart | 16384 | 64 | uint=16384 uint=40 uint*16385:x12 uint*196608:0..16384 uint*16384 uint*16384 uint*16384
__kernel void random_walks_with_restart(const uint vertices, const uint steps,
                                        __global const uint *row_ptr,
                                        __global const uint *targets,
                                        __global const uint *seeds, __global uint *visits,
                                        __global uint *end_at)
{
    const uint start = get_global_id(0);
    if (start >= vertices)
        return;

    uint state = seeds[start] | 1u;
    uint here = start;
    for (uint s = 0; s < steps; ++s) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        const uint begin = row_ptr[here];
        const uint degree = row_ptr[here + 1] - begin;
        if (degree == 0 || (state & 7u) == 0) {
            here = start;
            continue;
        }
        here = targets[begin + mul_hi(state, degree)];
        if ((s & 3u) == 3u)
            atomic_inc(&visits[here]);
    }
    end_at[start] = here;
}
