// Vectors some of whose components are the same in all work-items, through what makes each component of all of them.
// `smoothstep` is there to make the kernels worth several sub-groups side by side.

#define LONG(x) ((int)(smoothstep(0.f, 16.f, (float)(x)) * 1000))

// The component that depends on the work-item, and those that do not.
#define PLACED(type, at, of, x) \
    ((type)((at) == 0 ? (of)(x) : (of)1, (at) == 1 ? (of)(x) : (of)2, (at) == 2 ? (of)(x) : (of)3, \
            (at) == 3 ? (of)(x) : (of)0))

// Each component by itself: one that is the same everywhere is made once.
#define STORE(value) \
    float4 result = value; \
    out[4 * i] = result.x + LONG(in[i]); \
    out[4 * i + 1] = result.y; \
    out[4 * i + 2] = result.z; \
    out[4 * i + 3] = result.w

#define GEOMETRIC(at) \
    kernel void normalize_##at(global const uint *in, global float *out) { \
        size_t i = get_global_id(0); \
        STORE(normalize(PLACED(float4, at, float, in[i]))); \
    } \
    kernel void fast_normalize_##at(global const uint *in, global float *out) { \
        size_t i = get_global_id(0); \
        STORE(fast_normalize(PLACED(float4, at, float, in[i]))); \
    } \
    kernel void cross_##at(global const uint *in, global float *out) { \
        size_t i = get_global_id(0); \
        STORE(cross(PLACED(float4, at, float, in[i]), (float4)(4, 5, 6, 7))); \
    } \
    kernel void crossed_##at(global const uint *in, global float *out) { \
        size_t i = get_global_id(0); \
        STORE(cross((float4)(4, 5, 6, 7), PLACED(float4, at, float, in[i]))); \
    } \
    kernel void shuffle_##at(global const uint *in, global float *out, uint first) { \
        size_t i = get_global_id(0); \
        float4 v = PLACED(float4, at, float, in[i]); \
        STORE(shuffle(v, (uint4)(first, first + 1, first + 2, first + 3) & 3)); \
    } \
    kernel void shuffled_##at(global const uint *in, global float *out, uint first) { \
        size_t i = get_global_id(0); \
        uint4 mask = (PLACED(uint4, at, uint, in[i]) + first) & 3; \
        STORE(shuffle((float4)(4, 5, 6, 7), mask)); \
    } \
    kernel void shuffle2_##at(global const uint *in, global float *out, uint first) { \
        size_t i = get_global_id(0); \
        float4 v = PLACED(float4, at, float, in[i]); \
        uint4 mask = (uint4)(first, first + 2, first + 4, first + 6) & 7; \
        STORE(shuffle2((float4)(4, 5, 6, 7), v, mask)); \
    }

GEOMETRIC(0)
GEOMETRIC(1)
GEOMETRIC(2)
GEOMETRIC(3)

// Texels whose coordinates differ in one of three.
#define TEXELS(at) \
    kernel void texel_##at(read_only image3d_t image, global const uint *in, global float *out) { \
        size_t i = get_global_id(0); \
        int x = in[i] & 3; \
        int4 place = (int4)((at) == 0 ? x : 1, (at) == 1 ? x : 2, (at) == 2 ? x : 3, 0); \
        STORE(convert_float4(read_imageui(image, place))); \
    }

TEXELS(0)
TEXELS(1)
TEXELS(2)
