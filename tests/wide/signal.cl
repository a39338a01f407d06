// Signal processing: FFT stages, FIR and IIR filters, wavelets, windows, correlation, demodulation.

float2 complex_mul(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

float2 unit_phasor(float half_turns)
{
    return (float2)(cospi(half_turns), sinpi(half_turns));
}

//@ fft_radix2_stockham_stage | 131072 | 128 | uint=131072 uint=256 float*524288:-1..1 float*524288
__kernel void fft_radix2_stockham_stage(const uint half_n, const uint p,
                                        __global const float2 *restrict in,
                                        __global float2 *restrict out)
{
    const uint i = get_global_id(0);
    if (i >= half_n)
        return;

    const uint k = i & (p - 1);
    const float2 even = in[i];
    const float2 odd = complex_mul(in[i + half_n], unit_phasor(-(float)k / (float)p));
    const uint j = ((i - k) << 1) + k;
    out[j] = even + odd;
    out[j + p] = even - odd;
}

void butterfly4(float2 v[4])
{
    const float2 a = v[0] + v[2], b = v[0] - v[2];
    const float2 c = v[1] + v[3];
    const float2 d = (float2)(v[1].y - v[3].y, v[3].x - v[1].x);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
}

// A stage of many transforms with split real and imaginary parts, one transform per row.
//@ fft_radix4_split_stage | 256 256 | 64 1 | int=1024 int=16 float*262144:-1..1 float*262144:-1..1 float*262144 float*262144
__kernel void fft_radix4_split_stage(const int n, const int p, __global const float *in_re,
                                     __global const float *in_im, __global float *out_re,
                                     __global float *out_im)
{
    const int i = get_global_id(0);
    const int base = (int)get_global_id(1) * n;
    const int quarter = n >> 2;
    if (i >= quarter)
        return;

    const int k = i & (p - 1);
    const float2 w1 = unit_phasor(-0.5f * (float)k / (float)p);
    const float2 w2 = complex_mul(w1, w1);
    const float2 w3 = complex_mul(w2, w1);
    float2 v[4];
    for (int r = 0; r < 4; ++r) {
        const int at = base + i + r * quarter;
        v[r] = (float2)(in_re[at], in_im[at]);
    }
    v[1] = complex_mul(v[1], w1);
    v[2] = complex_mul(v[2], w2);
    v[3] = complex_mul(v[3], w3);
    butterfly4(v);

    const int j = base + ((i - k) << 2) + k;
    for (int r = 0; r < 4; ++r) {
        out_re[j + r * p] = v[r].x;
        out_im[j + r * p] = v[r].y;
    }
}

#define FFT_N 256
#define FFT_ITEMS 64

// Whole transforms of 256 points, one per work-group; the output is the power spectrum.
//@ fft_256_power_spectrum | 65536 | 64 | float*524288:-1..1 float*262144
__kernel __attribute__((reqd_work_group_size(FFT_ITEMS, 1, 1)))
void fft_256_power_spectrum(__global const float2 *in, __global float *power)
{
    __local float2 buf[FFT_N];
    const uint lid = get_local_id(0);
    const size_t base = get_group_id(0) * FFT_N;

    float2 v[4];
    for (uint r = 0; r < 4; ++r)
        v[r] = in[base + lid + r * FFT_ITEMS];

    for (uint p = 1; p < FFT_N; p <<= 2) {
        const uint k = lid & (p - 1);
        if (p > 1) {
            const float turn = -0.5f * (float)k / (float)p;
            for (uint r = 0; r < 4; ++r)
                v[r] = complex_mul(buf[lid + r * FFT_ITEMS], unit_phasor(turn * (float)r));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        butterfly4(v);
        const uint j = ((lid - k) << 2) + k;
        for (uint r = 0; r < 4; ++r)
            buf[j + r * p] = v[r];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint bin = lid; bin < FFT_N; bin += FFT_ITEMS)
        power[base + bin] = dot(buf[bin], buf[bin]) * (1.0f / FFT_N);
}

#define FIR_ITEMS 256
#define FIR_MAX_TAPS 64

//@ fir_tiled | 131072 | 256 | int=131000 int=61 float*64 float*131072 float*131072
__kernel void fir_tiled(const int n, const int taps, __constant float *coeff,
                        __global const float *x, __global float *y)
{
    __local float tile[FIR_ITEMS + FIR_MAX_TAPS];
    const int lid = get_local_id(0);
    const int gid = get_global_id(0);
    const int start = gid - lid - (taps - 1);

    for (int t = lid; t < FIR_ITEMS + taps - 1; t += FIR_ITEMS) {
        const int at = start + t;
        tile[t] = (at >= 0 && at < n) ? x[at] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (gid >= n)
        return;

    float acc = 0.0f;
    __local const float *newest = tile + lid + taps - 1;
    for (int k = 0; k < taps; ++k)
        acc = fma(coeff[k], newest[-k], acc);
    y[gid] = acc;
}

// Q15 samples filtered and decimated, both by vectors of eight taps.
//@ fir_decimate_q15 | 65536 | 128 | uint=65000 ushort=4 ushort=6 short*48:-1200..1200 short*262208 short*65536
__kernel void fir_decimate_q15(const uint outputs, const ushort factor, const ushort octets,
                               __global const short *taps, __global const short *x,
                               __global short *y)
{
    const uint out = get_global_id(0);
    if (out >= outputs)
        return;

    __global const short *window = x + out * factor;
    int8 acc = (int8)(0);
    for (ushort o = 0; o < octets; ++o)
        acc += convert_int8(vload8(o, taps)) * convert_int8(vload8(o, window));

    const int4 quad = acc.lo + acc.hi;
    const int2 pair = quad.lo + quad.hi;
    y[out] = convert_short_sat((pair.x + pair.y + (1 << 14)) >> 15);
}

#define SECTIONS 4

__constant float biquads[SECTIONS][5] = {
    {0.28f, 0.42f, 0.28f, -0.52f, 0.31f},
    {0.35f, 0.10f, 0.22f, -0.71f, 0.24f},
    {0.50f, 0.33f, 0.08f, -0.36f, 0.17f},
    {0.61f, 0.18f, 0.12f, -0.44f, 0.39f},
};

// Cascade of second-order sections, transposed direct form II, one channel per work-item.
//@ biquad_cascade_channels | 4096 | 64 | int=192 float*786432 float*786432
__kernel void biquad_cascade_channels(const int samples, __global const float *x,
                                      __global float *y)
{
    const int channel = get_global_id(0);
    const int channels = get_global_size(0);
    float s1[SECTIONS], s2[SECTIONS];
    for (int s = 0; s < SECTIONS; ++s)
        s1[s] = s2[s] = 0.0f;

    for (int n = 0, at = channel; n < samples; ++n, at += channels) {
        float v = x[at];
        for (int s = 0; s < SECTIONS; ++s) {
            __constant const float *c = biquads[s];
            const float out = fma(c[0], v, s1[s]);
            s1[s] = c[1] * v - c[3] * out + s2[s];
            s2[s] = c[2] * v - c[4] * out;
            v = out;
        }
        y[at] = v;
    }
}

#define POLE_ITEMS 128

// y[n] = a[n] y[n-1] + (1 - a[n]) x[n] within blocks of 512, by a scan over affine maps.
//@ adaptive_one_pole_scan_f64 | 131072 | 128 | double=0.25 double*524288:0.5..1 double*524288 double*524288
__kernel void adaptive_one_pole_scan_f64(const double initial, __global const double *pole,
                                         __global const double *x, __global double *y)
{
    __local double2 maps[POLE_ITEMS];
    const uint lid = get_local_id(0);
    const size_t quad = get_global_id(0);
    const double4 a = vload4(quad, pole);
    const double4 b = (1.0 - a) * vload4(quad, x);

    double2 map = (double2)(a.x, b.x);
    map = (double2)(a.y * map.x, a.y * map.y + b.y);
    map = (double2)(a.z * map.x, a.z * map.y + b.z);
    map = (double2)(a.w * map.x, a.w * map.y + b.w);
    maps[lid] = map;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint step = 1; step < POLE_ITEMS; step *= 2) {
        double2 before = (double2)(1.0, 0.0);
        if (lid >= step)
            before = maps[lid - step];
        barrier(CLK_LOCAL_MEM_FENCE);
        map = (double2)(map.x * before.x, map.x * before.y + map.y);
        maps[lid] = map;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    double state = initial;
    if (lid > 0)
        state = maps[lid - 1].x * initial + maps[lid - 1].y;
    double4 out;
    out.x = a.x * state + b.x;
    out.y = a.y * out.x + b.y;
    out.z = a.z * out.y + b.z;
    out.w = a.w * out.z + b.w;
    vstore4(out, quad, y);
}

#define ROW_PAIRS 128

// Reversible 5/3 lifting of rows of 256 samples with mirrored ends: low half, then high half.
//@ wavelet_53_lifting_rows | 128 2048 | 128 1 | short*524288:-8000..8000 short*524288
__kernel void wavelet_53_lifting_rows(__global const short *in, __global short *out)
{
    __local short even[ROW_PAIRS + 1];
    __local short detail[ROW_PAIRS + 1];
    const int i = get_local_id(0);
    const int row = (int)get_global_id(1) * 2 * ROW_PAIRS;

    const short2 pair = vload2(i, in + row);
    even[i] = pair.x;
    if (i == ROW_PAIRS - 1)
        even[ROW_PAIRS] = pair.x;
    barrier(CLK_LOCAL_MEM_FENCE);

    const short high = pair.y - (short)((even[i] + even[i + 1]) >> 1);
    detail[i + 1] = high;
    if (i == 0)
        detail[0] = high;
    barrier(CLK_LOCAL_MEM_FENCE);

    const short low = pair.x + (short)((detail[i] + detail[i + 1] + 2) >> 2);
    out[row + i] = low;
    out[row + ROW_PAIRS + i] = high;
}

#define HAAR_N 256

//@ haar_multilevel_local | 131072 | 128 | int=6 float*262144 float*262144
__kernel void haar_multilevel_local(const int levels, __global const float *in,
                                    __global float *out)
{
    __local float approx[HAAR_N];
    const int lid = get_local_id(0);
    const int base = (int)get_group_id(0) * HAAR_N;
    approx[lid] = in[base + lid];
    approx[lid + HAAR_N / 2] = in[base + lid + HAAR_N / 2];
    barrier(CLK_LOCAL_MEM_FENCE);

    int length = HAAR_N;
    for (int level = 0; level < levels && length > 1; ++level) {
        length >>= 1;
        float a = 0.0f, b = 0.0f;
        if (lid < length) {
            a = approx[2 * lid];
            b = approx[2 * lid + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < length) {
            approx[lid] = (a + b) * M_SQRT1_2_F;
            out[base + length + lid] = (a - b) * M_SQRT1_2_F;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = lid; i < length; i += HAAR_N / 2)
        out[base + i] = approx[i];
}

__constant double d4_low[4] = {0.48296291314453416, 0.83651630373780794,
                               0.22414386804201339, -0.12940952255126037};

// Periodic four-tap analysis; details are shrunk towards zero by a soft threshold.
//@ daubechies4_shrink_f64 | 262144 | 256 | long=262144 double=0.15 double*524288 double*262144 double*262144
__kernel void daubechies4_shrink_f64(const long pairs, const double threshold,
                                     __global const double *x, __global double *approx,
                                     __global double *detail)
{
    const long i = get_global_id(0);
    if (i >= pairs)
        return;

    const long n = 2 * pairs;
    double lo = 0.0, hi = 0.0;
    for (int t = 0; t < 4; ++t) {
        long at = 2 * i + t;
        if (at >= n)
            at -= n;
        const double v = x[at];
        lo = fma(d4_low[t], v, lo);
        hi = fma((t & 1) ? -d4_low[3 - t] : d4_low[3 - t], v, hi);
    }
    approx[i] = lo;
    detail[i] = copysign(fmax(fabs(hi) - threshold, 0.0), hi);
}

float window_weight(int kind, float t)
{
    switch (kind) {
    case 0:
        return 0.5f - 0.5f * cospi(2.0f * t);
    case 1:
        return 0.54f - 0.46f * cospi(2.0f * t);
    case 2:
        return 0.42f - 0.5f * cospi(2.0f * t) + 0.08f * cospi(4.0f * t);
    default: {
        const float z = (t - 0.5f) * 5.0f;
        return exp(-0.5f * z * z);
    }
    }
}

// Overlapping frames of half-precision audio, windowed; neighbouring frames use different windows.
//@ windowed_overlapping_frames | 512 512 | 64 1 | int=500 int=160 int=82400 ushort*82400:0..15360 float*262144
__kernel void windowed_overlapping_frames(const int frame_length, const int hop, const int total,
                                          __global const half *audio, __global float *frames)
{
    const int i = get_global_id(0);
    const int frame = get_global_id(1);
    const int padded = get_global_size(0);
    const int at = frame * hop + i;
    if (i >= frame_length || at >= total) {
        frames[frame * padded + i] = 0.0f;
        return;
    }

    const float t = ((float)i + 0.5f) / (float)frame_length;
    const float gain = window_weight(frame & 3, t);
    frames[frame * padded + i] = gain * vload_half(at, audio);
}

#define XCORR_ITEMS 128

// Integer correlation of a long signal with a pattern kept in local memory, best lag per group.
//@ cross_correlate_pattern | 32768 | 128 | int=120 int=32700 short*120 short*32896 long*32768 int*256
__kernel void cross_correlate_pattern(const int pattern_length, const int lags,
                                      __global const short *pattern,
                                      __global const short *signal, __global long *scores,
                                      __global int *best_lag)
{
    __local short needle[XCORR_ITEMS];
    __local long best_score[XCORR_ITEMS];
    __local int best_at[XCORR_ITEMS];
    const int lid = get_local_id(0);
    const int lag = get_global_id(0);
    if (lid < pattern_length)
        needle[lid] = pattern[lid];
    barrier(CLK_LOCAL_MEM_FENCE);

    long score = LONG_MIN;
    if (lag < lags) {
        score = 0;
        for (int k = 0; k < pattern_length; ++k)
            score += (int)needle[k] * (int)signal[lag + k];
        scores[lag] = score;
    }
    best_score[lid] = score;
    best_at[lid] = lag;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int width = XCORR_ITEMS / 2; width > 0; width >>= 1) {
        if (lid < width && best_score[lid + width] > best_score[lid]) {
            best_score[lid] = best_score[lid + width];
            best_at[lid] = best_at[lid + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        best_lag[get_group_id(0)] = best_at[0];
}

#define AC_FRAME 256
#define AC_LAGS 64

//@ autocorrelation_normalised | 16384 | 64 | float=0.97 float*65536 float*16384
__kernel void autocorrelation_normalised(const float emphasis, __global const float *frames,
                                         __global float *coefficients)
{
    __local float frame[AC_FRAME];
    __local float energy[1];
    const uint lag = get_local_id(0);
    const uint group = get_group_id(0);
    __global const float *source = frames + group * AC_FRAME;

    for (uint i = lag; i < AC_FRAME; i += AC_LAGS) {
        const float previous = i > 0 ? source[i - 1] : 0.0f;
        frame[i] = source[i] + emphasis * previous;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (uint i = lag; i < AC_FRAME; ++i)
        sum = mad(frame[i], frame[i - lag], sum);
    if (lag == 0)
        energy[0] = sum + 1e-6f;
    barrier(CLK_LOCAL_MEM_FENCE);
    coefficients[group * AC_LAGS + lag] = sum / energy[0];
}

__constant float dtmf_hertz[8] = {697.0f, 770.0f, 852.0f, 941.0f,
                                  1209.0f, 1336.0f, 1477.0f, 1633.0f};

//@ goertzel_dtmf_bank | 2048 8 | 64 1 | uint=205 float=8000 float*419840:-1..1 float*16384
__kernel void goertzel_dtmf_bank(const uint length, const float rate,
                                 __global const float *samples, __global float *power)
{
    const size_t channel = get_global_id(0);
    const size_t channels = get_global_size(0);
    const uint tone = get_global_id(1);
    const float coeff = 2.0f * cos(2.0f * M_PI_F * dtmf_hertz[tone] / rate);

    float s1 = 0.0f, s2 = 0.0f;
    for (uint n = 0; n < length; ++n) {
        const float s0 = fma(coeff, s1, samples[n * channels + channel] - s2);
        s2 = s1;
        s1 = s0;
    }
    power[tone * channels + channel] = 1.0f + s1 * s1 + s2 * s2 - coeff * s1 * s2;
}

__constant short cordic_angles[14] = {8192, 4836, 2555, 1297, 651, 326, 163,
                                      81, 41, 20, 10, 5, 3, 1};

// FM demodulation of 8-bit I/Q: phase steps in 1/65536 turns by a CORDIC in vectoring mode.
//@ fm_discriminator_cordic | 262144 | 256 | uint=262144 char*524288 short*262144
__kernel void fm_discriminator_cordic(const uint n, __global const char2 *iq,
                                      __global short *phase_step)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;

    const int2 now = convert_int2(iq[i]);
    const int2 before = i > 0 ? convert_int2(iq[i - 1]) : (int2)(1, 0);
    int re = (now.x * before.x + now.y * before.y) * 256;
    int im = (now.y * before.x - now.x * before.y) * 256;
    short angle = 0;
    if (re < 0) {
        re = -re;
        im = -im;
        angle = SHRT_MIN;
    }
    for (int k = 0; k < 14; ++k) {
        if (im == 0)
            break;
        const int dre = im >> k, dim = re >> k;
        if (im > 0) {
            re += dre;
            im -= dim;
            angle += cordic_angles[k];
        } else {
            re -= dre;
            im += dim;
            angle -= cordic_angles[k];
        }
    }
    phase_step[i] = angle;
}

#define CIC_ORDER 3

// Cascaded integrator-comb decimator; the integrators wrap by design.
//@ cic_decimate_channels | 8192 | 64 | int=160 int=8 int*1310720 int*163840
__kernel void cic_decimate_channels(const int samples, const int rate, __global const int *in,
                                    __global int *out)
{
    const int channel = get_global_id(0);
    const int channels = get_global_size(0);
    uint integrator[CIC_ORDER] = {0, 0, 0};
    uint delayed[CIC_ORDER] = {0, 0, 0};
    int countdown = rate;
    int written = 0;

    for (int n = 0; n < samples; ++n) {
        uint v = (uint)(in[n * channels + channel] >> 12);
        for (int s = 0; s < CIC_ORDER; ++s) {
            integrator[s] += v;
            v = integrator[s];
        }
        if (--countdown > 0)
            continue;
        countdown = rate;
        for (int s = 0; s < CIC_ORDER; ++s) {
            const uint last = delayed[s];
            delayed[s] = v;
            v -= last;
        }
        out[written * channels + channel] = (int)v >> 9;
        ++written;
    }
}
