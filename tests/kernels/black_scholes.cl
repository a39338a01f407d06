// European call and put prices; the normal distribution by the polynomial of Abramowitz and Stegun 26.2.17.
float normal_cdf(float d)
{
    const float a1 = 0.319381530f;
    const float a2 = -0.356563782f;
    const float a3 = 1.781477937f;
    const float a4 = -1.821255978f;
    const float a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float tail = 0.39894228040143267794f * exp(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float *spot, __global const float *strike, __global const float *years,
                            __global float *call, __global float *put, float rate, float volatility, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    float s = spot[i];
    float x = strike[i];
    float t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float cdf1 = normal_cdf(d1);
    float cdf2 = normal_cdf(d2);
    float discounted = x * exp(-rate * t);
    call[i] = s * cdf1 - discounted * cdf2;
    put[i] = discounted * (1.0f - cdf2) - s * (1.0f - cdf1);
}
