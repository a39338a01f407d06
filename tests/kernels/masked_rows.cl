// Rows of which only some work-items load or store their element: where the others' would be need not be memory.
#define SOME(T) \
    __kernel void some_##T(__global const uchar *which, __global const T *from, __global T *to) \
    { \
        int i = get_global_id(0); \
        if (which[i]) \
            to[i] = from[i]; \
    } \
    __kernel void some_backwards_##T(__global const uchar *which, __global const T *from, __global T *to, int last) \
    { \
        int i = get_global_id(0); \
        if (which[i]) \
            to[i] = from[last - i]; \
    } \
    __kernel void some_down_##T(__global const uchar *which, __global const T *from, __global T *to, int last) \
    { \
        int i = get_global_id(0); \
        if (which[i]) \
            to[last - i] = from[i]; \
    } \
    __kernel void all_down_##T(__global const uchar *which, __global const T *from, __global T *to, int last) \
    { \
        int i = get_global_id(0); \
        to[last - i] = from[i]; \
    }

SOME(uchar)
SOME(ushort)
SOME(float)
SOME(double)
SOME(uchar2)
SOME(uchar4)
SOME(short4)
SOME(float2)
SOME(float4)
SOME(double2)
SOME(int8)
