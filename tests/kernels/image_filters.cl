// Filters over images, as programs have them.

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__constant sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

__kernel void copy(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(to, at, read_imagef(from, nearest, at));
}

__kernel void resize(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float2 size = (float2)((float)get_image_width(to), (float)get_image_height(to));
    write_imagef(to, at, read_imagef(from, linear, (convert_float2(at) + 0.5f) / size));
}

__kernel void convolve(read_only image2d_t from, write_only image2d_t to, __global const float *weights) {
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float4 sum = 0.0f;
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            sum += weights[(y + 2) * 5 + x + 2] * read_imagef(from, nearest, at + (int2)(x, y));
    write_imagef(to, at, sum);
}

__kernel void rotate_image(read_only image2d_t from, write_only image2d_t to, float sine, float cosine) {
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float2 size = (float2)((float)get_image_width(to), (float)get_image_height(to));
    float2 from_middle = convert_float2(at) + 0.5f - 0.5f * size;
    float2 turned = (float2)(cosine * from_middle.x - sine * from_middle.y, sine * from_middle.x + cosine * from_middle.y);
    write_imagef(to, at, read_imagef(from, linear, turned / size + 0.5f));
}

// The two passes of a separable filter with nine weights.
#define BLUR(NAME, X, Y)                                                                                               \
    __kernel void NAME(read_only image2d_t from, write_only image2d_t to, __global const float *weights) {             \
        int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));                                                \
        float4 sum = 0.0f;                                                                                             \
        for (int i = -4; i <= 4; i++)                                                                                  \
            sum += weights[i + 4] * read_imagef(from, nearest, at + (int2)(X, Y));                                     \
        write_imagef(to, at, sum);                                                                                     \
    }

BLUR(blur_rows, i, 0)
BLUR(blur_columns, 0, i)
