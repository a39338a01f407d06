// Geometry and rendering: rays, BVHs, rasterising, noise, isosurfaces, skinning, curves, colours.

typedef struct {
    float ax, ay, az;
    float bx, by, bz;
    float cx, cy, cz;
} triangle;

static float3 cross_plain(float3 a, float3 b)
{
#pragma OPENCL FP_CONTRACT OFF
    return a.yzx * b.zxy - a.zxy * b.yzx;
}

static float dot_plain(float3 a, float3 b)
{
#pragma OPENCL FP_CONTRACT OFF
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

#define RAY_TILE 64

//@ ray_triangle_nearest_hit | 8192 | 64 | int=250 float*2250 float*32768:-0.2..0.2 float*32768:0.3..1 float*24576 int*8192
__kernel void ray_triangle_nearest_hit(int triangle_count, __global const triangle *triangles,
                                       __global const float4 *origins,
                                       __global const float4 *directions,
                                       __global float *hits, __global int *hit_ids)
{
    /* whether a ray passes an edge is decided without contraction and without division */
#pragma OPENCL FP_CONTRACT OFF
    __local triangle tile[RAY_TILE];
    const int lid = get_local_id(0);
    const int ray = get_global_id(0);
    const float3 origin = origins[ray].xyz, direction = directions[ray].xyz;

    float3 best = (float3)(100.0f, 0.0f, 0.0f);
    int best_id = -1;
    for (int first = 0; first < triangle_count; first += RAY_TILE) {
        const int live = min(RAY_TILE, triangle_count - first);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < live)
            tile[lid] = triangles[first + lid];
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int i = 0; i < live; i++) {
            const float3 a = (float3)(tile[i].ax, tile[i].ay, tile[i].az);
            const float3 ab = (float3)(tile[i].bx, tile[i].by, tile[i].bz) - a;
            const float3 ac = (float3)(tile[i].cx, tile[i].cy, tile[i].cz) - a;
            const float3 p = cross_plain(direction, ac);
            const float det = dot_plain(ab, p);
            const float side = det < 0.0f ? -1.0f : 1.0f;
            const float3 from = (origin - a) * side;
            const float u = dot_plain(from, p);
            if (u < 0.0f || u > fabs(det))
                continue;
            const float3 q = cross_plain(from, ab);
            const float v = dot_plain(direction, q);
            if (v < 0.0f || u + v > fabs(det))
                continue;
            const float t = dot_plain(ac, q) / fabs(det);
            if (t > 0.01f && t < best.x) {
                best = (float3)(t, u / fabs(det), v / fabs(det));
                best_id = first + i;
            }
        }
    }
    vstore3(best, ray, hits);
    hit_ids[ray] = best_id;
}

#define BVH_INNER 511
#define BVH_STACK 16

static float2 slab_interval(float3 centre, float3 half_size, float3 origin, float3 inverse)
{
    const float3 t0 = (centre - half_size - origin) * inverse;
    const float3 t1 = (centre + half_size - origin) * inverse;
    const float3 near3 = fmin(t0, t1), far3 = fmax(t0, t1);
    return (float2)(fmax(fmax(near3.x, near3.y), near3.z), fmin(fmin(far3.x, far3.y), far3.z));
}

//@ bvh_ray_nearest_leaf | 16384 | 64 | float*4092 float*4092:0.3..0.6 float*65536:-1..0 float*65536:0.7..3 float*16384 ushort*16384
__kernel void bvh_ray_nearest_leaf(__global const float4 *centres, __global const float4 *halves,
                                   __global const float4 *origins,
                                   __global const float4 *inverse_directions,
                                   __global float *nearest, __global ushort *visited)
{
    /* a complete tree: the children of node n are 2n+1 and 2n+2 */
    const size_t ray = get_global_id(0);
    const float3 origin = origins[ray].xyz, inverse = inverse_directions[ray].xyz;
    ushort stack[BVH_STACK];
    int depth = 0;
    stack[depth++] = 0;

    float best = 10.0f;
    ushort count = 0;
    while (depth > 0) {
        const ushort node = stack[--depth];
        count++;
        const float2 t = slab_interval(centres[node].xyz, halves[node].xyz, origin, inverse);
        if (t.x > t.y || t.y < 0.0f || t.x >= best)
            continue;
        if (node >= BVH_INNER) {
            best = fmax(t.x, 0.0f);
        } else {
            stack[depth++] = 2 * node + 2;
            stack[depth++] = 2 * node + 1;
        }
    }
    nearest[ray] = 1.0f + best;
    visited[ray] = count;
}

typedef struct {
    short centre[3];
    short half_size[3];
} query_box;

//@ bvh_box_count_skip_links | 16384 | 128 | ushort=1024 short*4096:-1000..1000 short*4096:600..1200 uchar*1024:0..24 short*98304:0..200 ushort*16384
__kernel void bvh_box_count_skip_links(ushort nodes, __global const short4 *centres,
                                       __global const short4 *halves,
                                       __global const uchar *subtree,
                                       __global const query_box *queries,
                                       __global ushort *leaves_hit)
{
    /* nodes in depth-first order; a missed node skips what lies below it */
    const int id = get_global_id(0);
    const query_box q = queries[id];
    const int4 q_centre = (int4)(q.centre[0], q.centre[1], q.centre[2], 0);
    const int4 q_half = (int4)(q.half_size[0], q.half_size[1], q.half_size[2], 0);

    ushort hits = 0;
    for (ushort node = 0; node < nodes;) {
        const int4 apart = convert_int4(abs_diff(convert_int4(centres[node]), q_centre));
        const int4 reach = convert_int4(halves[node]) + q_half;
        const int below = subtree[node];
        if (any((apart > reach).xyz)) {
            node += 1 + below;
            continue;
        }
        if (below == 0)
            hits++;
        node++;
    }
    leaves_hit[id] = hits;
}

static int edge_function(int2 a, int2 b, int2 p)
{
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

//@ rasterise_fixed_point | 256 256 | 16 8 | int=64 int*384:0..4096 uint*64 uint*65536 uchar*65536
__kernel void rasterise_fixed_point(int triangles, __constant int2 *corners,
                                    __constant uint *depths, __global uint *depth_buffer,
                                    __global uchar *id_buffer)
{
    /* four bits of subpixels; a pixel's centre is at its middle */
    const int x = get_global_id(0), y = get_global_id(1);
    const int2 p = (int2)(x * 16 + 8, y * 16 + 8);

    uint nearest = UINT_MAX;
    uchar id = 255;
    for (int t = 0; t < triangles; t++) {
        const int2 a = corners[t * 3], b = corners[t * 3 + 1], c = corners[t * 3 + 2];
        if (any(p < min(a, min(b, c))) || any(p > max(a, max(b, c))))
            continue;
        int w0 = edge_function(a, b, p);
        int w1 = edge_function(b, c, p);
        int w2 = edge_function(c, a, p);
        if (edge_function(a, b, c) < 0) {
            w0 = -w0;
            w1 = -w1;
            w2 = -w2;
        }
        if ((w0 | w1 | w2) >= 0 && depths[t] < nearest) {
            nearest = depths[t];
            id = (uchar)t;
        }
    }
    const int pixel = y * get_global_size(0) + x;
    depth_buffer[pixel] = nearest;
    id_buffer[pixel] = id;
}

static uint hash_cell(int x, int y, int z)
{
    uint h = (uint)x * 0x8da6b343u ^ (uint)y * 0xd8163841u ^ (uint)z * 0xcb1ab31fu;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return h ^ (h >> 13);
}

static float gradient_dot(uint hash, float x, float y)
{
    const float u = (hash & 1) ? x : -x;
    const float v = (hash & 2) ? y : -y;
    return (hash & 4) ? u + 0.5f * v : 0.5f * u + v;
}

static float perlin_2d(float x, float y, int octave)
{
    const float fx = floor(x), fy = floor(y);
    const int ix = (int)fx, iy = (int)fy;
    const float tx = x - fx, ty = y - fy;
    const float sx = tx * tx * tx * (tx * (tx * 6.0f - 15.0f) + 10.0f);
    const float sy = ty * ty * ty * (ty * (ty * 6.0f - 15.0f) + 10.0f);
    const float n00 = gradient_dot(hash_cell(ix, iy, octave), tx, ty);
    const float n10 = gradient_dot(hash_cell(ix + 1, iy, octave), tx - 1.0f, ty);
    const float n01 = gradient_dot(hash_cell(ix, iy + 1, octave), tx, ty - 1.0f);
    const float n11 = gradient_dot(hash_cell(ix + 1, iy + 1, octave), tx - 1.0f, ty - 1.0f);
    return mix(mix(n00, n10, sx), mix(n01, n11, sx), sy);
}

//@ perlin_fractal_texture | 512 256 | 16 16 | int=5 float=0.5 float*131072
__kernel void perlin_fractal_texture(int octaves, float gain, __global float *texture)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    float px = x / 64.0f, py = y / 64.0f;

    float sum = 0.0f, amplitude = 1.0f, range = 0.0f;
    for (int octave = 0; octave < octaves; octave++) {
        sum += amplitude * perlin_2d(px, py, octave);
        range += amplitude;
        amplitude *= gain;
        px = 2.0f * px + 0.25f;
        py = 2.0f * py + 0.25f;
    }
    /* marble veins from the same sum */
    const float base = 0.5f + 0.4f * sum / range;
    const float veins = 0.1f * (1.0f + native_sin(6.0f * sum));
    texture[y * get_global_size(0) + x] = base + veins;
}

//@ worley_cell_distances | 256 256 4 | 32 4 1 | float=0.03125 float*524288
__kernel void worley_cell_distances(float scale, __global float2 *distances)
{
    const size_t w = get_global_size(0), h = get_global_size(1);
    const size_t x = get_global_id(0), y = get_global_id(1), slice = get_global_id(2);
    const float2 p = (float2)((float)x, (float)y) * scale;
    const float2 cell = floor(p);
    const float2 inside = p - cell;

    float2 nearest = (float2)(8.0f);
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            const uint hash = hash_cell((int)cell.x + dx, (int)cell.y + dy, (int)slice);
            const float2 feature = (float2)((hash & 0xffff) / 65536.0f, (hash >> 16) / 65536.0f);
            const float2 offset = feature + (float2)(dx, dy) - inside;
            const float d = dot(offset, offset);
            nearest.y = fmin(nearest.y, fmax(nearest.x, d));
            nearest.x = fmin(nearest.x, d);
        }
    }
    distances[(slice * h + y) * w + x] = sqrt(nearest) + 0.01f;
}

//@ marching_cubes_classify | 128 128 64 | 32 4 1 | float=0.6 float*1048576 uchar*1048576 uchar*1048576 uint*1
__kernel void marching_cubes_classify(float iso, __global const float *field,
                                      __global uchar *cases, __global uchar *cut_edges,
                                      volatile __global uint *active_cells)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const int nx = get_global_size(0), ny = get_global_size(1), nz = get_global_size(2);
    const int cell = (z * ny + y) * nx + x;

    /* bit 0 of a corner's number is x, bit 1 y, bit 2 z; cells at the far faces are empty */
    uint inside = 0;
    if (x < nx - 1 && y < ny - 1 && z < nz - 1) {
        for (int corner = 0; corner < 8; corner++) {
            const int at = cell + (corner & 1) + ((corner >> 1) & 1) * nx + (corner >> 2) * nx * ny;
            inside |= (uint)(field[at] < iso) << corner;
        }
    }
    const uint along_x = (inside ^ (inside >> 1)) & 0x55;
    const uint along_y = (inside ^ (inside >> 2)) & 0x33;
    const uint along_z = (inside ^ (inside >> 4)) & 0x0f;
    const uint cuts = popcount(along_x) + popcount(along_y) + popcount(along_z);
    cases[cell] = (uchar)inside;
    cut_edges[cell] = (uchar)cuts;

    const uint active = work_group_reduce_add(cuts != 0 ? 1u : 0u);
    if (get_local_id(0) == 0 && get_local_id(1) == 0)
        atomic_add(active_cells, active);
}

//@ surface_nets_vertices | 64 64 64 | 16 4 2 | float=0.3 float*262144 float*1048576
__kernel void surface_nets_vertices(float iso, __global const float *field,
                                    __global float4 *vertices)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const int n = get_global_size(0);
    const int cell = (z * n + y) * n + x;
    if (x == n - 1 || y == n - 1 || z == n - 1) {
        vertices[cell] = (float4)(0.0f);
        return;
    }

    float v[8];
    for (int c = 0; c < 8; c++)
        v[c] = field[cell + (c & 1) + (c & 2) / 2 * n + (c & 4) / 4 * n * n];

    float3 sum = (float3)(0.0f);
    int crossings = 0;
    for (int c = 0; c < 8; c++) {
        for (int axis = 1; axis < 8; axis <<= 1) {
            if ((c & axis) || (v[c] < iso) == (v[c | axis] < iso))
                continue;
            const float along = (iso - v[c]) / (v[c | axis] - v[c]);
            float3 p = (float3)(c & 1, (c >> 1) & 1, c >> 2);
            p += along * (float3)(axis & 1, (axis >> 1) & 1, axis >> 2);
            sum += p;
            crossings++;
        }
    }
    float4 vertex = (float4)(0.0f);
    if (crossings > 0)
        vertex = (float4)(sum / crossings + (float3)(x, y, z), crossings);
    vertices[cell] = vertex;
}

static float sdf_scene(float3 p, __constant float4 *spheres, int count)
{
    float d = p.y + 1.0f;
    for (int i = 0; i < count; i++) {
        const float4 s = spheres[i];
        const float to_sphere = length(p - (s.xyz * 4.0f - 2.0f)) - (0.2f + 0.4f * s.w);
        /* polynomial smooth minimum */
        const float h = fmax(0.3f - fabs(d - to_sphere), 0.0f) / 0.3f;
        d = fmin(d, to_sphere) - h * h * 0.075f;
    }
    return d;
}

//@ sdf_march_glow | 256 128 | 16 8 | int=5 int=24 float*20 float*32768
__kernel void sdf_march_glow(int sphere_count, int max_steps, __constant float4 *spheres,
                             __global float *glow)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const float2 screen = (float2)(x + 0.5f, y + 0.5f) / (float2)(128.0f, 64.0f) - 1.0f;
    const float3 direction = normalize((float3)(screen.x * 2.0f, screen.y, 1.5f));
    const float3 eye = (float3)(0.0f, 0.5f, -5.0f);

    float travelled = 0.0f, light = 0.0f;
    for (int step = 0; step < max_steps; step++) {
        const float d = sdf_scene(eye + direction * travelled, spheres, sphere_count);
        const float stride = fmax(d, 0.0f) + 0.02f;
        light += native_exp(-4.0f * fabs(d)) * stride;
        travelled += stride;
        if (travelled > 40.0f)
            break;
    }
    glow[y * get_global_size(0) + x] = 0.05f + light + 1.0f / (1.0f + fmin(travelled, 40.0f));
}

//@ skin_vertices_linear | 131072 | 128 | uint=131000 float*768:0.1..1 float*393216 uchar*524288:0..64 float*524288:0.01..1 float*393216
__kernel void skin_vertices_linear(uint count, __constant float4 *bone_rows,
                                   __global const float *positions,
                                   __global const uchar4 *joints,
                                   __global const float4 *weights, __global float *skinned)
{
    const uint vertex_id = get_global_id(0);
    if (vertex_id >= count)
        return;
    const float4 p = (float4)(vload3(vertex_id, positions), 1.0f);
    const uchar4 j = joints[vertex_id];
    float4 w = weights[vertex_id];
    w /= w.x + w.y + w.z + w.w;

    float4 row[3];
    for (int r = 0; r < 3; r++) {
        row[r] = bone_rows[j.x * 3 + r] * w.x;
        row[r] += bone_rows[j.y * 3 + r] * w.y;
        row[r] += bone_rows[j.z * 3 + r] * w.z;
        row[r] += bone_rows[j.w * 3 + r] * w.w;
    }
    const float3 moved = (float3)(dot(row[0], p), dot(row[1], p), dot(row[2], p));
    vstore3(moved, vertex_id, skinned);
}

static float srgb_to_linear(uchar c)
{
    const float v = c / 255.0f;
    return c <= 10 ? v / 12.92f : pow((v + 0.055f) / 1.055f, 2.4f);
}

//@ srgb_to_oklab_pixels | 262144 | 256 | uchar*1048576 float*1048576
__kernel void srgb_to_oklab_pixels(__global const uchar4 *pixels, __global float4 *lab)
{
    const size_t i = get_global_id(0);
    const uchar4 pixel = pixels[i];
    const float r = srgb_to_linear(pixel.x);
    const float g = srgb_to_linear(pixel.y);
    const float b = srgb_to_linear(pixel.z);

    const float l = cbrt(0.4122215f * r + 0.5363325f * g + 0.0514460f * b);
    const float m = cbrt(0.2119035f * r + 0.6806995f * g + 0.1073970f * b);
    const float s = cbrt(0.0883025f * r + 0.2817188f * g + 0.6299787f * b);

    float4 out;
    out.x = 0.2104543f * l + 0.7936178f * m - 0.0040720f * s;
    /* both colour axes are stored around one half */
    out.y = 0.5f + 1.9779985f * l - 2.4285922f * m + 0.4505937f * s;
    out.z = 0.5f + 0.0259040f * l + 0.7827718f * m - 0.8086758f * s;
    out.w = pixel.w / 255.0f;
    lab[i] = out;
}

static uchar4 bt601_pixel(int luma, int u, int v)
{
    const int y = 298 * (luma - 16) + 128;
    const int3 rgb = (int3)(y + 409 * v, y - 100 * u - 208 * v, y + 516 * u) >> (int3)(8);
    return (uchar4)(convert_uchar3_sat(rgb), 255);
}

//@ nv12_to_rgba_blocks | 512 256 | 32 4 | int=1024 uchar*524288 uchar*262144 uchar*2097152
__kernel void nv12_to_rgba_blocks(int pitch, __global const uchar *luma,
                                  __global const uchar2 *chroma, __global uchar4 *rgba)
{
    /* two by two pixels share their colour */
    const int bx = get_global_id(0), by = get_global_id(1);
    const int top = 2 * by * pitch + 2 * bx;
    const int bottom = top + pitch;
    const int2 uv = convert_int2(chroma[by * (pitch / 2) + bx]) - 128;

    const uchar2 y0 = vload2(0, luma + top);
    const uchar2 y1 = vload2(0, luma + bottom);
    rgba[top] = bt601_pixel(y0.x, uv.x, uv.y);
    rgba[top + 1] = bt601_pixel(y0.y, uv.x, uv.y);
    rgba[bottom] = bt601_pixel(y1.x, uv.x, uv.y);
    rgba[bottom + 1] = bt601_pixel(y1.y, uv.x, uv.y);
}

//@ frustum_cull_spheres | 524288 | 256 | uint=524000 float*24:-1..1 float*524288:-1..1 float*524288:-1..1 float*524288:-1..1 float*524288:0.1..1 uint*16384 uchar*524288
__kernel void frustum_cull_spheres(uint count, __constant float4 *planes,
                                   __global const float *x, __global const float *y,
                                   __global const float *z, __global const float *radius,
                                   __global uint *visible_bits, __global uchar *detail)
{
    __local uint words[8];
    const uint i = get_global_id(0), lid = get_local_id(0);
    if (lid < 8)
        words[lid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    bool visible = i < count;
    if (visible) {
        const float px = x[i], py = y[i], pz = z[i], r = radius[i];
        for (int p = 0; p < 6 && visible; p++) {
            const float4 plane = planes[p];
            const float d = fma(plane.x, px, fma(plane.y, py, fma(plane.z, pz, plane.w)));
            visible = d > -r;
        }
        detail[i] = visible ? convert_uchar_sat_rtz(r * 8.0f) : 0;
    }
    if (visible)
        atomic_or(&words[lid >> 5], 1u << (lid & 31));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 8)
        visible_bits[get_group_id(0) * 8 + lid] = words[lid];
}

//@ bicubic_bezier_patches | 16 16 512 | 16 16 1 | float*32768:0.1..1 float*524288
__kernel void bicubic_bezier_patches(__global const float4 *control, __global float4 *surface)
{
    __local float4 points[16];
    const int i = get_local_id(0), j = get_local_id(1);
    const int patch = get_global_id(2);
    if (j == 0)
        points[i] = control[patch * 16 + i];
    barrier(CLK_LOCAL_MEM_FENCE);

    const float u = i / 15.0f, v = j / 15.0f;
    const float iu = 1.0f - u, iv = 1.0f - v;
    const float4 bu = (float4)(iu * iu * iu, 3.0f * u * iu * iu, 3.0f * u * u * iu, u * u * u);
    const float bv[4] = { iv * iv * iv, 3.0f * v * iv * iv, 3.0f * v * v * iv, v * v * v };

    float4 sum = (float4)(0.0f);
    for (int row = 0; row < 4; row++) {
        const float4 along = points[row * 4] * bu.x + points[row * 4 + 1] * bu.y
                           + points[row * 4 + 2] * bu.z + points[row * 4 + 3] * bu.w;
        sum += along * bv[row];
    }
    /* the fourth component is the weight of a rational patch */
    sum.xyz /= sum.w;
    surface[(patch * 16 + j) * 16 + i] = sum;
}

//@ keyframe_slerp_tracks | 131072 | 128 | int=16 float=0.37 int*2048:x16 float*131072:0.1..1 float*131072 float*524288
__kernel void keyframe_slerp_tracks(int keys, float speed, __global const int *track_start,
                                    __global const float4 *rotations,
                                    __global const float *times, __global float4 *poses)
{
    const int instance = get_global_id(0);
    const int track = instance & 2047;
    const float position = times[instance] * speed * (keys - 1);
    const int key = min((int)position, keys - 2);
    const float t = position - key;
    const float4 a = normalize(rotations[track_start[track] + key]);
    float4 b = normalize(rotations[track_start[track] + key + 1]);

    float cosine = dot(a, b);
    if (cosine < 0.0f) {
        b = -b;
        cosine = -cosine;
    }
    float4 q;
    if (cosine > 0.9995f) {
        q = normalize(mix(a, b, t));
    } else {
        const float angle = acos(cosine);
        const float inverse = 1.0f / sin(angle);
        q = (sin((1.0f - t) * angle) * a + sin(t * angle) * b) * inverse;
    }
    poses[instance] = q;
}
