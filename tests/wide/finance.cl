// Finance: option pricing by formulas, trees, grids and Monte Carlo, curves, risk, order books.

static float normal_cdf(float x)
{
    return 0.5f * erfc(-x * M_SQRT1_2_F);
}

static float normal_pdf(float x)
{
    return 0.39894228f * exp(-0.5f * x * x);
}

//@ black_scholes_greeks | 262144 | 256 | uint=260000 float=0.03 float*260000:80..120 float*260000:80..120 float*260000:0.2..0.5 float*260000:0.5..2 float*1040000
__kernel void black_scholes_greeks(uint count, float rate, __global const float *spot,
                                   __global const float *strike, __global const float *volatility,
                                   __global const float *expiry, __global float4 *greeks)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;
    const float s = spot[i], k = strike[i], t = expiry[i];
    const float root_t = sqrt(t);
    const float sigma = volatility[i] * root_t;
    const float d1 = (log(s / k) + rate * t) / sigma + 0.5f * sigma;
    const float d2 = d1 - sigma;
    const float discounted = k * exp(-rate * t);

    float4 g;
    g.x = s * normal_cdf(d1) - discounted * normal_cdf(d2);
    g.y = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    g.z = normal_cdf(d1);
    g.w = s * normal_pdf(d1) * root_t;
    greeks[i] = g;
}

#define CRR_STEPS 64

//@ crr_american_put | 4096 | 64 | float=0.05 float*4096:90..110 float*4096:95..115 float*4096:0.2..0.5 float*4096:0.5..2 float*4096
__kernel void crr_american_put(float rate, __global const float *spots,
                               __global const float *strikes,
                               __global const float *volatilities,
                               __global const float *expiries, __global float *prices)
{
    const int option = get_global_id(0);
    const float spot = spots[option], strike = strikes[option];
    const float dt = expiries[option] / CRR_STEPS;
    const float log_up = volatilities[option] * sqrt(dt);
    const float up = exp(log_up), down = exp(-log_up);
    const float growth = exp(rate * dt);
    const float p = (growth - down) / (up - down);
    const float p_up = p / growth, p_down = (1.0f - p) / growth;
    const float up2 = up * up;

    float value[CRR_STEPS + 1];
    float s = spot * exp(-log_up * CRR_STEPS);
    for (int j = 0; j <= CRR_STEPS; j++, s *= up2)
        value[j] = fmax(strike - s, 0.0f);

    for (int step = CRR_STEPS - 1; step >= 0; step--) {
        s = spot * exp(-log_up * step);
        for (int j = 0; j <= step; j++, s *= up2) {
            const float keep = p_down * value[j] + p_up * value[j + 1];
            value[j] = fmax(keep, strike - s);
        }
    }
    prices[option] = value[0];
}

#define TRI_STEPS 63

//@ trinomial_bermudan_call | 65536 | 128 | float=0.04 float=0.06 float*512:95..110 float*512:90..105 float*512:0.2..0.5 float*512
__kernel void trinomial_bermudan_call(float rate, float dividend, __global const float *spots,
                                      __global const float *strikes,
                                      __global const float *volatilities,
                                      __global float *prices)
{
    __local float nodes[2 * TRI_STEPS + 2];
    const int option = get_group_id(0);
    const int lid = get_local_id(0);
    const int level = lid - TRI_STEPS;
    const float vol = volatilities[option];
    const float dt = 1.0f / TRI_STEPS;
    const float dx = vol * sqrt(3.0f * dt);
    const float drift = (rate - dividend - 0.5f * vol * vol) * sqrt(dt / (12.0f * vol * vol));
    const float discount = exp(-rate * dt);
    const float up = (1.0f / 6.0f + drift) * discount;
    const float mid = (2.0f / 3.0f) * discount;
    const float down = (1.0f / 6.0f - drift) * discount;

    const float exercise = spots[option] * exp(level * dx) - strikes[option];
    nodes[lid] = fmax(exercise, 0.0f);
    for (int step = TRI_STEPS - 1; step >= 0; step--) {
        barrier(CLK_LOCAL_MEM_FENCE);
        float v = 0.0f;
        const bool alive = abs(level) <= step;
        if (alive) {
            v = up * nodes[lid + 1] + mid * nodes[lid] + down * nodes[lid - 1];
            if ((step & 7) == 0)
                v = fmax(v, exercise);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (alive)
            nodes[lid] = v;
    }
    if (level == 0)
        prices[option] = nodes[lid];
}

static uint4 philox_4x32(uint4 counter, uint2 key)
{
    for (int round = 0; round < 10; round++) {
        const uint hi0 = mul_hi(0xD2511F53u, counter.x);
        const uint hi1 = mul_hi(0xCD9E8D57u, counter.z);
        counter = (uint4)(hi1 ^ counter.y ^ key.x, 0xCD9E8D57u * counter.z,
                          hi0 ^ counter.w ^ key.y, 0xD2511F53u * counter.x);
        key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

static float4 normals_from_bits(uint4 bits)
{
    const float4 u = (convert_float4(bits >> (uint4)(8)) + 0.5f) * 0x1p-24f;
    const float2 radius = sqrt(-2.0f * log(u.xy));
    const float2 angle = 2.0f * M_PI_F * u.zw;
    return (float4)(radius * cos(angle), radius * sin(angle));
}

#define ASIAN_FIXINGS 48

//@ asian_call_antithetic | 16384 | 128 | uint=7 float=100 float=98 float=0.25 float*128
__kernel void asian_call_antithetic(uint seed, float spot, float strike, float volatility,
                                    __global float *group_sums)
{
    __local float sums[128];
    const uint path = get_global_id(0);
    const uint lid = get_local_id(0);
    const float dt = 1.0f / ASIAN_FIXINGS;
    const float drift = (0.02f - 0.5f * volatility * volatility) * dt;
    const float diffusion = volatility * sqrt(dt);

    float2 log_s = (float2)(log(spot));
    float2 average = (float2)(0.0f);
    for (uint block = 0; block < ASIAN_FIXINGS / 4; block++) {
        const float4 z = normals_from_bits(philox_4x32((uint4)(path, block, 0, 0),
                                                       (uint2)(seed, 0x1234567u)));
        const float zs[4] = { z.x, z.y, z.z, z.w };
        for (int i = 0; i < 4; i++) {
            log_s += drift + diffusion * (float2)(zs[i], -zs[i]);
            average += exp(log_s);
        }
    }
    average /= ASIAN_FIXINGS;
    const float2 payoff = fmax(average - strike, 0.0f);
    sums[lid] = 0.5f * (payoff.x + payoff.y) * exp(-0.02f);

    for (uint span = 64; span > 0; span >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < span)
            sums[lid] += sums[lid + span];
    }
    if (lid == 0)
        group_sums[get_group_id(0)] = sums[0];
}

typedef struct {
    float kappa, theta, xi, rho;
} heston_model;

static uint xorshift32(uint x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ (x << 5);
}

//@ heston_full_truncation | 16384 | 64 | int=32 float*4:0.2..0.5 uint*16384:1..4294967295 float*16384 float*16384
__kernel void heston_full_truncation(int steps, __constant heston_model *model,
                                     __global const uint *seeds, __global float *spot_out,
                                     __global float *variance_integral)
{
    const size_t path = get_global_id(0);
    const heston_model m = *model;
    const float dt = 1.0f / steps, root_dt = sqrt(dt);
    const float rho_other = sqrt(1.0f - m.rho * m.rho);
    uint state = seeds[path];
    float x = 0.0f, v = m.theta, total = 0.0f;

    for (int i = 0; i < steps; i++) {
        state = xorshift32(state);
        const float u = ((state >> 8) + 1) * 0x1p-24f;
        state = xorshift32(state);
        const float angle = (state >> 8) * (2.0f * M_PI_F * 0x1p-24f);
        const float radius = sqrt(-2.0f * log(u));
        float cosine;
        const float sine = sincos(angle, &cosine);
        const float z1 = radius * cosine;
        const float z2 = m.rho * z1 - rho_other * radius * sine;

        const float positive = fmax(v, 0.0f);
        const float root_v = sqrt(positive);
        x += -0.5f * positive * dt + root_v * root_dt * z1;
        v += m.kappa * (m.theta - positive) * dt + 0.25f * m.xi * root_v * root_dt * z2;
        total += positive * dt;
    }
    spot_out[path] = 100.0f * exp(x);
    variance_integral[path] = total;
}

//@ barrier_up_out_bridge | 32768 | 128 | uint=99 int=24 float=125 float*32768:90..105 float*32768:0.15..0.35 float*32768
__kernel void barrier_up_out_bridge(uint seed, int steps, float barrier_level,
                                    __global const float *spots,
                                    __global const float *volatilities,
                                    __global float *weighted_payoff)
{
    const uint path = get_global_id(0);
    const float vol = volatilities[path];
    const float dt = 1.0f / steps;
    const float step_sigma = vol * sqrt(dt);
    /* distance to the barrier in logarithms, and the chance of no crossing so far */
    float gap = log(barrier_level / spots[path]);
    float survival = 1.0f;

    for (int i = 0; i < steps; i += 4) {
        const float4 z = normals_from_bits(philox_4x32((uint4)(i, path, 0, 5), (uint2)(seed)));
        const float zs[4] = { z.x, z.y, z.z, z.w };
        for (int j = 0; j < 4; j++) {
            const float next = gap + 0.5f * step_sigma * step_sigma - step_sigma * zs[j];
            const float product = fmax(gap, 0.0f) * fmax(next, 0.0f);
            survival *= -expm1(-2.0f * product / (step_sigma * step_sigma));
            gap = next;
        }
        if (survival <= 0.0f)
            break;
    }
    const float final_spot = barrier_level * exp(-gap);
    weighted_payoff[path] = 1.0f + survival * fmax(final_spot - 80.0f, 0.0f);
}

//@ implied_vol_safeguarded | 65536 | 128 | float*65536:90..110 float*65536:0.5..1 float*65536:13..20 float*65536
__kernel void implied_vol_safeguarded(__global const float *strikes,
                                      __global const float *expiries,
                                      __global const float *prices, __global float *implied)
{
    const size_t i = get_global_id(0);
    const float forward = 100.0f, strike = strikes[i];
    const float root_t = sqrt(expiries[i]);
    const float moneyness = log(forward / strike);
    float low = 0.01f, high = 3.0f, vol = 0.5f;

    for (int iteration = 0; iteration < 12; iteration++) {
        const float sigma = vol * root_t;
        const float d1 = moneyness / sigma + 0.5f * sigma;
        const float model = forward * normal_cdf(d1) - strike * normal_cdf(d1 - sigma);
        const float error = model - prices[i];
        // Behind that, the last bit of a price decides which half is left.
        if (fabs(error) < 1e-3f)
            break;
        if (error > 0.0f)
            high = vol;
        else
            low = vol;

        const float vega = forward * normal_pdf(d1) * root_t;
        float next = vol - error / fmax(vega, 1e-3f);
        if (!(next > low && next < high))
            next = 0.5f * (low + high);
        const float change = fabs(next - vol);
        vol = next;
        if (change < 1e-6f)
            break;
    }
    implied[i] = vol;
}

#define PILLARS 33

//@ discount_curve_lookup | 524288 | 256 | int*33:x6 float*33:0.01..0.05 int*524288:0..192 float*524288
__kernel void discount_curve_lookup(__constant int *pillar_months, __constant float *zero_rates,
                                    __global const int *query_months, __global float *discount)
{
    const int i = get_global_id(0);
    const int month = query_months[i];

    int low = 0, high = PILLARS - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (pillar_months[middle] <= month)
            low = middle;
        else
            high = middle;
    }

    const float t0 = pillar_months[low] / 12.0f, t1 = pillar_months[high] / 12.0f;
    const float t = month / 12.0f;
    const float log_df0 = -zero_rates[low] * t0;
    const float log_df1 = -zero_rates[high] * t1;
    const float weight = (t - t0) / (t1 - t0);
    discount[i] = exp(mix(log_df0, log_df1, weight));
}

//@ bond_yield_newton | 32768 | 128 | float*32768:95..103 float*32768:0.03..0.06 uchar*32768:4..40 float*32768 float*32768
__kernel void bond_yield_newton(__global const float *clean_price, __global const float *coupons,
                                __global const uchar *half_years, __global float *yields,
                                __global float *durations)
{
    const uint bond = get_global_id(0);
    const float price = clean_price[bond];
    const float payment = 50.0f * coupons[bond];
    const uchar periods = half_years[bond];

    float y = coupons[bond];
    float duration = 0.0f;
    for (int iteration = 0; iteration < 5; iteration++) {
        const float v = 1.0f / (1.0f + 0.5f * y);
        /* Horner from the last payment back, with the derivative by v */
        float value = payment + 100.0f;
        float slope = 0.0f;
        for (uchar k = 1; k < periods; k++) {
            slope = slope * v + value;
            value = value * v + payment;
        }
        slope = slope * v + value;
        value *= v;

        const float dv_dy = -0.5f * v * v;
        y -= (value - price) / (slope * dv_dy);
        y = clamp(y, -0.02f, 0.3f);
        duration = -slope * dv_dy / value;
    }
    yields[bond] = y;
    durations[bond] = duration;
}

typedef struct {
    float when; /* as a part of the leg's life */
    float accrual;
    float spread;
    float notional;
} cashflow;

//@ floating_leg_npv_ragged | 16384 | 64 | int*16384:x16 uchar*16384:0..17 float*1048576 float*16384:1..30 float*16384
__kernel void floating_leg_npv_ragged(__global const int *leg_start,
                                      __global const uchar *leg_flows,
                                      __global const cashflow *flows,
                                      __global const float *tenor, __global float *npv)
{
    const int leg = get_global_id(0);
    const int flow_count = leg_flows[leg];
    if (flow_count == 0) {
        npv[leg] = 0.0f;
        return;
    }
    __global const cashflow *flow = flows + leg_start[leg];
    __global const cashflow *end = flow + flow_count;
    const float life = tenor[leg];

    float sum = 0.0f;
    for (; flow != end; ++flow) {
        const float t = flow->when * life;
        const float zero_rate = 0.03f + 0.01f * exp(-0.3f * t);
        const float forward = 0.03f + 0.01f * exp(-0.3f * t) * (1.0f - 0.3f * t);
        const float coupon = fmax(forward, 0.0f) + 0.02f * flow->spread;
        sum += flow->notional * flow->accrual * coupon * exp(-zero_rate * t);
    }
    npv[leg] = sum * 1e6f;
}

//@ exposure_profile | 256 256 | 256 1 | int=4096 float=0.2 float*1048576:-1..1 float*256 float*256
__kernel void exposure_profile(int scenarios, float threshold, __global const float *values,
                               __global float *expected_positive, __global float *peak)
{
    __local float sums[256];
    __local float peaks[256];
    const int lid = get_local_id(0);
    const int date = get_group_id(1);
    __global const float *row = values + date * scenarios;

    float sum = 0.0f, worst = 0.0f;
    for (int s = lid; s < scenarios; s += get_local_size(0)) {
        /* the part above the threshold is covered by collateral */
        const float exposure = clamp(row[s], 0.0f, threshold) + 0.05f * fmax(row[s], 0.0f);
        sum += exposure;
        worst = fmax(worst, exposure);
    }
    sums[lid] = sum;
    peaks[lid] = worst;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int offset = get_local_size(0) >> 1; offset > 0; offset >>= 1) {
        if (lid < offset) {
            sums[lid] += sums[lid + offset];
            peaks[lid] = fmax(peaks[lid], peaks[lid + offset]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) {
        expected_positive[date] = sums[0] / scenarios;
        peak[date] = peaks[0];
    }
}

#define VAR_BINS 128

//@ historical_var_histogram | 32768 | 256 | uint=64 int*64:-50..50 short*2097152:-300..300 uint*128 int*1
__kernel void historical_var_histogram(uint positions, __constant int *quantity,
                                       __global const short *moves,
                                       volatile __global uint *histogram,
                                       volatile __global int *worst)
{
    __local uint bins[VAR_BINS];
    __local int group_worst;
    const uint lid = get_local_id(0);
    const uint scenario = get_global_id(0);
    const uint scenarios = get_global_size(0);
    if (lid < VAR_BINS)
        bins[lid] = 0;
    if (lid == 0)
        group_worst = INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);

    int pnl = 0;
    for (uint p = 0; p < positions; p++)
        pnl += quantity[p] * moves[p * scenarios + scenario];
    const int bin = clamp((pnl >> 11) + VAR_BINS / 2, 0, VAR_BINS - 1);
    atomic_inc(&bins[bin]);
    atomic_min(&group_worst, pnl);
    barrier(CLK_LOCAL_MEM_FENCE);

    if (lid < VAR_BINS && bins[lid] != 0)
        atomic_add(&histogram[lid], bins[lid]);
    if (lid == 0)
        atomic_min(worst, group_worst);
}

//@ ewma_covariance | 128 128 | 16 16 | int=512 float=0.99 float*65536:0..0.02 float*16384
__kernel void ewma_covariance(int days, float lambda, __global const float *returns,
                              __global float *covariance)
{
    const int i = get_global_id(0);
    const int j = get_global_id(1);
    const int assets = get_global_size(0);
    if (j > i)
        return;

    float sum = 0.0f, weights = 0.0f, w = 1.0f;
    for (int day = days - 1; day >= 0; day--) {
        const float ri = returns[day * assets + i];
        const float rj = returns[day * assets + j];
        sum += w * ri * rj;
        weights += w;
        w *= lambda;
    }
    const float c = sum / weights * 252.0f;
    covariance[i * assets + j] = c;
    if (i != j)
        covariance[j * assets + i] = c;
}

#define GRID 64

//@ implicit_grid_american_put | 2048 | 32 | int=24 float*2048:90..110 float*2048:0.2..0.4 float*2048:0.5..1.5 float*2048
__kernel void implicit_grid_american_put(int time_steps, __global const float *strikes,
                                         __global const float *volatilities,
                                         __global const float *expiries,
                                         __global float *prices)
{
    const size_t option = get_global_id(0);
    const float strike = strikes[option], vol = volatilities[option];
    const float rate = 0.04f;
    const float dt = expiries[option] / time_steps;
    const float dx = 8.0f * vol * sqrt(expiries[option]) / GRID;
    const float diffusion = 0.5f * vol * vol * dt / (dx * dx);
    const float convection = 0.5f * (rate - 0.5f * vol * vol) * dt / dx;
    const float lower = convection - diffusion;
    const float centre = 1.0f + 2.0f * diffusion + rate * dt;
    const float upper = -convection - diffusion;

    float payoff[GRID], value[GRID], factor[GRID];
    for (int i = 0; i < GRID; i++) {
        payoff[i] = fmax(strike - 100.0f * exp((i - GRID / 2) * dx), 0.0f);
        value[i] = payoff[i];
    }
    for (int step = 0; step < time_steps; step++) {
        factor[0] = 0.0f;
        for (int i = 1; i < GRID - 1; i++) {
            const float pivot = 1.0f / (centre - lower * factor[i - 1]);
            factor[i] = upper * pivot;
            value[i] = (value[i] - lower * value[i - 1]) * pivot;
        }
        for (int i = GRID - 2; i > 0; i--)
            value[i] -= factor[i] * value[i + 1];
        for (int i = 1; i < GRID - 1; i++)
            value[i] = fmax(value[i], payoff[i]);
    }
    prices[option] = value[GRID / 2];
}

//@ drawdown_by_series | 8192 | 64 | int=256 float*2097152:50..150 float*8192 int*8192
__kernel void drawdown_by_series(int days, __global const float *prices,
                                 __global float *max_drawdown, __global int *longest_underwater)
{
    const int series = get_global_id(0);
    const int pitch = get_global_size(0);

    float peak = prices[series];
    float worst_ratio = 1.0f;
    int underwater = 0, longest = 0;
    for (int day = 1; day < days; day++) {
        const float price = prices[day * pitch + series];
        if (price >= peak) {
            peak = price;
            longest = max(longest, underwater);
            underwater = 0;
            continue;
        }
        underwater++;
        worst_ratio = fmin(worst_ratio, price / peak);
    }
    max_drawdown[series] = 1.0f - worst_ratio;
    longest_underwater[series] = max(longest, underwater);
}

#define BOOK_LEVELS 32

//@ order_book_sweep | 262144 | 128 | uint*1024:1000..50000 ushort*32768:1..1000 ushort*262144:0..1024 int*262144:1..8000 uchar*262144 int*262144 uint*262144
__kernel void order_book_sweep(__global const uint *best_tick, __global const ushort *sizes,
                               __global const ushort *instrument, __global const int *quantity,
                               __global const uchar *limit_ticks, __global int *filled_out,
                               __global uint *average_milliticks)
{
    const uint order = get_global_id(0);
    const uint book = instrument[order];
    const int levels = min((int)limit_ticks[order], BOOK_LEVELS);
    int open = quantity[order];
    ulong cost = 0;

    for (int level = 0; level < levels && open > 0; level++) {
        const int available = sizes[book * BOOK_LEVELS + level];
        const int taken = min(open, available);
        cost += (ulong)taken * (best_tick[book] + level);
        open -= taken;
    }

    const int filled = quantity[order] - open;
    filled_out[order] = filled;
    average_milliticks[order] = filled > 0 ? (uint)(cost * 1000 / (ulong)filled) : 0;
}
