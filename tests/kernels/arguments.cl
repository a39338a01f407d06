// Kernel arguments of every kind and size.
typedef struct {
    char tag;
    int count;
    float scale[3];
    double offset;
    short pair[2];
} settings;

__kernel void scalar_arguments(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float k, double l,
                               __global double *out)
{
    size_t i = get_global_id(0);
    out[i] = a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h + 9.0 * k + 10.0 * l + i;
}

__kernel void vector_arguments(char2 a, short3 b, int4 c, float8 d, double16 e, __global double *out)
{
    size_t i = get_global_id(0);
    double sum = a.x + 2.0 * a.y + 3.0 * b.x + 4.0 * b.y + 5.0 * b.z;
    sum += 6.0 * c.x + 7.0 * c.w + 8.0 * d.s0 + 9.0 * d.s7 + 10.0 * e.s0 + 11.0 * e.sf;
    out[i] = sum + i;
}

__kernel void struct_argument(settings s, __global double *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    out[i] = s.tag + s.count * 2.0 + s.scale[i % 3] * 4.0 + s.offset + s.pair[i % 2] * 8.0;
}

// Two local arrays beside a static one: each has its own place and alignment.
__kernel void local_arguments(__global ulong *out, __local uchar *bytes, __local ulong *words, uint bytes_size,
                              uint words_size)
{
    __local ushort fixed[7];
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    for (uint k = lid; k < bytes_size; k += size)
        bytes[k] = (uchar)(k + 1);
    for (uint k = lid; k < words_size; k += size)
        words[k] = k * 1000UL;
    for (uint k = lid; k < 7; k += size)
        fixed[k] = (ushort)(k + 500);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong sum = 0;
    for (uint k = 0; k < bytes_size; ++k)
        sum += bytes[k];
    for (uint k = 0; k < words_size; ++k)
        sum += words[k];
    for (uint k = 0; k < 7; ++k)
        sum += fixed[k];
    out[get_global_id(0)] = sum;
}

// A null buffer is an argument like any other.
__kernel void optional_buffer(__global const int *maybe, __global int *out)
{
    size_t i = get_global_id(0);
    out[i] = maybe ? maybe[i] : -5;
}

// As many as the device has room for bytes of, but for a few: SPIR-V asks everybody to take 255.
#define OF4(F, n) F(n##0) F(n##1) F(n##2) F(n##3)
#define OF16(F, n) OF4(F, n##0) OF4(F, n##1) OF4(F, n##2) OF4(F, n##3)
#define OF64(F, n) OF16(F, n##0) OF16(F, n##1) OF16(F, n##2) OF16(F, n##3)
#define OF256(F, n) OF64(F, n##0) OF64(F, n##1) OF64(F, n##2) OF64(F, n##3)
#define PARAMETER(n) , uint n
#define ADDED(n) sum = sum * 3 + n;
__kernel void many_arguments(__global uint *out OF256(PARAMETER, a) OF256(PARAMETER, b) OF256(PARAMETER, c), uchar last)
{
    uint sum = get_global_id(0);
    OF256(ADDED, a)
    OF256(ADDED, b)
    OF256(ADDED, c)
    for (uint i = 0; i < c3333; ++i)
        sum = sum * 5 ^ i * last;
    out[get_global_id(0)] = sum;
}
