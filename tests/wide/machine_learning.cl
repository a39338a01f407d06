// Machine learning: convolutions, pooling, norms, attention, activations, optimisers, quantisation.

//@ conv2d_3x3_nchw | 64 64 32 | 16 8 1 | int=64 int=64 int=16 float*65536 float*4608:-0.1..0.2 float*32 float*131072
__kernel void conv2d_3x3_nchw(int width, int height, int in_channels,
                              __global const float *input, __global const float *weights,
                              __global const float *bias, __global float *output)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    const int oc = get_global_id(2);
    if (x >= width || y >= height)
        return;

    __global const float *w = weights + oc * in_channels * 9;
    float acc = bias[oc];
    for (int ic = 0; ic < in_channels; ic++, w += 9) {
        __global const float *plane = input + ic * width * height;
        for (int ky = -1; ky <= 1; ky++) {
            const int iy = y + ky;
            if (iy < 0 || iy >= height)
                continue;
            for (int kx = -1; kx <= 1; kx++) {
                const int ix = x + kx;
                if (ix >= 0 && ix < width)
                    acc += w[(ky + 1) * 3 + kx + 1] * plane[iy * width + ix];
            }
        }
    }
    output[(oc * height + y) * width + x] = fmax(acc, 0.0f);
}

#define DW_SIZE 192
#define DW_GROUPS 8

//@ depthwise_conv5x5_nhwc_stride2 | 8 96 96 | 8 8 1 | float*1179648 float*800:-0.1..0.2 float*32 float*294912
__kernel void depthwise_conv5x5_nhwc_stride2(__global const float4 *restrict input,
                                             __constant float4 *weights,
                                             __constant float4 *bias,
                                             __global float4 *restrict output)
{
    const uint c = get_global_id(0);
    const int ox = get_global_id(1);
    const int oy = get_global_id(2);

    float4 acc = bias[c];
    for (int ky = 0; ky < 5; ++ky) {
        const int iy = oy * 2 - 2 + ky;
        if ((uint)iy >= DW_SIZE)
            continue;
        for (int kx = 0; kx < 5; ++kx) {
            const int ix = ox * 2 - 2 + kx;
            if ((uint)ix >= DW_SIZE)
                continue;
            acc = mad(weights[(ky * 5 + kx) * DW_GROUPS + c],
                      input[(iy * DW_SIZE + ix) * DW_GROUPS + c], acc);
        }
    }
    /* ReLU6 as in mobile networks */
    output[(oy * (DW_SIZE / 2) + ox) * DW_GROUPS + c] = clamp(acc, 0.0f, 6.0f);
}

#define TAPS 4

static float sigmoid(float x)
{
    return 1.0f / (1.0f + native_exp(-x));
}

//@ conv1d_dilated_gated | 2048 32 | 64 1 | uint=2048 uint=32 uint=8 float*65536 float*4096:-0.02..0.08 float*4096:-0.05..0.05 float*65536
__kernel void conv1d_dilated_gated(uint length, uint channels, uint dilation,
                                   __global const float *signal,
                                   __global const float *filter_weights,
                                   __global const float *gate_weights,
                                   __global float *output)
{
    const uint t = get_global_id(0);
    const uint oc = get_global_id(1);
    if (t >= length)
        return;

    float filter = 0.0f, gate = 0.0f;
    for (uint ic = 0; ic < channels; ic++) {
        const uint w = (oc * channels + ic) * TAPS;
        for (uint k = 0; k < TAPS; k++) {
            const uint back = (TAPS - 1 - k) * dilation;
            if (back > t)
                continue;
            const float s = signal[ic * length + t - back];
            filter += filter_weights[w + k] * s;
            gate += gate_weights[w + k] * s;
        }
    }
    output[oc * length + t] = tanh(filter) * sigmoid(gate);
}

//@ max_pool3x3_argmax | 256 256 8 | 32 4 1 | float*2097152 float*524288 uchar*524288
__kernel void max_pool3x3_argmax(__global const float *input, __global float *pooled,
                                 __global uchar *where)
{
    const size_t ow = get_global_size(0), oh = get_global_size(1);
    const size_t ox = get_global_id(0), oy = get_global_id(1), plane = get_global_id(2);
    const long w = (long)(ow * 2), h = (long)(oh * 2);
    __global const float *src = input + plane * (size_t)(w * h);

    float best = -INFINITY;
    uchar best_tap = 0;
    uchar tap = 0;
    for (long y = (long)oy * 2 - 1; y <= (long)oy * 2 + 1; y++) {
        for (long x = (long)ox * 2 - 1; x <= (long)ox * 2 + 1; x++, tap++) {
            if (x < 0 || x >= w || y < 0 || y >= h)
                continue;
            const float v = src[y * w + x];
            if (v > best) {
                best = v;
                best_tap = tap;
            }
        }
    }
    const size_t out = (plane * oh + oy) * ow + ox;
    pooled[out] = best;
    where[out] = best_tap;
}

//@ layer_norm_residual | 131072 | 128 | int=512 float=0.00001 float*524288 float*524288 float*512:0.1..0.2 float*512:1..2 float*524288 local*1024
__kernel void layer_norm_residual(int width, float epsilon, __global const float *x,
                                  __global const float *residual, __global const float *gamma,
                                  __global const float *beta, __global float *y,
                                  __local float2 *partial)
{
    const int lid = get_local_id(0);
    const int row = get_group_id(0);
    const int base = row * width;

    float2 sums = (float2)(0.0f);
    for (int i = lid; i < width; i += get_local_size(0)) {
        const float v = x[base + i] + residual[base + i];
        sums += (float2)(v, v * v);
    }
    partial[lid] = sums;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (lid < half_size)
            partial[lid] += partial[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const float2 moments = partial[0] / (float)width;
    const float inv_std = rsqrt(moments.y - moments.x * moments.x + epsilon);
    for (int i = lid; i < width; i += get_local_size(0)) {
        const float v = x[base + i] + residual[base + i];
        y[base + i] = (v - moments.x) * inv_std * gamma[i] + beta[i];
    }
}

//@ rms_norm_half_input | 131072 | 64 | uint=256 float=0.000001 ushort*524288:8192..15360 float*256:0.5..1.5 float*524288
__kernel void rms_norm_half_input(uint width, float epsilon, __global const half *restrict x,
                                  __global const float *restrict gain, __global float *restrict y)
{
    const uint row = get_group_id(0);
    const uint lid = get_local_id(0);
    const uint step = get_local_size(0) * 4;
    __global const half *in = x + row * width;

    float squares = 0.0f;
    for (uint i = lid * 4; i < width; i += step) {
        const float4 v = vload_half4(0, in + i);
        squares += dot(v, v);
    }
    squares = work_group_reduce_add(squares);

    const float scale = rsqrt(squares / width + epsilon);
    for (uint i = lid * 4; i < width; i += step) {
        const float4 v = vload_half4(0, in + i) * scale;
        vstore4(v * vload4(0, gain + i), 0, y + row * width + i);
    }
}

#define BN_PLANE 1024
#define BN_CHANNELS 48

//@ batch_norm_leaky_relu | 262144 | 256 | long=983040 float=0.1 float*983040 float*48 float*48:0.2..1 float*48:0.5..2 float*48:-1..1 float*983040
__kernel void batch_norm_leaky_relu(long count, float slope, __global const float *x,
                                    __constant float *mean, __constant float *variance,
                                    __constant float *gamma, __constant float *beta,
                                    __global float *y)
{
    const long stride = get_global_size(0);
    for (long i = get_global_id(0); i < count; i += stride) {
        const long channel = (i / BN_PLANE) % BN_CHANNELS;
        const float scale = gamma[channel] * rsqrt(variance[channel] + 1e-5f);
        const float shift = beta[channel] - mean[channel] * scale;
        float v = fma(x[i], scale, shift);
        if (v < 0.0f)
            v *= slope;
        y[i] = v;
    }
}

typedef struct {
    float peak;
    float sum;
} softmax_state;

static softmax_state softmax_merge(softmax_state a, softmax_state b)
{
    softmax_state r;
    r.peak = fmax(a.peak, b.peak);
    r.sum = a.sum * exp(a.peak - r.peak) + b.sum * exp(b.peak - r.peak);
    return r;
}

//@ softmax_online_rows | 32768 | 64 | int=1000 float=0.125 float*512000:-20..20 float*512000
__kernel void softmax_online_rows(int columns, float temperature, __global const float *logits,
                                  __global float *probabilities)
{
    __local softmax_state lanes[64];
    const int lid = get_local_id(0);
    const size_t row = get_group_id(0) * (size_t)columns;

    softmax_state s = { -1e30f, 0.0f };
    for (int i = lid; i < columns; i += 64) {
        const float v = logits[row + i] * temperature;
        if (v > s.peak) {
            s.sum *= exp(s.peak - v);
            s.peak = v;
        }
        s.sum += exp(v - s.peak);
    }
    lanes[lid] = s;
    for (int span = 32; span > 0; span /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < span)
            lanes[lid] = softmax_merge(lanes[lid], lanes[lid + span]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    s = lanes[0];
    for (int i = lid; i < columns; i += 64)
        probabilities[row + i] = exp(logits[row + i] * temperature - s.peak) / s.sum;
}

#define HEAD_DIM 32
#define HEAD_VECS (HEAD_DIM / 4)

//@ attention_causal_streaming | 256 16 | 32 1 | int=256 float=0.17678 float*131072:-1..1 float*131072:-1..1 float*131072 float*131072
__kernel void attention_causal_streaming(int tokens, float scale, __global const float4 *queries,
                                         __global const float4 *keys,
                                         __global const float4 *values, __global float4 *output)
{
    const int token = get_global_id(0);
    const int head = get_global_id(1);
    const int base = head * tokens;

    float4 q[HEAD_VECS], acc[HEAD_VECS];
    for (int d = 0; d < HEAD_VECS; d++) {
        q[d] = queries[(base + token) * HEAD_VECS + d] * scale;
        acc[d] = (float4)(0.0f);
    }

    float peak = -1e30f, sum = 0.0f;
    for (int k = 0; k <= token; k++) {
        float score = 0.0f;
        for (int d = 0; d < HEAD_VECS; d++)
            score += dot(q[d], keys[(base + k) * HEAD_VECS + d]);

        const float new_peak = fmax(peak, score);
        const float shrink = exp(peak - new_peak);
        const float weight = exp(score - new_peak);
        for (int d = 0; d < HEAD_VECS; d++)
            acc[d] = acc[d] * shrink + weight * values[(base + k) * HEAD_VECS + d];
        sum = sum * shrink + weight;
        peak = new_peak;
    }
    for (int d = 0; d < HEAD_VECS; d++)
        output[(base + token) * HEAD_VECS + d] = acc[d] / sum;
}

static float4 gelu_tanh(float4 x)
{
    const float4 inner = 0.79788456f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanh(inner));
}

//@ geglu_projection_split | 128 1024 | 64 4 | float*1048576:0.1..3 float*524288
__kernel void geglu_projection_split(__global const float *restrict projected,
                                     __global float *restrict hidden)
{
    /* a row holds the values and then the gates */
    const size_t vecs = get_global_size(0);
    const size_t col = get_global_id(0);
    const size_t row = get_global_id(1);
    const float4 value = vload4(row * vecs * 2 + col, projected);
    const float4 gate = vload4(row * vecs * 2 + vecs + col, projected);

    float4 h = value * gelu_tanh(gate);
    /* the last vector of each row is padding for the next layer's blocks */
    if (col == vecs - 1)
        h.s23 = (float2)(0.0f);
    vstore4(h, row * vecs + col, hidden);
}

typedef struct {
    float rate, beta1, beta2, decay;
} adam_options;

//@ adamw_clipped_step | 262144 | 128 | int=250000 int=17 float*4:0.01..0.9 float*250000:1..2 float*250000:-1..1 float*250000 float*250000 float*250000 float*250000 float*250000
__kernel void adamw_clipped_step(int count, int step, __constant adam_options *options,
                                 __global const float *restrict weight,
                                 __global const float *restrict gradient,
                                 __global const float *restrict m_in,
                                 __global const float *restrict v_in,
                                 __global float *restrict m_out, __global float *restrict v_out,
                                 __global float *restrict weight_out)
{
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const float b1 = options->beta1, b2 = options->beta2;
    const float correction1 = 1.0f - pown(b1, step);
    const float correction2 = 1.0f - pown(b2, step);

    const float g = clamp(gradient[i], -0.5f, 0.5f);
    const float m = mix(g, m_in[i], b1);
    const float v = mix(g * g, v_in[i], b2);
    m_out[i] = m;
    v_out[i] = v;

    const float update = (m / correction1) / (sqrt(v / correction2) + 1e-4f);
    const float shrunk = weight[i] * (1.0f - 0.01f * options->rate * options->decay);
    weight_out[i] = shrunk - 0.01f * options->rate * update;
}

//@ quantise_shared_exponent | 32768 | 128 | float*1048576:-8..8 char*1048576 char*32768
__kernel void quantise_shared_exponent(__global const float4 *weights, __global char4 *mantissas,
                                       __global char *exponents)
{
    const size_t block = get_global_id(0);
    float4 v[8];
    float4 peak = (float4)(0.0f);
    for (int i = 0; i < 8; i++) {
        v[i] = weights[block * 8 + i];
        peak = fmax(peak, fabs(v[i]));
    }
    const float2 half_peak = fmax(peak.lo, peak.hi);
    const float amax = fmax(half_peak.x, half_peak.y);
    if (amax == 0.0f) {
        for (int i = 0; i < 8; i++)
            mantissas[block * 8 + i] = (char4)(0);
        exponents[block] = 0;
        return;
    }

    /* a power of two, so that the scaling is exact */
    const int exponent = max(ilogb(amax), -100);
    const float scale = ldexp(1.0f, 6 - exponent);
    for (int i = 0; i < 8; i++)
        mantissas[block * 8 + i] = convert_char4_sat_rte(v[i] * scale);
    exponents[block] = (char)(exponent - 6);
}

#define QT 16

//@ int8_matmul_requantise | 256 256 | 16 16 | int=64 int=1374389535 int=9 char*65536 char*65536 int*256:-5000..5000 char*65536
__kernel void int8_matmul_requantise(int k_vecs, int multiplier, int shift,
                                     __global const char4 *a, __global const char4 *b,
                                     __global const int *bias, __global char *c)
{
    __local char4 tile_a[QT][QT];
    __local char4 tile_b[QT][QT + 1];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int col = get_global_id(0), row = get_global_id(1);
    const int b_row = get_group_id(0) * QT + ly;

    int acc = bias[col];
    for (int k0 = 0; k0 < k_vecs; k0 += QT) {
        tile_a[ly][lx] = a[row * k_vecs + k0 + lx];
        tile_b[ly][lx] = b[b_row * k_vecs + k0 + lx];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < QT; k++) {
            const int4 p = convert_int4(tile_a[ly][k]) * convert_int4(tile_b[lx][k]);
            acc += p.x + p.y + p.z + p.w;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int scaled = mul_hi(acc, multiplier);
    const int rounded = (scaled + (1 << (shift - 1))) >> shift;
    c[row * get_global_size(0) + col] = convert_char_sat(rounded);
}

//@ q4_block_matvec | 65536 | 32 | ushort*65536:8192..14336 ushort*65536:8192..12288 uchar*1048576 float*1024 float*2048
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void q4_block_matvec(__global const half *scales, __global const half *minima,
                     __global const uchar *nibbles, __global const float *x, __global float *y)
{
    __local float sums[32];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0);
    const uint block = row * 32 + lane;

    const uchar16 packed = vload16(block, nibbles);
    const float16 low = convert_float16(packed & (uchar16)(15));
    const float16 high = convert_float16(packed >> (uchar16)(4));
    const float16 x_low = vload16(lane * 2, x);
    const float16 x_high = vload16(lane * 2 + 1, x);

    const float16 products = low * x_low + high * x_high;
    const float16 inputs = x_low + x_high;
    const float8 p8 = products.lo + products.hi, i8 = inputs.lo + inputs.hi;
    const float4 p4 = p8.lo + p8.hi, i4 = i8.lo + i8.hi;
    sums[lane] = vload_half(block, scales) * dot(p4, (float4)(1.0f))
               + vload_half(block, minima) * dot(i4, (float4)(1.0f));

    for (uint n = 16; n > 0; n >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < n)
            sums[lane] += sums[lane + n];
    }
    if (lane == 0)
        y[row] = sums[0];
}

//@ embedding_bag_mean | 64 4096 | 64 1 | int*32768:-1..4096 int*4096:x8 int*4096:0..9 float*262144 float*262144
__kernel void embedding_bag_mean(__global const int *indices, __global const int *bag_start,
                                 __global const int *bag_length, __global const float *table,
                                 __global float *output)
{
    const size_t dim = get_global_id(0);
    const size_t width = get_global_size(0);
    const size_t bag = get_global_id(1);
    const int start = bag_start[bag];
    const int end = start + bag_length[bag];

    float sum = 0.0f;
    int used = 0;
    for (int i = start; i < end; i++) {
        const int token = indices[i];
        if (token < 0) /* padding */
            continue;
        sum += table[(size_t)token * width + dim];
        used++;
    }
    output[bag * width + dim] = used ? sum / used : 0.0f;
}

#define EXPERTS 16

//@ moe_top2_router | 131072 | 128 | float*2097152:-4..4 uchar*262144 float*262144 int*16
__kernel void moe_top2_router(__global const float *restrict logits,
                              __global uchar2 *restrict chosen, __global float2 *restrict gates,
                              volatile __global int *load)
{
    __local int counts[EXPERTS];
    const uint lid = get_local_id(0);
    const uint token = get_global_id(0);
    if (lid < EXPERTS)
        counts[lid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    float first = -INFINITY, second = -INFINITY;
    int first_id = 0, second_id = 0;
    for (int e = 0; e < EXPERTS; e++) {
        const float v = logits[token * EXPERTS + e];
        if (v > first) {
            second = first;
            second_id = first_id;
            first = v;
            first_id = e;
        } else if (v > second) {
            second = v;
            second_id = e;
        }
    }
    const float w = exp(second - first);
    chosen[token] = (uchar2)(first_id, second_id);
    gates[token] = (float2)(1.0f, w) / (1.0f + w);

    atomic_inc(&counts[first_id]);
    atomic_inc(&counts[second_id]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < EXPERTS)
        atomic_add(&load[lid], counts[lid]);
}
