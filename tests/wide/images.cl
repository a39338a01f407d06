// Image processing: filters, colour, morphology, resampling and dithering, interleaved and planar.

#define BLUR_R 4
#define BLUR_W 128

__constant ushort blur_taps[2 * BLUR_R + 1] = {4, 14, 28, 48, 68, 48, 28, 14, 4};

// Horizontal pass over RGBA bytes: a row segment with its halo sits in local memory.
//@ gaussian_rows_rgba8 | 1024 512 | 128 1 | int=1000 int=512 uchar*2048000 uchar*2048000
__kernel void gaussian_rows_rgba8(const int width, const int height,
                                  __global const uchar4 *src, __global uchar4 *dst)
{
    __local uchar4 segment[BLUR_W + 2 * BLUR_R];
    const int lx = get_local_id(0);
    const int x = get_global_id(0), y = get_global_id(1);
    const int x0 = x - lx - BLUR_R;

    for (int t = lx; t < BLUR_W + 2 * BLUR_R; t += BLUR_W)
        segment[t] = src[y * width + clamp(x0 + t, 0, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;

    uint4 sum = (uint4)(128);
    for (int k = 0; k <= 2 * BLUR_R; ++k)
        sum += convert_uint4(segment[lx + k]) * (uint)blur_taps[k];
    dst[y * width + x] = convert_uchar4_sat(sum >> 8);
}

//@ bilateral_5x5_gray | 400 160 | 16 16 | int=390 int=160 float=0.08 float=12.5 float*62400 float*62400
__kernel void bilateral_5x5_gray(const int width, const int height, const float inv_space,
                                 const float inv_range, __global const float *src,
                                 __global float *dst)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const float centre = src[y * width + x];
    float total = 0.0f, weight = 0.0f;
    for (int dy = -2; dy <= 2; ++dy) {
        const int yy = clamp(y + dy, 0, height - 1);
        for (int dx = -2; dx <= 2; ++dx) {
            const int xx = clamp(x + dx, 0, width - 1);
            const float v = src[yy * width + xx];
            const float diff = v - centre;
            const float w = exp(-(float)(dx * dx + dy * dy) * inv_space - diff * diff * inv_range);
            total = mad(w, v, total);
            weight += w;
        }
    }
    dst[y * width + x] = total / weight;
}

uchar luma_of(uchar4 p)
{
    return (uchar)((66 * p.x + 129 * p.y + 25 * p.z + 128 + (16 << 8)) >> 8);
}

// Interleaved RGBA to planar YUV 4:2:0; each work-item converts one 2x2 block.
//@ rgba_to_yuv420_planar | 640 384 | 64 1 | int=1280 int=720 uchar*3686400 uchar*921600 uchar*230400 uchar*230400
__kernel void rgba_to_yuv420_planar(const int width, const int height,
                                    __global const uchar4 *rgba, __global uchar *luma,
                                    __global uchar *cb, __global uchar *cr)
{
    const int bx = get_global_id(0), by = get_global_id(1);
    const int x = 2 * bx, y = 2 * by;
    if (x + 1 >= width || y + 1 >= height)
        return;

    const int top = y * width + x, bottom = top + width;
    const uchar4 p00 = rgba[top], p01 = rgba[top + 1];
    const uchar4 p10 = rgba[bottom], p11 = rgba[bottom + 1];
    vstore2((uchar2)(luma_of(p00), luma_of(p01)), 0, luma + top);
    vstore2((uchar2)(luma_of(p10), luma_of(p11)), 0, luma + bottom);

    const ushort4 sum = convert_ushort4(p00) + convert_ushort4(p01) +
                        convert_ushort4(p10) + convert_ushort4(p11);
    const int4 mean = convert_int4((sum + (ushort4)(2)) >> (ushort4)(2));
    const int at = by * (width / 2) + bx;
    cb[at] = convert_uchar_sat(((-38 * mean.x - 74 * mean.y + 112 * mean.z + 128) >> 8) + 128);
    cr[at] = convert_uchar_sat(((112 * mean.x - 94 * mean.y - 18 * mean.z + 128) >> 8) + 128);
}

float hue_ramp(float h)
{
    h -= 6.0f * floor(h * (1.0f / 6.0f));
    return clamp(fabs(h - 3.0f) - 1.0f, 0.0f, 1.0f);
}

// Turns the hue and scales saturation and value of float pixels; alpha passes through.
//@ hsv_adjust_float4 | 131072 | 128 | uint=131072 float=0.35 float=1.2 float=0.9 float*524288 float*524288
__kernel void hsv_adjust_float4(const uint count, const float hue_turn, const float sat_gain,
                                const float val_gain, __global const float4 *src,
                                __global float4 *dst)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;

    const float4 p = src[i];
    const float hi = fmax(p.x, fmax(p.y, p.z));
    const float lo = fmin(p.x, fmin(p.y, p.z));
    const float chroma = hi - lo;
    float hue = 0.0f;
    if (chroma > 1e-6f) {
        if (hi == p.x)
            hue = (p.y - p.z) / chroma;
        else if (hi == p.y)
            hue = 2.0f + (p.z - p.x) / chroma;
        else
            hue = 4.0f + (p.x - p.y) / chroma;
    }
    hue += 6.0f * hue_turn;
    const float sat = clamp(chroma / fmax(hi, 1e-6f) * sat_gain, 0.0f, 1.0f);
    const float val = fmin(hi * val_gain, 1.0f);
    const float3 ramp = (float3)(hue_ramp(hue), hue_ramp(hue + 4.0f), hue_ramp(hue + 2.0f));
    dst[i] = (float4)(val * mix((float3)(1.0f), ramp, sat), p.w);
}

// Greyscale erosion by a 3x3 square, sixteen pixels at a time.
//@ erode_3x3_bytes16 | 128 1024 | 16 4 | ushort=2048 ushort=1024 uchar*2097152 uchar*2097152
__kernel void erode_3x3_bytes16(const ushort pitch, const ushort height,
                                __global const uchar *src, __global uchar *dst)
{
    const int x = (int)get_global_id(0) * 16;
    const int y = get_global_id(1);
    if (x + 16 > pitch || y >= height)
        return;

    uchar16 left = (uchar16)(255), right = (uchar16)(255), mid = (uchar16)(255);
    for (int dy = -1; dy <= 1; ++dy) {
        const int yy = y + dy;
        if (yy < 0 || yy >= height)
            continue;
        __global const uchar *row = src + yy * pitch + x;
        const uchar16 v = vload16(0, row);
        mid = min(mid, v);
        const uchar before = x > 0 ? row[-1] : (uchar)255;
        const uchar after = x + 16 < pitch ? row[16] : (uchar)255;
        left = min(left, (uchar16)(before, v.s01234567, v.s89ab, v.scd, v.se));
        right = min(right, (uchar16)(v.s12345678, v.s9abc, v.sde, v.sf, after));
    }
    vstore16(min(mid, min(left, right)), 0, dst + y * pitch + x);
}

#define MORPH_T 16
#define MORPH_MAX_R 4
#define MORPH_SPAN (MORPH_T + 2 * MORPH_MAX_R)

// Dilation minus erosion over a disc of variable radius.
//@ morphological_gradient_disc | 384 256 | 16 16 | int=380 int=250 int=3 uchar*95000 uchar*95000
__kernel void morphological_gradient_disc(const int width, const int height, const int radius,
                                          __global const uchar *src, __global uchar *dst)
{
    __local uchar tile[MORPH_SPAN][MORPH_SPAN];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x = get_global_id(0), y = get_global_id(1);
    const int ox = x - lx - MORPH_MAX_R, oy = y - ly - MORPH_MAX_R;

    for (int ty = ly; ty < MORPH_SPAN; ty += MORPH_T)
        for (int tx = lx; tx < MORPH_SPAN; tx += MORPH_T)
            tile[ty][tx] = src[clamp(oy + ty, 0, height - 1) * width +
                               clamp(ox + tx, 0, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;

    const int r = min(radius, MORPH_MAX_R);
    uchar lowest = 255, highest = 0;
    for (int dy = -r; dy <= r; ++dy) {
        for (int dx = -r; dx <= r; ++dx) {
            if (dx * dx + dy * dy > r * r + 1)
                continue;
            const uchar v = tile[ly + MORPH_MAX_R + dy][lx + MORPH_MAX_R + dx];
            lowest = min(lowest, v);
            highest = max(highest, v);
        }
    }
    dst[y * width + x] = highest - lowest;
}

int2 sobel_at(__global const uchar *src, int pitch, int x, int y)
{
    __global const uchar *p = src + (y - 1) * pitch + x - 1;
    const int3 a = convert_int3(vload3(0, p));
    const int3 b = convert_int3(vload3(0, p + pitch));
    const int3 c = convert_int3(vload3(0, p + 2 * pitch));
    return (int2)(a.z - a.x + 2 * (b.z - b.x) + c.z - c.x,
                  c.x - a.x + 2 * (c.y - a.y) + c.z - a.z);
}

// Edges one pixel thin: gradients that are not the largest across their direction are dropped.
//@ sobel_thin_edges | 768 256 | 64 2 | int=750 int=250 int=180 uchar*187500 uchar*187500
__kernel void sobel_thin_edges(const int width, const int height, const int threshold,
                               __global const uchar *src, __global uchar *edges)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    edges[y * width + x] = 0;
    if (x < 2 || y < 2 || x >= width - 2 || y >= height - 2)
        return;

    const int2 g = sobel_at(src, width, x, y);
    const int magnitude = (int)(abs(g.x) + abs(g.y));
    if (magnitude < threshold)
        return;

    // tan 22.5 degrees is about 53/128, tan 67.5 about 309/128.
    const uint ax = abs(g.x), ay = abs(g.y);
    int2 step;
    if (ay * 128 < ax * 53)
        step = (int2)(1, 0);
    else if (ay * 128 > ax * 309)
        step = (int2)(0, 1);
    else
        step = (int2)(1, (g.x ^ g.y) < 0 ? -1 : 1);

    const uint2 fwd = abs(sobel_at(src, width, x + step.x, y + step.y));
    const uint2 back = abs(sobel_at(src, width, x - step.x, y - step.y));
    if (magnitude > (int)(fwd.x + fwd.y) && magnitude >= (int)(back.x + back.y))
        edges[y * width + x] = convert_uchar_sat(magnitude >> 2);
}

// Resampling of planar floats to any size, one plane per slice of the range.
//@ bilinear_resize_planes | 512 200 3 | 32 4 1 | int=333 int=140 int=500 int=200 float*139860 float*300000
__kernel void bilinear_resize_planes(const int src_w, const int src_h, const int dst_w,
                                     const int dst_h, __global const float *src,
                                     __global float *dst)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    const int plane = get_global_id(2);
    if (x >= dst_w || y >= dst_h)
        return;

    const float scale_x = (float)src_w / (float)dst_w;
    const float scale_y = (float)src_h / (float)dst_h;
    const float sx = clamp((x + 0.5f) * scale_x - 0.5f, 0.0f, (float)(src_w - 1));
    const float sy = clamp((y + 0.5f) * scale_y - 0.5f, 0.0f, (float)(src_h - 1));
    const int x0 = min((int)sx, src_w - 2);
    const int y0 = min((int)sy, src_h - 2);

    __global const float *p = src + (size_t)plane * src_w * src_h + y0 * src_w + x0;
    const float2 upper = vload2(0, p);
    const float2 lower = vload2(0, p + src_w);
    const float2 column = mix(upper, lower, sy - (float)y0);
    dst[((size_t)plane * dst_h + y) * dst_w + x] = mix(column.x, column.y, sx - (float)x0);
}

// Catmull-Rom weights a quarter of a pixel away, in 1/128; the other quarter reads them backwards.
__constant float quarter_weights[4] = {-9.0f, 111.0f, 29.0f, -3.0f};

//@ bicubic_double_size_bytes | 512 320 | 64 2 | uint=256 uint=160 uchar*40960 uchar*163840
__kernel void bicubic_double_size_bytes(const uint src_w, const uint src_h,
                                        __global const uchar *src, __global uchar *dst)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    const uint dst_w = 2 * src_w;
    if (x >= dst_w || y >= 2 * src_h)
        return;

    const int right_half = x & 1, lower_half = y & 1;
    const int base_x = (int)(x >> 1) - 2 + right_half;
    const int base_y = (int)(y >> 1) - 2 + lower_half;
    float sum = 0.0f;
    for (int j = 0; j < 4; ++j) {
        const int yy = clamp(base_y + j, 0, (int)src_h - 1);
        float row = 0.0f;
        for (int i = 0; i < 4; ++i) {
            const int xx = clamp(base_x + i, 0, (int)src_w - 1);
            const float w = quarter_weights[right_half ? i : 3 - i];
            row += w * (float)src[yy * (int)src_w + xx];
        }
        sum += quarter_weights[lower_half ? j : 3 - j] * row;
    }
    dst[y * dst_w + x] = convert_uchar_sat_rte(sum * (1.0f / 16384.0f));
}

#define ORDER(a, b) do { const uchar4 t_ = min(a, b); b = max(a, b); a = t_; } while (0)

uchar4 middle_of(uchar4 a, uchar4 b, uchar4 c)
{
    return max(min(a, b), min(max(a, b), c));
}

// Median of nine by channel: sort the columns, then combine their minima, medians and maxima.
//@ median_3x3_rgba8 | 512 256 | 32 8 | int=512 int=256 uchar*524288 uchar*524288
__kernel void median_3x3_rgba8(const int width, const int height,
                               __global const uchar4 *src, __global uchar4 *dst)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        dst[y * width + x] = src[y * width + x];
        return;
    }

    uchar4 lo[3], mid[3], hi[3];
    __global const uchar4 *p = src + (y - 1) * width + (x - 1);
    for (int c = 0; c < 3; ++c) {
        uchar4 a = p[c], b = p[c + width], d = p[c + 2 * width];
        ORDER(a, b);
        ORDER(b, d);
        ORDER(a, b);
        lo[c] = a;
        mid[c] = b;
        hi[c] = d;
    }
    const uchar4 greatest_lo = max(lo[0], max(lo[1], lo[2]));
    const uchar4 least_hi = min(hi[0], min(hi[1], hi[2]));
    const uchar4 centre = middle_of(mid[0], mid[1], mid[2]);
    dst[y * width + x] = middle_of(greatest_lo, centre, least_hi);
}

#define EQ_TILE 64
#define EQ_ITEMS 256

// Contrast-limited equalisation: the lookup table of each 64x64 tile.
//@ clipped_equalisation_tables | 2048 12 | 256 1 | int=512 uint=40 uchar*393216 uchar*24576
__kernel void clipped_equalisation_tables(const int pitch, const uint clip,
                                          __global const uchar *gray, __global uchar *tables)
{
    __local uint bins[EQ_ITEMS];
    __local uint excess;
    const int lid = get_local_id(0);
    const int tile_x = get_group_id(0), tile_y = get_group_id(1);

    bins[lid] = 0;
    if (lid == 0)
        excess = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    __global const uchar *corner = gray + tile_y * EQ_TILE * pitch + tile_x * EQ_TILE;
    const int column = (lid % 16) * 4;
    for (int row = lid / 16; row < EQ_TILE; row += EQ_ITEMS / 16) {
        const uchar4 v = vload4(0, corner + row * pitch + column);
        atomic_inc(&bins[v.x]);
        atomic_inc(&bins[v.y]);
        atomic_inc(&bins[v.z]);
        atomic_inc(&bins[v.w]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    uint mine = bins[lid];
    if (mine > clip) {
        atomic_add(&excess, mine - clip);
        mine = clip;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mine += excess / EQ_ITEMS + ((uint)lid < excess % EQ_ITEMS ? 1 : 0);
    bins[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int step = 1; step < EQ_ITEMS; step *= 2) {
        const uint add = lid >= step ? bins[lid - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        bins[lid] += add;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const uint level = (bins[lid] * 255u + EQ_TILE * EQ_TILE / 2) / (EQ_TILE * EQ_TILE);
    const int tile = tile_y * (int)get_num_groups(0) + tile_x;
    tables[tile * EQ_ITEMS + lid] = convert_uchar_sat(level);
}

#define SCAN_ITEMS 128

// First half of an integral image: running sums and sums of squares along a row.
//@ integral_rows_with_squares | 128 512 | 128 1 | uint=1024 uchar*524288 uint*524288 ulong*524288
__kernel void integral_rows_with_squares(const uint width, __global const uchar *src,
                                         __global uint *sums, __global ulong *squares)
{
    __local uint totals[2][SCAN_ITEMS];
    const uint lid = get_local_id(0);
    const uint at = get_global_id(1) * width + lid * 8;
    const uchar8 pixels = lid * 8 + 8 <= width ? vload8(0, src + at) : (uchar8)(0);

    uint v[8];
    vstore8(convert_uint8(pixels), 0, v);
    uint s = 0, q = 0;
    for (int i = 0; i < 8; ++i) {
        s += v[i];
        q += v[i] * v[i];
    }
    totals[0][lid] = s;
    totals[1][lid] = q;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 1; step < SCAN_ITEMS; step <<= 1) {
        uint left_s = 0, left_q = 0;
        if (lid >= step) {
            left_s = totals[0][lid - step];
            left_q = totals[1][lid - step];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        totals[0][lid] += left_s;
        totals[1][lid] += left_q;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    if (lid * 8 + 8 > width)
        return;
    uint run = totals[0][lid] - s;
    ulong run_squares = totals[1][lid] - q;
    for (int i = 0; i < 8; ++i) {
        run += v[i];
        run_squares += v[i] * v[i];
        sums[at + i] = run;
        squares[at + i] = run_squares;
    }
}

int mirrored(int i, int n)
{
    i = abs(i);
    return i < n ? i : 2 * n - 2 - i;
}

#define RAW(dx, dy) ((uint)raw[mirrored(y + (dy), height) * width + mirrored(x + (dx), width)])

//@ demosaic_rggb_bilinear | 768 320 | 64 2 | int=760 int=320 ushort*243200:0..4096 ushort*729600
__kernel void demosaic_rggb_bilinear(const int width, const int height,
                                     __global const ushort *raw, __global ushort *rgb)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const uint here = RAW(0, 0);
    const uint across = RAW(-1, 0) + RAW(1, 0);
    const uint upright = RAW(0, -1) + RAW(0, 1);
    uint red, green, blue;
    if (((x ^ y) & 1) == 0) {
        const uint corners = RAW(-1, -1) + RAW(1, -1) + RAW(-1, 1) + RAW(1, 1);
        const uint opposite = (corners + 2) >> 2;
        green = (across + upright + 2) >> 2;
        red = (y & 1) ? opposite : here;
        blue = (y & 1) ? here : opposite;
    } else {
        const uint h = (across + 1) >> 1, v = (upright + 1) >> 1;
        green = here;
        red = (y & 1) ? v : h;
        blue = (y & 1) ? h : v;
    }
    vstore3(convert_ushort3((uint3)(red, green, blue)), y * width + x, rgb);
}

__constant uchar bayer_4x4[16] = {8, 136, 40, 168, 200, 72, 232, 104,
                                  56, 184, 24, 152, 248, 120, 216, 88};

// Gray bytes to one bit per pixel, the leftmost pixel in the highest bit.
//@ ordered_dither_to_bits | 256 1024 | 64 4 | int=2040 int=1020 int=256 uchar*2080800 uchar*261120
__kernel void ordered_dither_to_bits(const int width, const int height, const int out_pitch,
                                     __global const uchar *gray, __global uchar *bits)
{
    const int byte_x = get_global_id(0);
    const int y = get_global_id(1);
    if (byte_x >= out_pitch || y >= height)
        return;

    const int x0 = byte_x * 8;
    uchar packed = 0;
    if (x0 + 8 <= width) {
        const uchar4 t = vload4(y & 3, bayer_4x4);
        const uchar8 v = vload8(0, gray + y * width + x0);
        const uchar8 mask = (uchar8)(128, 64, 32, 16, 8, 4, 2, 1);
        const uchar8 lit = as_uchar8(v >= (uchar8)(t, t)) & mask;
        const uchar4 a = lit.lo | lit.hi;
        packed = a.x | a.y | a.z | a.w;
    } else {
        for (int x = x0; x < width; ++x)
            if (gray[y * width + x] >= bayer_4x4[(y & 3) * 4 + (x & 3)])
                packed |= 0x80 >> (x - x0);
    }
    bits[y * out_pitch + byte_x] = packed;
}

// Rotation and scaling of float RGB triples about the centre, clamped at the borders.
//@ rotate_rgb_bilinear | 512 384 | 16 8 | int=500 int=380 float=0.4 float=1.1 float*570000:0.5..1 float*570000
__kernel void rotate_rgb_bilinear(const int width, const int height, const float angle,
                                  const float zoom, __global const float *src,
                                  __global float *dst)
{
#pragma OPENCL FP_CONTRACT OFF
    const int2 pos = (int2)((int)get_global_id(0), (int)get_global_id(1));
    const int2 size = (int2)(width, height);
    if (any(pos >= size))
        return;

    float c;
    const float s = sincos(angle, &c) / zoom;
    c /= zoom;
    const float2 centre = 0.5f * convert_float2(size - 1);
    const float2 d = convert_float2(pos) - centre;
    float2 from = centre + (float2)(c * d.x - s * d.y, s * d.x + c * d.y);
    from = clamp(from, (float2)(0.0f), convert_float2(size - 1));

    const int2 corner = min(convert_int2_rtz(from), size - 2);
    const float2 f = from - convert_float2(corner);
    const int at = corner.y * width + corner.x;
    const float3 top = mix(vload3(at, src), vload3(at + 1, src), f.x);
    const float3 bottom = mix(vload3(at + width, src), vload3(at + width + 1, src), f.x);
    vstore3(mix(top, bottom, f.y), pos.y * width + pos.x, dst);
}

float3 srgb_to_linear(uchar4 p)
{
    const float3 v = convert_float3(p.xyz) * (1.0f / 255.0f);
    const float3 curve = pow((v + 0.055f) * (1.0f / 1.055f), (float3)(2.4f));
    return select(curve, v * (1.0f / 12.92f), islessequal(v, (float3)(0.04045f)));
}

// Next mip level in linear light, weighting the colour of each pixel by its alpha.
//@ mip_level_linear_light | 256 128 | 32 4 | uint=256 uint=128 uchar*524288 float*131072
__kernel void mip_level_linear_light(const uint dst_w, const uint dst_h,
                                     __global const uchar4 *src, __global float4 *dst)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= dst_w || y >= dst_h)
        return;

    float3 colour = (float3)(0.0f);
    float alpha = 0.0f;
    for (uint k = 0; k < 4; ++k) {
        const uchar4 p = src[(2 * y + (k >> 1)) * 2 * dst_w + 2 * x + (k & 1)];
        const float a = p.w * (1.0f / 255.0f);
        colour += srgb_to_linear(p) * a;
        alpha += a;
    }
    if (alpha > 0.0f)
        colour /= alpha;
    dst[y * dst_w + x] = (float4)(colour, 0.25f * alpha);
}
