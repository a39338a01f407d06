// Idioms of everyday code: grid strides, halos, tiles, SoA and AoS, ragged rows, tables, states.

//@ grid_stride_blend_saturate | 32768 | 256 | int=1000003 float=0.75 float=0.4 float*1000003 float*1000003 uchar*1000003 float*1000003
__kernel void grid_stride_blend_saturate(int n, float alpha, float ceiling,
                                         __global const float *restrict x,
                                         __global const float *restrict y,
                                         __global const uchar *restrict mask,
                                         __global float *restrict out)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uchar m = mask[i];
        if ((m & 3) == 0) {
            out[i] = y[i];
            continue;
        }
        const float weight = alpha * m * (1.0f / 255.0f);
        const float blended = weight * x[i] + (1.0f - weight) * y[i];
        out[i] = fmin(blended, ceiling);
    }
}

#define TILE_W 16
#define TILE_H 16
#define HALO_W (TILE_W + 2)
#define HALO_H (TILE_H + 2)

//@ gaussian3x3_halo_tile | 1024 512 | 16 16 | int=1020 int=510 float*520200 float*520200
__kernel void gaussian3x3_halo_tile(int width, int height, __global const float *image,
                                    __global float *smooth)
{
    __local float tile[HALO_H * HALO_W];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int left = get_group_id(0) * TILE_W - 1;
    const int top = get_group_id(1) * TILE_H - 1;

    for (int i = ly * TILE_W + lx; i < HALO_H * HALO_W; i += TILE_W * TILE_H) {
        const int x = clamp(left + i % HALO_W, 0, width - 1);
        const int y = clamp(top + i / HALO_W, 0, height - 1);
        tile[i] = image[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const float kernel_1d[3] = { 0.25f, 0.5f, 0.25f };
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += kernel_1d[dy] * kernel_1d[dx] * tile[(ly + dy) * HALO_W + lx + dx];
    smooth[y * width + x] = sum;
}

#define TR_DIM 32
#define TR_ROWS 8

//@ transpose_tiled_padded | 1024 256 | 32 8 | uint=1000 uint=1010 uint*1010000 uint*1010000
__kernel void transpose_tiled_padded(uint width, uint height, __global const uint *input,
                                     __global uint *output)
{
    __local uint tile[TR_DIM][TR_DIM + 1];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint tile_x = get_group_id(0) * TR_DIM, tile_y = get_group_id(1) * TR_DIM;

    for (uint j = 0; j < TR_DIM; j += TR_ROWS) {
        const uint x = tile_x + lx, y = tile_y + ly + j;
        if (x < width && y < height)
            tile[ly + j][lx] = input[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* the tile's columns become rows of the output */
    for (uint j = 0; j < TR_DIM; j += TR_ROWS) {
        const uint x = tile_y + lx, y = tile_x + ly + j;
        if (x < height && y < width)
            output[y * height + x] = tile[lx][ly + j];
    }
}

typedef struct {
    float position[3];
    float mass;
    float velocity[3];
    float charge;
} particle;

//@ particles_aos_to_planes | 131072 | 128 | uint=130000 float*1040000 float*1040000 float*130000
__kernel void particles_aos_to_planes(uint count, __global const particle *particles,
                                      __global float *planes, __global float *energy)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;
    const particle p = particles[i];
    float kinetic = 0.0f;
    for (uint axis = 0; axis < 3; axis++) {
        planes[axis * count + i] = p.position[axis];
        planes[(axis + 3) * count + i] = p.velocity[axis] * p.mass;
        kinetic += p.velocity[axis] * p.velocity[axis];
    }
    planes[6 * count + i] = p.mass;
    planes[7 * count + i] = p.charge;
    energy[i] = 0.5f * p.mass * kinetic;
}

//@ soa_drift_and_bounce | 262144 | 256 | uint=262000 float=0.3 float*262144 float*262144 float*262144:-1..1 float*262144:-1..1 float*262144 float*262144 uchar*262144
__kernel void soa_drift_and_bounce(uint count, float dt, __global const float *restrict x,
                                   __global const float *restrict y,
                                   __global const float *restrict vx,
                                   __global const float *restrict vy,
                                   __global float *restrict x_out,
                                   __global float *restrict y_out,
                                   __global uchar *restrict bounces)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    float px = fma(vx[i], dt, x[i]);
    float py = fma(vy[i], dt, y[i]);
    uchar hits = 0;
    if (px < 0.0f || px > 1.0f) {
        px = px < 0.0f ? -px : 2.0f - px;
        hits++;
    }
    if (py < 0.0f || py > 1.0f) {
        py = py < 0.0f ? -py : 2.0f - py;
        hits++;
    }
    x_out[i] = px;
    y_out[i] = py;
    bounces[i] = hits;
}

//@ ragged_rows_argmax | 65536 | 128 | int*65536:x24 ushort*65536:0..25 int*1572864 int*65536 short*65536
__kernel void ragged_rows_argmax(__global const int *row_start, __global const ushort *row_length,
                                 __global const int *values, __global int *row_max,
                                 __global short *row_argmax)
{
    const int row = get_global_id(0);
    const int length = row_length[row];
    if (length == 0) {
        row_max[row] = INT_MIN;
        row_argmax[row] = -1;
        return;
    }

    __global const int *const first = values + row_start[row];
    __global const int *const end = first + length;
    __global const int *best = first;
    for (__global const int *p = first + 1; p < end; p++)
        if (*p > *best)
            best = p;
    row_max[row] = *best;
    row_argmax[row] = (short)(best - first);
}

//@ tone_curve_lut_lerp | 262144 | 256 | ushort*257 ushort*1048576 ushort*1048576
__kernel void tone_curve_lut_lerp(__constant ushort *curve, __global const ushort4 *pixels,
                                  __global ushort4 *toned)
{
    const size_t i = get_global_id(0);
    const ushort4 p = pixels[i];
    const ushort channels[3] = { p.x, p.y, p.z };
    ushort out[3];

    /* the high byte is the table's index, the low byte the way to the next entry */
    for (int c = 0; c < 3; c++) {
        const int index = channels[c] >> 8;
        const int part = channels[c] & 0xff;
        const int here = curve[index], next = curve[index + 1];
        out[c] = (ushort)(here + (((next - here) * part + 128) >> 8));
    }
    toned[i] = (ushort4)(out[0], out[1], out[2], p.w);
}

#define FIELD(word, high, low) (((word) >> (low)) & ((1u << ((high) - (low) + 1)) - 1))

typedef struct {
    uint flow;
    ushort length;
    uchar hops;
    uchar flags;
} packet_summary;

//@ packet_header_fields | 131072 | 128 | uint*655360 uint*262144 uint*256
__kernel void packet_header_fields(__global const uint *headers,
                                   __global packet_summary *summaries,
                                   volatile __global uint *protocols)
{
    const uint id = get_global_id(0);
    uint w[5];
    uint ones_sum = 0;
    for (int i = 0; i < 5; i++) {
        w[i] = headers[id * 5 + i];
        ones_sum += FIELD(w[i], 31, 16) + FIELD(w[i], 15, 0);
    }
    ones_sum = (ones_sum & 0xffff) + (ones_sum >> 16);
    ones_sum = (ones_sum & 0xffff) + (ones_sum >> 16);

    packet_summary s;
    s.flow = w[3] ^ rotate(w[4], 16u) ^ FIELD(w[2], 23, 16) * 0x9e3779b1u;
    s.length = (ushort)FIELD(w[0], 15, 0);
    s.hops = (uchar)(64 - min(FIELD(w[2], 31, 24), 64u));
    s.flags = (uchar)(FIELD(w[1], 15, 13) | (FIELD(w[0], 17, 16) << 3));
    if (ones_sum == 0xffff)
        s.flags |= 0x20;
    if (FIELD(w[0], 31, 28) != 4 || FIELD(w[0], 27, 24) < 5)
        s.flags |= 0x80;
    summaries[id] = s;
    atomic_inc(&protocols[FIELD(w[2], 23, 16)]);
}

enum csv_state { AT_START, IN_FIELD, IN_QUOTES, AFTER_QUOTE };

//@ csv_line_state_machine | 32768 | 128 | int=96 uchar*3145728:32..48 uchar*32768 uchar*32768 uchar*32768
__kernel void csv_line_state_machine(int length, __global const uchar *columns,
                                     __global uchar *fields, __global uchar *longest,
                                     __global uchar *errors)
{
    const int line = get_global_id(0);
    const int pitch = get_global_size(0);
    int state = AT_START;
    uchar field_count = 1, width = 0, widest = 0, bad = 0;

    for (int i = 0; i < length; i++) {
        const uchar c = columns[i * pitch + line];
        if (c == '#' && state == AT_START && field_count == 1)
            break;
        switch (state) {
        case AFTER_QUOTE:
            if (c == '"') {
                width++;
                state = IN_QUOTES;
                break;
            }
            bad += c != ',';
            state = IN_FIELD;
            /* what follows a closing quote is judged as in a bare field */
        case AT_START:
        case IN_FIELD:
            if (c == ',') {
                widest = max(widest, width);
                width = 0;
                field_count++;
                state = AT_START;
            } else if (c == '"' && state == AT_START) {
                state = IN_QUOTES;
            } else {
                width++;
                state = IN_FIELD;
            }
            break;
        case IN_QUOTES:
            if (c == '"')
                state = AFTER_QUOTE;
            else
                width++;
            break;
        }
    }
    fields[line] = field_count;
    longest[line] = max(widest, width);
    errors[line] = bad + (state == IN_QUOTES);
}

#define VX 96
#define VY 80
#define VZ 64

//@ volume_relax_flat_index | 491520 | 256 | float=0.4 float*491520 float*491520
__kernel void volume_relax_flat_index(float keep, __global const float *volume,
                                      __global float *relaxed)
{
    const int i = get_global_id(0);
    const int x = i % VX;
    const int y = i / VX % VY;
    const int z = i / (VX * VY);

    float sum = 0.0f;
    int neighbours = 0;
    if (x > 0)      { sum += volume[i - 1];       neighbours++; }
    if (x < VX - 1) { sum += volume[i + 1];       neighbours++; }
    if (y > 0)      { sum += volume[i - VX];      neighbours++; }
    if (y < VY - 1) { sum += volume[i + VX];      neighbours++; }
    if (z > 0)      { sum += volume[i - VX * VY]; neighbours++; }
    if (z < VZ - 1) { sum += volume[i + VX * VY]; neighbours++; }
    relaxed[i] = keep * volume[i] + (1.0f - keep) * sum / neighbours;
}

//@ stereo_reverse_deinterleave | 131072 | 128 | int=524200 int=4096 short*1048576 short*524288 short*524288
__kernel void stereo_reverse_deinterleave(int frames, int fade_frames,
                                          __global const short *interleaved,
                                          __global short *left, __global short *right)
{
    /* each item takes frames that lie a whole range apart, and writes from the end */
    const int stride = get_global_size(0);
    for (int frame = get_global_id(0); frame < frames; frame += stride) {
        int gain = 32768;
        if (frame < fade_frames)
            gain = frame * (32768 / fade_frames);
        else if (frame >= frames - fade_frames)
            gain = (frames - 1 - frame) * (32768 / fade_frames);

        const int l = interleaved[2 * frame] * gain >> 15;
        const int r = interleaved[2 * frame + 1] * gain >> 15;
        const int to = frames - 1 - frame;
        left[to] = convert_short_sat(l);
        right[to] = convert_short_sat(r);
    }
}

#define FIELD_SIZE 512

//@ periodic_upwind_step | 512 512 | 32 8 | float=0.4 float*262144:0.1..1 float*262144:-1..1 float*262144:-1..1 float*262144
__kernel void periodic_upwind_step(float courant, __global const float *density,
                                   __global const float *u, __global const float *v,
                                   __global float *next)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int west = (x - 1) & (FIELD_SIZE - 1);
    const int east = (x + 1) & (FIELD_SIZE - 1);
    const int north = y == 0 ? FIELD_SIZE - 1 : y - 1;
    const int south = y == FIELD_SIZE - 1 ? 0 : y + 1;
    const int at = y * FIELD_SIZE + x;

    const float here = density[at];
    const float cu = courant * u[at], cv = courant * v[at];
    const int from_x = cu > 0.0f ? west : east;
    const int from_y = cv > 0.0f ? north : south;
    const float ax = fabs(cu), ay = fabs(cv);
    next[at] = here * (1.0f - ax - ay) + ax * density[y * FIELD_SIZE + from_x]
             + ay * density[from_y * FIELD_SIZE + x];
}

//@ box_filter_running_sum | 512 | 32 | int=1024 int=6 uchar*524288 uchar*524288
__kernel void box_filter_running_sum(int width, int radius, __global const uchar *image,
                                     __global uchar *filtered)
{
    const size_t y = get_global_id(0);
    __global const uchar *row = image + y * width;
    __global uchar *out = filtered + y * width;
    const int last = width - 1;
    const uint taps = 2 * radius + 1;
    const uint reciprocal = 65536u / taps + 1;

    uint sum = row[0] * (radius + 1);
    for (int k = 1; k <= radius; k++)
        sum += row[min(k, last)];
    for (int x = 0; x < width; x++) {
        out[x] = (uchar)min((sum * reciprocal) >> 16, 255u);
        sum += row[min(x + radius + 1, last)];
        sum -= row[max(x - radius, 0)];
    }
}

__constant uchar utf8_follow[32] = {
    /* by the top five bits: bytes to follow; 8 for one that follows, 9 for none that may be */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8, 1, 1, 1, 1, 2, 2, 3, 9,
};

//@ utf8_decode_checksum | 65536 | 128 | int=48 uchar*3145728:96..245 uint*65536 uchar*65536 uchar*65536
__kernel void utf8_decode_checksum(int width, __global const uchar *text,
                                   __global uint *checksums, __global uchar *code_points,
                                   __global uchar *bad_bytes)
{
    const uint row = get_global_id(0);
    __global const uchar *p = text + row * width;
    __global const uchar *end = p + width;
    uint checksum = 0, code = 0;
    uchar points = 0, bad = 0, awaited = 0;

    while (p != end) {
        const uchar byte = *p++;
        const uchar follow = utf8_follow[byte >> 3];
        if (follow == 8 && awaited > 0) {
            code = (code << 6) | (byte & 0x3f);
            if (--awaited > 0)
                continue;
        } else if (follow >= 8) {
            bad++;
            awaited = 0;
            continue;
        } else {
            bad += awaited > 0;
            awaited = follow;
            code = follow == 0 ? byte : byte & (0x3f >> follow);
            if (follow > 0)
                continue;
        }
        points++;
        checksum = checksum * 31 + code;
    }
    checksums[row] = checksum;
    code_points[row] = points;
    bad_bytes[row] = bad + (awaited > 0);
}

#define COPIES 4

//@ byte_histogram_private_copies | 16384 | 128 | uint=65536 uchar*1048576 uint*256
__kernel void byte_histogram_private_copies(uint vectors, __global const uchar16 *data,
                                            volatile __global uint *histogram)
{
    /* neighbours count in copies of their own, so that they meet less */
    __local uint bins[COPIES][256];
    const uint lid = get_local_id(0);
    for (uint i = lid; i < COPIES * 256; i += get_local_size(0))
        bins[i / 256][i % 256] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    volatile __local uint *mine = bins[lid % COPIES];
    for (uint v = get_global_id(0); v < vectors; v += get_global_size(0)) {
        const uint4 words = as_uint4(data[v]);
        const uint w[4] = { words.x, words.y, words.z, words.w };
        for (int i = 0; i < 4; i++)
            for (uint shift = 0; shift < 32; shift += 8)
                atomic_inc(&mine[(w[i] >> shift) & 0xff]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint b = lid; b < 256; b += get_local_size(0)) {
        uint total = 0;
        for (uint copy = 0; copy < COPIES; copy++)
            total += bins[copy][b];
        if (total != 0)
            atomic_add(&histogram[b], total);
    }
}

#define IMAGE_W 150
#define IMAGE_H 100
#define IMAGE_C 3

//@ nhwc_bytes_to_nchw_floats | 720128 | 128 | ulong=720000 float*3:0.4..0.5 float*3:3..5 uchar*720000 float*720000
__kernel void nhwc_bytes_to_nchw_floats(ulong count, __constant float *mean,
                                        __constant float *inverse_deviation,
                                        __global const uchar *pixels, __global float *tensor)
{
    /* one item for each element of the output */
    const ulong out = get_global_id(0);
    if (out >= count)
        return;
    ulong rest = out;
    const ulong x = rest % IMAGE_W;
    rest /= IMAGE_W;
    const ulong y = rest % IMAGE_H;
    rest /= IMAGE_H;
    const ulong channel = rest % IMAGE_C;
    const ulong image = rest / IMAGE_C;

    const ulong mirrored = IMAGE_W - 1 - x;
    const ulong in = ((image * IMAGE_H + y) * IMAGE_W + mirrored) * IMAGE_C + channel;
    const float v = pixels[in] * (1.0f / 255.0f);
    tensor[out] = 4.0f + (v - mean[channel]) * inverse_deviation[channel];
}
