// Images: one access a work-item, at coordinates from memory; what the reference model is compared with.

#define ONE_SAMPLE(NAME, IMAGE, AT, TEXEL, READ)                                                                       \
    __kernel void NAME(read_only IMAGE image, sampler_t sampler, __global const AT *at, __global TEXEL *out) {         \
        size_t i = get_global_id(0);                                                                                   \
        out[i] = READ(image, sampler, at[i]);                                                                          \
    }

#define SAMPLES(SUFFIX, IMAGE, FLOATS, INTS)                                                                           \
    ONE_SAMPLE(sample_##SUFFIX##_ff, IMAGE, FLOATS, float4, read_imagef)                                               \
    ONE_SAMPLE(sample_##SUFFIX##_if, IMAGE, INTS, float4, read_imagef)                                                 \
    ONE_SAMPLE(sample_##SUFFIX##_fi, IMAGE, FLOATS, int4, read_imagei)                                                 \
    ONE_SAMPLE(sample_##SUFFIX##_ii, IMAGE, INTS, int4, read_imagei)

SAMPLES(1, image1d_t, float, int)
SAMPLES(1a, image1d_array_t, float2, int2)
SAMPLES(2, image2d_t, float2, int2)
SAMPLES(2a, image2d_array_t, float4, int4)
SAMPLES(3, image3d_t, float4, int4)

#define ACCESSES(SUFFIX, IMAGE, AT)                                                                                    \
    __kernel void read_##SUFFIX##_f(read_only IMAGE image, __global const AT *at, __global float4 *out) {              \
        size_t i = get_global_id(0);                                                                                   \
        out[i] = read_imagef(image, at[i]);                                                                            \
    }                                                                                                                  \
    __kernel void read_##SUFFIX##_i(read_only IMAGE image, __global const AT *at, __global int4 *out) {                \
        size_t i = get_global_id(0);                                                                                   \
        out[i] = read_imagei(image, at[i]);                                                                            \
    }                                                                                                                  \
    __kernel void write_##SUFFIX##_f(write_only IMAGE image, __global const AT *at, __global const float4 *in) {       \
        size_t i = get_global_id(0);                                                                                   \
        write_imagef(image, at[i], in[i]);                                                                             \
    }                                                                                                                  \
    __kernel void write_##SUFFIX##_i(write_only IMAGE image, __global const AT *at, __global const int4 *in) {         \
        size_t i = get_global_id(0);                                                                                   \
        write_imagei(image, at[i], in[i]);                                                                             \
    }

ACCESSES(1, image1d_t, int)
ACCESSES(1a, image1d_array_t, int2)
ACCESSES(1b, image1d_buffer_t, int)
ACCESSES(2, image2d_t, int2)
ACCESSES(2a, image2d_array_t, int4)

__kernel void read_3_f(read_only image3d_t image, __global const int4 *at, __global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, at[i]);
}

// Unsigned texels, and sub-group sizes that the driver would not choose.
#define SIZED(W)                                                                                                       \
    __attribute__((intel_reqd_sub_group_size(W))) __kernel void sample_2_ff_w##W(                                      \
        read_only image2d_t image, sampler_t sampler, __global const float2 *at, __global float4 *out) {               \
        size_t i = get_global_id(0);                                                                                   \
        out[i] = read_imagef(image, sampler, at[i]);                                                                   \
    }                                                                                                                  \
    __attribute__((intel_reqd_sub_group_size(W))) __kernel void copy_w##W(read_only image2d_t from,                    \
                                                                          write_only image2d_t to) {                   \
        int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));                                                \
        write_imagef(to, at, read_imagef(from, at));                                                                   \
    }                                                                                                                  \
    __attribute__((intel_reqd_sub_group_size(W))) __kernel void copy_ui_w##W(read_only image2d_t from,                 \
                                                                             write_only image2d_t to) {                \
        int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));                                                \
        write_imageui(to, at, read_imageui(from, at));                                                                 \
    }

SIZED(8)
SIZED(16)
SIZED(32)

// Literal samplers.
#define LITERAL(NAME, ADDRESS, FILTER, NORMALIZED)                                                                     \
    __kernel void literal_##NAME(read_only image2d_t image, __global const float2 *at, __global float4 *out) {         \
        const sampler_t sampler = ADDRESS | FILTER | NORMALIZED;                                                       \
        size_t i = get_global_id(0);                                                                                   \
        out[i] = read_imagef(image, sampler, at[i]);                                                                   \
    }

LITERAL(none_nearest, CLK_ADDRESS_NONE, CLK_FILTER_NEAREST, CLK_NORMALIZED_COORDS_FALSE)
LITERAL(edge_nearest, CLK_ADDRESS_CLAMP_TO_EDGE, CLK_FILTER_NEAREST, CLK_NORMALIZED_COORDS_FALSE)
LITERAL(clamp_nearest, CLK_ADDRESS_CLAMP, CLK_FILTER_NEAREST, CLK_NORMALIZED_COORDS_TRUE)
LITERAL(repeat_nearest, CLK_ADDRESS_REPEAT, CLK_FILTER_NEAREST, CLK_NORMALIZED_COORDS_TRUE)
LITERAL(mirrored_nearest, CLK_ADDRESS_MIRRORED_REPEAT, CLK_FILTER_NEAREST, CLK_NORMALIZED_COORDS_TRUE)
LITERAL(none_linear, CLK_ADDRESS_NONE, CLK_FILTER_LINEAR, CLK_NORMALIZED_COORDS_FALSE)
LITERAL(edge_linear, CLK_ADDRESS_CLAMP_TO_EDGE, CLK_FILTER_LINEAR, CLK_NORMALIZED_COORDS_FALSE)
LITERAL(clamp_linear, CLK_ADDRESS_CLAMP, CLK_FILTER_LINEAR, CLK_NORMALIZED_COORDS_TRUE)
LITERAL(repeat_linear, CLK_ADDRESS_REPEAT, CLK_FILTER_LINEAR, CLK_NORMALIZED_COORDS_TRUE)
LITERAL(mirrored_linear, CLK_ADDRESS_MIRRORED_REPEAT, CLK_FILTER_LINEAR, CLK_NORMALIZED_COORDS_TRUE)

// Coordinates that all lanes share, and lanes that are off.
__kernel void uniform_reads(read_only image2d_t image, sampler_t sampler, __global const float2 *at,
                            __global float4 *out) {
    out[get_global_id(0)] = read_imagef(image, sampler, at[get_group_id(0)]);
}

__kernel void odd_lanes(read_only image2d_t image, sampler_t sampler, write_only image2d_t to, __global const float2 *at) {
    int i = get_global_id(0);
    if (i % 3 != 1)
        write_imagef(to, (int2)(i, 1), read_imagef(image, sampler, at[i]));
}

__kernel void queries(read_only image3d_t three, read_only image2d_array_t two, __global int *out) {
    out[0] = get_image_width(three);
    out[1] = get_image_height(three);
    out[2] = get_image_depth(three);
    out[3] = get_image_channel_data_type(three);
    out[4] = get_image_channel_order(three);
    out[5] = get_image_width(two);
    out[6] = get_image_height(two);
    out[7] = (int)get_image_array_size(two);
}

// Images that go through functions.
__attribute__((noinline)) float4 through(read_only image2d_t image, sampler_t sampler, float2 at) {
    return read_imagef(image, sampler, at) + read_imagef(image, sampler, at + 1.0f);
}

__kernel void functions(read_only image2d_t image, sampler_t sampler, __global const float2 *at, __global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = through(image, sampler, at[i]);
}

// More accesses than have their code in place.
__kernel void many_reads(read_only image2d_t image, __global const int2 *at, __global float4 *out) {
    size_t i = get_global_id(0);
    float4 sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 48; n++)
        sum += read_imagef(image, at[i] + (int2)(n % 7, n / 7));
    out[i] = sum;
}

__kernel void many_writes(write_only image2d_t image, __global const int2 *at, __global const float4 *in) {
    size_t i = get_global_id(0);
#pragma unroll
    for (int n = 0; n < 48; n++)
        write_imagef(image, at[i] + (int2)(0, n), in[i] * (float)(n + 1));
}
