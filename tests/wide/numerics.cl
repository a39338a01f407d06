// Numerics: quadrature, roots, ODE steps, special functions, random numbers, scans, reductions.

__constant double legendre_nodes[4] = {
    0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363,
};
__constant double legendre_weights[4] = {
    0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763,
};

static double damped_wave(double x, double rate, double frequency)
{
    return exp(-rate * x) * (1.5 + sin(frequency * x));
}

//@ gauss_legendre_composite | 8192 | 64 | int=12 double=3.0 double*8192:0.1..2 double*8192:1..6 double*8192
__kernel void gauss_legendre_composite(int panels, double upper, __global const double *rates,
                                       __global const double *frequencies,
                                       __global double *integrals)
{
    const size_t i = get_global_id(0);
    const double rate = rates[i], frequency = frequencies[i];
    const double half_width = 0.5 * upper / panels;

    double total = 0.0;
    for (int panel = 0; panel < panels; panel++) {
        const double middle = (2 * panel + 1) * half_width;
        double sum = 0.0;
        for (int n = 0; n < 4; n++) {
            const double offset = half_width * legendre_nodes[n];
            sum += legendre_weights[n] * (damped_wave(middle - offset, rate, frequency)
                                          + damped_wave(middle + offset, rate, frequency));
        }
        total += sum * half_width;
    }
    integrals[i] = total;
}

typedef struct {
    float left, width;
    float f_left, f_middle, f_right;
    int depth;
} segment;

static float resonance(float x, float centre, float sharpness)
{
    const float d = (x - centre) * sharpness;
    return 1.0f / (1.0f + d * d);
}

//@ simpson_adaptive_stack | 16384 | 64 | int=8 float=0.00002 float*16384 float*16384:1..15 float*16384
__kernel void simpson_adaptive_stack(int max_depth, float tolerance, __global const float *centres,
                                     __global const float *sharpnesses,
                                     __global float *integrals)
{
    const int i = get_global_id(0);
    const float c = centres[i], s = sharpnesses[i];
    segment stack[12];
    segment now = { 0.0f, 1.0f, resonance(0.0f, c, s), resonance(0.5f, c, s),
                    resonance(1.0f, c, s), 0 };
    int waiting = 0;
    float total = 0.0f;

    for (;;) {
        const float h = now.width * 0.25f;
        const float f1 = resonance(now.left + h, c, s);
        const float f3 = resonance(now.left + 3.0f * h, c, s);
        const float coarse = now.width / 6.0f * (now.f_left + 4.0f * now.f_middle + now.f_right);
        const float fine = now.width / 12.0f * (now.f_left + 4.0f * f1 + 2.0f * now.f_middle
                                                + 4.0f * f3 + now.f_right);
        const float error = (fine - coarse) / 15.0f;
        if (fabs(error) <= tolerance * now.width || now.depth >= max_depth) {
            total += fine + error;
            if (waiting == 0)
                break;
            now = stack[--waiting];
            continue;
        }
        const segment right = { now.left + 2.0f * h, 2.0f * h, now.f_middle, f3, now.f_right,
                                now.depth + 1 };
        stack[waiting++] = right;
        now.width = 2.0f * h;
        now.f_right = now.f_middle;
        now.f_middle = f1;
        now.depth++;
    }
    integrals[i] = total;
}

//@ lambert_w_halley | 131072 | 128 | int=12 float*131072:-6..12 float*131072 uchar*131072
__kernel void lambert_w_halley(int max_iterations, __global const float *log_arguments,
                               __global float *w_out, __global uchar *converged)
{
    const uint i = get_global_id(0);
    const float x = exp(log_arguments[i]);
    float w = x < 1.0f ? x / (1.0f + x) : 0.5f + 0.7f * log(x);

    int iteration = 0;
    for (; iteration < max_iterations; iteration++) {
        const float e = exp(w);
        const float f = w * e - x;
        const float slope = e * (w + 1.0f);
        const float step = f / (slope - 0.5f * f * (w + 2.0f) / (w + 1.0f));
        w -= step;
        if (fabs(step) < 1e-5f * w)
            break;
    }
    w_out[i] = w;
    converged[i] = fabs(w * exp(w) - x) < 0.01f * x;
}

typedef struct {
    float birth, predation, growth, death;
} ecology;

static float2 lotka_volterra(float2 state, ecology e)
{
    return (float2)(state.x * (e.birth - e.predation * state.y),
                    state.y * (e.growth * state.x - e.death));
}

//@ rk4_predator_prey | 32768 | 128 | int=48 float=0.05 float*131072:0.5..1.5 float*65536:0.5..2 float*65536 float*32768
__kernel void rk4_predator_prey(int steps, float h, __global const ecology *parameters,
                                __global const float2 *initial, __global float2 *final_state,
                                __global float *peak_predators)
{
    const size_t i = get_global_id(0);
    const ecology e = parameters[i];
    float2 s = initial[i];
    float peak = s.y;
    for (int step = 0; step < steps; step++) {
        const float2 k1 = lotka_volterra(s, e);
        const float2 k2 = lotka_volterra(s + 0.5f * h * k1, e);
        const float2 k3 = lotka_volterra(s + 0.5f * h * k2, e);
        const float2 k4 = lotka_volterra(s + h * k3, e);
        s += (h / 6.0f) * (k1 + 2.0f * (k2 + k3) + k4);
        s = fmax(s, 1e-3f);
        peak = fmax(peak, s.y);
    }
    final_state[i] = s;
    peak_predators[i] = peak;
}

static float logistic_slope(float y, float rate)
{
    return rate * y * (1.0f - y);
}

//@ bogacki_shampine_logistic | 32768 | 128 | float=2 float=0.00001 float*32768:0.5..4 float*32768:0.02..0.3 float*32768
__kernel void bogacki_shampine_logistic(float end, float tolerance, __global const float *rates,
                                        __global const float *starts, __global float *ends)
{
    const int i = get_global_id(0);
    const float rate = rates[i];
    float y = starts[i], t = 0.0f, h = 0.1f;
    float k1 = logistic_slope(y, rate);

    for (int attempt = 0; attempt < 120 && t < end; attempt++) {
        h = fmin(h, end - t);
        const float k2 = logistic_slope(y + 0.5f * h * k1, rate);
        const float k3 = logistic_slope(y + 0.75f * h * k2, rate);
        const float next = y + h * (2.0f * k1 + 3.0f * k2 + 4.0f * k3) / 9.0f;
        const float k4 = logistic_slope(next, rate);
        const float error = fabs(h * (-5.0f * k1 + 6.0f * k2 + 8.0f * k3 - 9.0f * k4) / 72.0f);
        if (error <= tolerance) {
            t += h;
            y = next;
            k1 = k4;
        }
        const float grow = 0.9f * cbrt(tolerance / fmax(error, 1e-9f));
        h *= clamp(grow, 0.3f, 3.0f);
    }
    ends[i] = y;
}

//@ incomplete_gamma_pair | 65536 | 128 | float*65536:0.5..8 float*65536:0.1..15 float*131072
__kernel void incomplete_gamma_pair(__global const float *shapes, __global const float *limits,
                                    __global float2 *p_and_q)
{
    const uint i = get_global_id(0);
    const float a = shapes[i], x = limits[i];
    const float front = exp(a * log(x) - x - lgamma(a));

    if (x < a + 1.0f) {
        float term = 1.0f / a, sum = term;
        for (int n = 1; n < 60; n++) {
            term *= x / (a + n);
            sum += term;
            if (term < 1e-7f * sum)
                break;
        }
        const float p = front * sum;
        p_and_q[i] = (float2)(p, 1.0f - p);
        return;
    }

    /* Lentz's way through the continued fraction */
    float b = x + 1.0f - a;
    float c = 1e20f;
    float d = 1.0f / b;
    float h = d;
    for (int n = 1; n < 60; n++) {
        const float numerator = -n * (n - a);
        b += 2.0f;
        d = 1.0f / (numerator * d + b);
        c = b + numerator / c;
        const float ratio = c * d;
        h *= ratio;
        if (fabs(ratio - 1.0f) < 1e-6f)
            break;
    }
    const float q = front * h;
    p_and_q[i] = (float2)(1.0f - q, q);
}

//@ chebyshev_clenshaw_log_fit | 65536 8 | 128 1 | int=20 float=-2 float=3 float*160:-1..1 float*65536:-2.2..3.2 float*524288
__kernel void chebyshev_clenshaw_log_fit(int terms, float low, float high,
                                         __constant float *coefficients,
                                         __global const float *x, __global float *values)
{
    const uint point = get_global_id(0);
    const uint fit = get_global_id(1);
    __constant float *c = coefficients + fit * terms;
    const float clamped = clamp(x[point], low, high);
    const float t = (2.0f * clamped - low - high) / (high - low);

    float b1 = 0.0f, b2 = 0.0f;
    for (int k = terms - 1; k > 0; --k) {
        const float b = c[k] + 2.0f * t * b1 - b2;
        b2 = b1;
        b1 = b;
    }
    const float logarithm = 0.5f * c[0] + t * b1 - b2;
    /* the fits are of logarithms, a tenth of them */
    values[fit * get_global_size(0) + point] = exp(0.1f * logarithm);
}

//@ exp2_estrin_vec4 | 131072 | 256 | uint=524288 float*524288:-10..10 float*524288
__kernel void exp2_estrin_vec4(uint count, __global const float4 *x, __global float4 *y)
{
    const uint i = get_global_id(0);
    if (i * 4 >= count)
        return;
    const float4 v = clamp(x[i], -126.0f, 126.0f);
    const int4 whole = convert_int4_rte(v);
    const float4 f = v - convert_float4(whole);

    const float4 f2 = f * f;
    const float4 f4 = f2 * f2;
    const float4 low = fma((float4)(0.693147182f), f, 1.0f);
    const float4 middle = fma((float4)(0.0555041087f), f, 0.240226507f);
    const float4 high = fma((float4)(0.00133335581f), f, 0.00961812911f);
    const float4 top = fma((float4)(0.0000152527338f), f, 0.000154035304f);
    const float4 p = fma(fma(top, f2, high), f4, fma(middle, f2, low));
    y[i] = as_float4(as_int4(p) + (whole << (int4)(23)));
}

static uint pcg_next(__private ulong *state, ulong stream)
{
    const ulong old = *state;
    *state = old * 6364136223846793005UL + (stream | 1);
    const uint shifted = (uint)(((old >> 18) ^ old) >> 27);
    const uint by = (uint)(old >> 59);
    return rotate(shifted, 32u - by);
}

//@ pcg_dice_without_bias | 32768 | 128 | uint=50 ulong*32768 uint*32768:2..3000000000 uint*32768 ushort*32768
__kernel void pcg_dice_without_bias(uint draws, __global const ulong *seeds,
                                    __global const uint *ranges, __global uint *checksums,
                                    __global ushort *rejections)
{
    const size_t i = get_global_id(0);
    ulong state = seeds[i];
    const uint range = ranges[i];
    uint checksum = 0;
    ushort rejected = 0;

    for (uint draw = 0; draw < draws; draw++) {
        ulong product = (ulong)pcg_next(&state, i) * range;
        if ((uint)product < range) {
            const uint threshold = (0u - range) % range;
            for (int again = 0; again < 20 && (uint)product < threshold; again++) {
                product = (ulong)pcg_next(&state, i) * range;
                rejected++;
            }
        }
        checksum = rotate(checksum, 5u) ^ (uint)(product >> 32);
    }
    checksums[i] = checksum;
    rejections[i] = rejected;
}

typedef struct {
    float low, high;
} interval;

static interval interval_add(interval a, interval b)
{
    const interval r = { nextafter(a.low + b.low, -INFINITY),
                         nextafter(a.high + b.high, INFINITY) };
    return r;
}

static interval interval_multiply(interval a, interval b)
{
    const float4 p = (float4)(a.low, a.low, a.high, a.high)
                   * (float4)(b.low, b.high, b.low, b.high);
    const float2 low = fmin(p.lo, p.hi), high = fmax(p.lo, p.hi);
    const interval r = { nextafter(fmin(low.x, low.y), -INFINITY),
                         nextafter(fmax(high.x, high.y), INFINITY) };
    return r;
}

//@ interval_horner_bounds | 65536 | 128 | int=6 float*14:0.5..1 float*65536:0.1..1 float*65536:0..0.05 float*131072
__kernel void interval_horner_bounds(int degree, __constant interval *coefficients,
                                     __global const float *centres,
                                     __global const float *radii,
                                     __global interval *bounds)
{
    const int i = get_global_id(0);
    const float c = centres[i], r = radii[i];
    const interval x = { c - r, c + r };

    interval sum = coefficients[degree];
    for (int k = degree - 1; k >= 0; k--) {
        interval term = coefficients[k];
        /* the bounds may come in either order */
        if (term.low > term.high) {
            const float swap = term.low;
            term.low = term.high;
            term.high = swap;
        }
        sum = interval_add(interval_multiply(sum, x), term);
    }
    sum.low += 1.0f;
    sum.high += 1.0f;
    bounds[i] = sum;
}

#define SCAN_SIZE 512
#define PADDED(i) ((i) + ((i) >> 5))

//@ blelloch_exclusive_scan | 262144 | 256 | uint*524288 uint*524288 uint*1024
__kernel void blelloch_exclusive_scan(__global const uint *input, __global uint *scanned,
                                      __global uint *block_sums)
{
    __local uint tree[PADDED(SCAN_SIZE)];
    const uint lid = get_local_id(0);
    const uint base = get_group_id(0) * SCAN_SIZE;
    tree[PADDED(lid)] = input[base + lid];
    tree[PADDED(lid + SCAN_SIZE / 2)] = input[base + lid + SCAN_SIZE / 2];

    uint apart = 1;
    for (uint active = SCAN_SIZE / 2; active > 0; active >>= 1, apart <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < active) {
            const uint left = apart * (2 * lid + 1) - 1;
            tree[PADDED(left + apart)] += tree[PADDED(left)];
        }
    }
    if (lid == 0) {
        block_sums[get_group_id(0)] = tree[PADDED(SCAN_SIZE - 1)];
        tree[PADDED(SCAN_SIZE - 1)] = 0;
    }
    for (uint active = 1; active < SCAN_SIZE; active <<= 1) {
        apart >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < active) {
            const uint left = apart * (2 * lid + 1) - 1;
            const uint carried = tree[PADDED(left)];
            tree[PADDED(left)] = tree[PADDED(left + apart)];
            tree[PADDED(left + apart)] += carried;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    scanned[base + lid] = tree[PADDED(lid)];
    scanned[base + lid + SCAN_SIZE / 2] = tree[PADDED(lid + SCAN_SIZE / 2)];
}

static float2 two_sum(float a, float b)
{
    const float sum = a + b;
    const float b_part = sum - a;
    return (float2)(sum, (a - (sum - b_part)) + (b - b_part));
}

//@ compensated_sum_grid_stride | 16384 | 128 | ulong=1048576 float*1048576 float*256
__kernel void compensated_sum_grid_stride(ulong count, __global const float *values,
                                          __global float2 *group_sums)
{
    __local float2 sums[128];
    const size_t lid = get_local_id(0);
    float2 total = (float2)(0.0f);
    for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
        const float2 s = two_sum(total.x, values[i]);
        total = (float2)(s.x, total.y + s.y);
    }
    sums[lid] = total;

    for (size_t span = get_local_size(0) / 2; span != 0; span /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < span) {
            const float2 other = sums[lid + span];
            const float2 s = two_sum(sums[lid].x, other.x);
            sums[lid] = (float2)(s.x, s.y + sums[lid].y + other.y);
        }
    }
    /* the sum, and one with what was lost added back */
    if (lid == 0)
        group_sums[get_group_id(0)] = (float2)(sums[0].x, sums[0].x + sums[0].y);
}

//@ segmented_scan_head_flags | 262144 | 256 | uint*262144:0..1000 uchar*262144:0..20 uint*262144 uint*1024
__kernel void segmented_scan_head_flags(__global const uint *values,
                                        __global const uchar *heads, __global uint *sums,
                                        __global uint *open_tail)
{
    __local uint sum[2][256];
    __local uchar closed[2][256];
    const int lid = get_local_id(0), gid = get_global_id(0);
    uint v = values[gid];
    uchar head = heads[gid] == 0;
    int side = 0;

    for (int reach = 1; reach < 256; reach <<= 1) {
        sum[side][lid] = v;
        closed[side][lid] = head;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid >= reach && !head) {
            v += sum[side][lid - reach];
            head = closed[side][lid - reach];
        }
        side ^= 1;
    }
    sums[gid] = v;
    if (lid == 255)
        open_tail[get_group_id(0)] = head ? v : v | 0x80000000u;
}

__constant uchar sobol_degree[4] = { 0, 1, 2, 3 };
__constant uchar sobol_polynomial[4] = { 0, 0, 1, 1 };
__constant uchar sobol_start[4][3] = { { 1, 1, 1 }, { 1, 0, 0 }, { 1, 3, 0 }, { 1, 3, 1 } };

//@ sobol_points_by_dimension | 131072 4 | 256 1 | uint=1000 float*524288
__kernel void sobol_points_by_dimension(uint skip, __global float *points)
{
    __local uint direction[32];
    const uint dimension = get_global_id(1);
    if (get_local_id(0) == 0) {
        const int degree = sobol_degree[dimension];
        const uint polynomial = sobol_polynomial[dimension];
        for (int i = 0; i < 32; i++) {
            uint v;
            if (degree == 0) {
                v = 1u << (31 - i);
            } else if (i < degree) {
                v = (uint)sobol_start[dimension][i] << (31 - i);
            } else {
                v = direction[i - degree] ^ (direction[i - degree] >> degree);
                for (int k = 1; k < degree; k++)
                    if ((polynomial >> (degree - 1 - k)) & 1)
                        v ^= direction[i - k];
            }
            direction[i] = v;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint index = get_global_id(0) + skip;
    uint gray = index ^ (index >> 1);
    uint x = 0;
    while (gray != 0) {
        const uint bit = 31 - clz(gray);
        x ^= direction[bit];
        gray ^= 1u << bit;
    }
    points[get_global_id(0) * 4 + dimension] = (x >> 8) * 0x1p-24f;
}

__constant int cordic_angles[24] = {
    843314857, 497837829, 263043837, 133525159, 67021687, 33543516, 16775851, 8388437,
    4194283, 2097149, 1048576, 524288, 262144, 131072, 65536, 32768,
    16384, 8192, 4096, 2048, 1024, 512, 256, 128,
};

//@ cordic_sine_cosine_q30 | 262144 | 256 | int*262144:-1686629713..1686629713 int*262144 int*262144
__kernel void cordic_sine_cosine_q30(__global const int *angles, __global int *sines,
                                     __global int *cosines)
{
    const uint id = get_global_id(0);
    int remaining = angles[id];
    int x = 652032874; /* the product of the cosines of all steps */
    int y = 0;

    for (int i = 0; i < 24; i++) {
        const int dx = y >> i, dy = x >> i;
        if (remaining >= 0) {
            x -= dx;
            y += dy;
            remaining -= cordic_angles[i];
        } else {
            x += dx;
            y -= dy;
            remaining += cordic_angles[i];
        }
    }
    sines[id] = y;
    cosines[id] = x;
}

#define PCR 128

//@ parallel_cyclic_reduction | 131072 | 128 | float*131072 float*131072:2.5..3 float*131072 float*131072:0.1..1 float*131072
__kernel __attribute__((reqd_work_group_size(PCR, 1, 1)))
void parallel_cyclic_reduction(__global const float *below, __global const float *diagonal,
                               __global const float *above, __global const float *right,
                               __global float *solution)
{
    /* a row is (a, b, c, d) of a x[i-1] + b x[i] + c x[i+1] = d; past the ends stand x = 0 */
    __local float4 rows[PCR];
    const int lid = get_local_id(0);
    const int gid = get_global_id(0);
    float4 row = (float4)(-below[gid], diagonal[gid], -above[gid], right[gid]);
    if (lid == 0)
        row.x = 0.0f;
    if (lid == PCR - 1)
        row.z = 0.0f;

    for (int apart = 1; apart < PCR; apart *= 2) {
        rows[lid] = row;
        barrier(CLK_LOCAL_MEM_FENCE);
        const float4 none = (float4)(0.0f, 1.0f, 0.0f, 0.0f);
        const float4 lower = lid >= apart ? rows[lid - apart] : none;
        const float4 upper = lid + apart < PCR ? rows[lid + apart] : none;
        const float k1 = row.x / lower.y, k2 = row.z / upper.y;
        row = (float4)(-lower.x * k1,
                       row.y - lower.z * k1 - upper.x * k2,
                       -upper.z * k2,
                       row.w - lower.w * k1 - upper.w * k2);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    solution[gid] = row.w / row.y;
}
