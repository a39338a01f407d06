// The benchmark's kernels that are bound by arithmetic, with indices of 32 bits.

static float distance_to(float3 p)
{
    float sphere = length(p - (float3)(0.0f, 0.0f, 4.0f)) - 1.0f;
    float3 q = fabs(p - (float3)(1.5f, 0.3f, 5.0f)) - 0.6f;
    float box = length(fmax(q, 0.0f)) + fmin(fmax(q.x, fmax(q.y, q.z)), 0.0f);
    return fmin(fmin(sphere, box), p.y + 1.0f);
}

// How far a ray of each pixel goes through a scene of distances.
__kernel void march(__global float *depth, int width, int height, int steps)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float3 direction = normalize((float3)((x - 0.5f * width) / height, (0.5f * height - y) / height, 1.0f));
    float t = 0.0f;
    for (int step = 0; step < steps; ++step) {
        float d = distance_to(direction * t);
        if (d < 0.001f || t > 20.0f)
            break;
        t += d;
    }
    depth[y * width + x] = t;
}

// The price of a call by random walks: a generator, two normal numbers by Box and Muller, an exponential.
__kernel void walks(__global float *payoff, float spot, float strike, float drift, float deviation, int paths)
{
    int i = get_global_id(0);
    uint state = i * 747796405u + 2891336453u;
    float sum = 0.0f;
    for (int path = 0; path < paths; ++path) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float u = ((state >> 8) + 1) * (1.0f / 16777217.0f);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float angle = (state >> 8) * (6.2831853f / 16777216.0f);
        float radius = sqrt(-2.0f * log(u)) * deviation;
        sum += fmax(spot * exp(drift + radius * cos(angle)) - strike, 0.0f);
        sum += fmax(spot * exp(drift + radius * sin(angle)) - strike, 0.0f);
    }
    payoff[i] = sum / (2 * paths);
}

__kernel void functions_float(__global const float *in, __global float *out, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float x = in[i];
    out[i] = sin(x) + exp(-x) + log(x + 1.5f) + pow(x, 2.3f) + tanh(x) + atan2(x, 0.7f) + erf(x) + cbrt(x);
}

__kernel void functions_double(__global const double *in, __global double *out, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    double x = in[i];
    out[i] = sin(x) + exp(-x) + log(x + 1.5) + pow(x, 2.3) + tanh(x) + atan2(x, 0.7) + erf(x) + cbrt(x);
}

// A Fourier transform of 1024 points a work-group of 256: five stages by four (Stockham), through local memory.
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void fft1024(__global float2 *data)
{
    __local float re[1024], im[1024];
    int l = get_local_id(0);
    __global float2 *mine = data + get_group_id(0) * 1024;
    float2 v[4];
    for (int k = 0; k < 4; ++k)
        v[k] = mine[l + 256 * k];
    for (int span = 1; span < 1024; span *= 4) {
        int within = l & (span - 1);
        if (span > 1) {
            for (int k = 0; k < 4; ++k)
                v[k] = (float2)(re[l + 256 * k], im[l + 256 * k]);
            barrier(CLK_LOCAL_MEM_FENCE);
            float angle = -6.2831853f * within / (4 * span);
            for (int k = 1; k < 4; ++k) {
                float c = cos(angle * k), s = sin(angle * k);
                v[k] = (float2)(v[k].x * c - v[k].y * s, v[k].x * s + v[k].y * c);
            }
        }
        float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        float2 turned = (float2)(d.y, -d.x);
        float2 result[4] = {a + c, b + turned, a - c, b - turned};
        int to = (l - within) * 4 + within;
        for (int k = 0; k < 4; ++k) {
            re[to + k * span] = result[k].x;
            im[to + k * span] = result[k].y;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int k = 0; k < 4; ++k)
        mine[l + 256 * k] = (float2)(re[l + 256 * k], im[l + 256 * k]);
}
