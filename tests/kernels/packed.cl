// Vectors that lanes hold as they are in memory. Each kernel is there twice: with vectors, and once more, as `..._by_components`, with numbers only.
// All have the same parameters: bytes that are read, bytes that are written, and how many work-items take part, each of which
// has 64 bytes of either.

#define PARAMETERS __global const uchar *a, __global const uchar *b, __global uchar *c, int n
#define ITEM (get_global_id(1) * get_global_size(0) + get_global_id(0))

__kernel void saturation(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    __global const uchar16 *x = (__global const uchar16 *)a, *y = (__global const uchar16 *)b;
    __global uchar16 *z = (__global uchar16 *)c;
    z[i] = abs_diff(add_sat(x[i], y[i]), sub_sat(rhadd(x[i], (uchar16)(7)), y[i] >> (uchar16)(2)));
}

__kernel void saturation_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int k = 16 * i; k < 16 * i + 16; k++)
        c[k] = abs_diff(add_sat(a[k], b[k]), sub_sat(rhadd(a[k], (uchar)(7)), (uchar)(b[k] >> 2)));
}

// Rows that begin anywhere, and an index that is widened without a sign.
__kernel void neighbours(PARAMETERS)
{
    int x = (int)ITEM * 16;
    if (x < 16 || x >= 16 * (n - 1))
        return;
    uchar16 least = vload16(0, a + x - 1), most = least;
    for (int k = 0; k < 2; k++) {
        least = min(least, vload16(0, a + x + k));
        most = max(most, vload16(0, b + x + k));
    }
    vstore16(most - least, 0, c + x);
}

__kernel void neighbours_by_components(PARAMETERS)
{
    int x = (int)ITEM * 16;
    if (x < 16 || x >= 16 * (n - 1))
        return;
    for (int at = x; at < x + 16; at++) {
        uchar least = a[at - 1], most = least;
        for (int k = 0; k < 2; k++) {
            least = min(least, a[at + k]);
            most = max(most, b[at + k]);
        }
        c[at] = most - least;
    }
}

// Components of two sizes, division, and an alpha of its own.
__kernel void blending(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    uchar4 over = ((__global const uchar4 *)a)[i], under = ((__global const uchar4 *)b)[i];
    ushort4 sum = convert_ushort4(over) * (ushort)(100) + convert_ushort4(under) * (ushort)(155);
    uchar4 pixel = convert_uchar4((sum + (ushort)(127)) / (ushort)(255)) ^ (uchar4)(1, 2, 3, 4);
    pixel.w = i & 1 ? 255 : over.x;
    ((__global uchar4 *)c)[i] = pixel.zyxw;
}

__kernel void blending_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int k = 0; k < 3; k++) {
        ushort sum = a[4 * i + k] * 100 + b[4 * i + k] * 155;
        c[4 * i + 2 - k] = (uchar)((ushort)(sum + 127) / 255) ^ (k + 1);
    }
    c[4 * i + 3] = i & 1 ? 255 : a[4 * i];
}

// Votes of components decide where work-items go, and values meet behind that.
__kernel void votes(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    uchar16 x = vload16(i, a), y = vload16(i, b);
    char16 above = x > (uchar16)(y & (uchar16)(15));
    if (all(x > (uchar16)(8)))
        x = select(x, y, above);
    else if (any(y > (uchar16)(250)))
        x = x + y;
    vstore16(x ^ as_uchar16(above), i, c);
}

__kernel void votes_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    int all_above = 1, any_above = 0;
    for (int k = 16 * i; k < 16 * i + 16; k++) {
        all_above &= a[k] > 8;
        any_above |= b[k] > 250;
    }
    for (int k = 16 * i; k < 16 * i + 16; k++) {
        uchar x = a[k], above = x > (b[k] & 15) ? 255 : 0;
        c[k] = (all_above ? (above ? b[k] : x) : any_above ? x + b[k] : x) ^ above;
    }
}

// Of vectors that fill a register each.
__kernel void wide_votes(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    int16 x = vload16(i, (__global const int *)a), y = vload16(i, (__global const int *)b);
    long8 v = vload8(i, (__global const long *)a), w = vload8(i, (__global const long *)b);
    int16 of_ints = (x ^ y) & 15;
    long8 of_longs = (v ^ w) & 15;
    int4 seen = (int4)(all(of_ints != 0), any(of_ints == 1), all(of_longs != 0), any(of_longs == 1));
    for (int k = 0; k < 4; k++)
        vstore4(seen * (k + 1), 4 * i + k, (__global int *)c);
}

__kernel void wide_votes_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    __global const int *x = (__global const int *)a, *y = (__global const int *)b;
    __global const long *v = (__global const long *)a, *w = (__global const long *)b;
    int all_ints = 1, any_int = 0, all_longs = 1, any_long = 0;
    for (int k = 16 * i; k < 16 * i + 16; k++) {
        all_ints &= ((x[k] ^ y[k]) & 15) != 0;
        any_int |= ((x[k] ^ y[k]) & 15) == 1;
    }
    for (int k = 8 * i; k < 8 * i + 8; k++) {
        all_longs &= ((v[k] ^ w[k]) & 15) != 0;
        any_long |= ((v[k] ^ w[k]) & 15) == 1;
    }
    __global int *z = (__global int *)c + 16 * i;
    for (int k = 0; k < 4; k++) {
        z[4 * k] = all_ints * (k + 1);
        z[4 * k + 1] = any_int * (k + 1);
        z[4 * k + 2] = all_longs * (k + 1);
        z[4 * k + 3] = any_long * (k + 1);
    }
}

// Vectors as numbers and back.
__kernel void bits(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    uchar4 pixel = as_uchar4(((__global const uint *)a)[i] * 3u) + ((__global const uchar4 *)b)[i];
    ((__global uint *)c)[2 * n + i] = as_uint(pixel) + 5u;
    uint4 words = as_uint4(vload16(i, a)) ^ (uint4)(0x00ffffffu);
    ushort8 halves = as_ushort8(words + as_uint4(vload16(i, b))) >> (ushort8)(3);
    ((__global ushort8 *)c)[n + i] = halves;
}

__kernel void bits_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    uint word = ((__global const uint *)a)[i] * 3u, sum = 0;
    for (int k = 0; k < 4; k++)
        sum |= (uint)(uchar)((word >> (8 * k)) + b[4 * i + k]) << (8 * k);
    ((__global uint *)c)[2 * n + i] = sum + 5u;
    for (int k = 0; k < 4; k++) {
        uint both = (((__global const uint *)a)[4 * i + k] ^ 0x00ffffffu) + ((__global const uint *)b)[4 * i + k];
        ((__global ushort *)c)[8 * (n + i) + 2 * k] = (ushort)both >> 3;
        ((__global ushort *)c)[8 * (n + i) + 2 * k + 1] = both >> 19;
    }
}

// Halves of vectors, and vectors of what two have in turn.
__kernel void halves(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    short16 x = convert_short16(vload16(i, a)), y = convert_short16(as_char16(vload16(i, b)));
    short8 sum = x.lo * y.lo + x.hi * y.hi;
    short4 less = sum.even - sum.odd;
    vstore4(less, i, (__global short *)c);
    uchar16 turns;
    turns.even = convert_uchar8(sum);
    turns.odd = convert_uchar8(sum >> (short8)(8));
    vstore16(shuffle2(turns, vload16(i, a), (uchar16)(0, 17, 2, 19, 4, 21, 6, 23, 31, 14, 29, 12, 27, 10, 25, 8)), i, c + 32 * n);
}

__kernel void halves_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    const int order[16] = { 0, 17, 2, 19, 4, 21, 6, 23, 31, 14, 29, 12, 27, 10, 25, 8 };
    __global const uchar *x = a + 16 * i;
    __global const char *y = (__global const char *)b + 16 * i;
    short sums[8];
    for (int k = 0; k < 8; k++)
        sums[k] = x[k] * y[k] + x[8 + k] * y[8 + k];
    for (int k = 0; k < 4; k++)
        ((__global short *)c)[4 * i + k] = sums[2 * k] - sums[2 * k + 1];
    for (int k = 0; k < 16; k++) {
        int at = order[k];
        c[32 * n + 16 * i + k] = at < 16 ? (at & 1 ? sums[at / 2] >> 8 : sums[at / 2]) : x[at - 16];
    }
}

// Loops that work-items leave in their own time, with a sum that goes on.
__kernel void loops(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    ushort8 sum = (ushort8)(i), last = (ushort8)(9);
    for (int k = 0; k < (a[i] & 7); k++) {
        last = convert_ushort8(vload8(i + k * n, a));
        sum = sum * (ushort8)(3) + last;
        if (b[i + k] > 240)
            break;
    }
    vstore8(sum ^ (last << (ushort8)(8)), i, (__global ushort *)c);
}

__kernel void loops_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int at = 0; at < 8; at++) {
        ushort sum = i, last = 9;
        for (int k = 0; k < (a[i] & 7); k++) {
            last = a[8 * (i + k * n) + at];
            sum = sum * 3 + last;
            if (b[i + k] > 240)
                break;
        }
        ((__global ushort *)c)[8 * i + at] = sum ^ (ushort)(last << 8);
    }
}

// Vectors that lie anywhere, of all sizes.
__kernel void apart(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    int from = (a[i] * 7 + b[i]) % n, to = i ^ 1;
    if (to >= n)
        to = i;
    ((__global uchar4 *)c)[to] = add_sat(((__global const uchar4 *)a)[from], (uchar4)(9));
    ((__global uchar8 *)(c + 4 * n))[to] = sub_sat(((__global const uchar8 *)a)[from], ((__global const uchar8 *)b)[i]);
    ((__global uint4 *)(c + 16 * n))[to] = max(((__global const uint4 *)a)[from], (uint4)(77u, 1u << 31, 5u, 3u << 29));
    vstore16(min(vload16(from, b), vload16(2 * i, a)), to, c + 32 * n);
}

__kernel void apart_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    int from = (a[i] * 7 + b[i]) % n, to = i ^ 1;
    if (to >= n)
        to = i;
    const uint limits[4] = { 77u, 1u << 31, 5u, 3u << 29 };
    for (int k = 0; k < 4; k++)
        c[4 * to + k] = add_sat(a[4 * from + k], (uchar)(9));
    for (int k = 0; k < 8; k++)
        c[4 * n + 8 * to + k] = sub_sat(a[8 * from + k], b[8 * i + k]);
    for (int k = 0; k < 4; k++)
        ((__global uint *)(c + 16 * n))[4 * to + k] = max(((__global const uint *)a)[4 * from + k], limits[k]);
    for (int k = 0; k < 16; k++)
        c[32 * n + 16 * to + k] = min(b[16 * from + k], a[32 * i + k]);
}

// Three components, which follow each other without a gap.
__kernel void threes(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    short3 x = vload3(i, (__global const short *)a), y = vload3(i, (__global const short *)b);
    vstore3(add_sat(x, y) - (short3)(1, 2, 3), i, (__global short *)c);
    float3 colour = convert_float3(vload3(i, a)) * 0.5f + convert_float3(vload3(i, b));
    vstore3(colour, i, (__global float *)(c + 8 * n));
}

__kernel void threes_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int k = 0; k < 3; k++) {
        int at = 3 * i + k;
        ((__global short *)c)[at] =
            add_sat(((__global const short *)a)[at], ((__global const short *)b)[at]) - (short)(k + 1);
        ((__global float *)(c + 8 * n))[at] = (float)a[at] * 0.5f + (float)b[at];
    }
}

// A number for all components, of each work-item, and a condition for all.
__kernel void scalars(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    float4 x = convert_float4(vload4(i, a)), y = convert_float4(vload4(i, b));
    float weight = a[i] - 100.0f;
    x = x * weight + y;
    if (weight > 50.0f)
        x = y - x;
    vstore4(b[i] > 99 ? x : y * weight, i, (__global float *)c);
    double2 wide = convert_double2(((__global const int2 *)a)[i]) * (double)weight;
    vstore2(fmax(wide, (double2)(i, -i)), i, (__global double *)(c + 16 * n));
    vstore8(convert_uchar8_sat_rte(convert_float8(vload8(i, a)) * 1.75f - 31.5f), i, c + 32 * n);
}

__kernel void scalars_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    float weight = a[i] - 100.0f;
    for (int k = 0; k < 4; k++) {
        float y = b[4 * i + k], x = a[4 * i + k] * weight + y;
        if (weight > 50.0f)
            x = y - x;
        ((__global float *)c)[4 * i + k] = b[i] > 99 ? x : y * weight;
    }
    for (int k = 0; k < 2; k++) {
        double wide = (double)((__global const int *)a)[2 * i + k] * (double)weight;
        ((__global double *)(c + 16 * n))[2 * i + k] = fmax(wide, (double)(k ? -i : i));
    }
    for (int k = 0; k < 8; k++)
        c[32 * n + 8 * i + k] = convert_uchar_sat_rte(a[8 * i + k] * 1.75f - 31.5f);
}

// Rows that end at an edge.
__kernel void edges(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    __global const uchar4 *pixels = (__global const uchar4 *)a;
    ushort4 sum = (ushort4)(0);
    for (int k = -2; k <= 2; k++)
        sum += convert_ushort4(pixels[clamp(i + k, 0, n - 1)]);
    ((__global uchar4 *)c)[i] = convert_uchar4(sum / (ushort)(5));
    uint up = (uint)i + 3u;
    ((__global uint4 *)(c + 16 * n))[i] = ((__global const uint4 *)b)[up < (uint)n ? up : up - (uint)n] * 5u;
}

__kernel void edges_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int at = 0; at < 4; at++) {
        ushort sum = 0;
        for (int k = -2; k <= 2; k++)
            sum += a[4 * clamp(i + k, 0, n - 1) + at];
        c[4 * i + at] = sum / 5;
        uint up = (uint)i + 3u;
        ((__global uint *)(c + 16 * n))[4 * i + at] = ((__global const uint *)b)[4 * (up < (uint)n ? up : up - (uint)n) + at] * 5u;
    }
}

// Components from where a mask says.
__kernel void choices(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    vstore16(shuffle(vload16(i, a), vload16(i, b)), i, c);
    ushort8 x = ((__global const ushort8 *)a)[i], y = ((__global const ushort8 *)b)[i];
    ((__global ushort8 *)c)[n + i] = shuffle2(x, y, y + x);
    uint4 words = ((__global const uint4 *)a)[i];
    ((__global uint4 *)c)[2 * n + i] = shuffle2(words, words * (uint4)(3), ((__global const uint4 *)b)[i]);
    double2 longs = as_double2(((__global const ulong2 *)a)[i]);
    ((__global ulong2 *)c)[3 * n + i] = as_ulong2(shuffle(longs, ((__global const ulong2 *)b)[i]));
}

__kernel void choices_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int k = 0; k < 16; k++)
        c[16 * i + k] = a[16 * i + (b[16 * i + k] & 15)];
    __global const ushort *x = (__global const ushort *)a + 8 * i, *y = (__global const ushort *)b + 8 * i;
    for (int k = 0; k < 8; k++) {
        int at = (x[k] + y[k]) & 15;
        ((__global ushort *)c)[8 * (n + i) + k] = at < 8 ? x[at] : y[at - 8];
    }
    for (int k = 0; k < 4; k++) {
        int at = ((__global const uint *)b)[4 * i + k] & 7;
        uint word = ((__global const uint *)a)[4 * i + (at & 3)];
        ((__global uint *)c)[4 * (2 * n + i) + k] = at < 4 ? word : word * 3;
    }
    for (int k = 0; k < 2; k++)
        ((__global ulong *)c)[2 * (3 * n + i) + k] =
            ((__global const ulong *)a)[2 * i + (((__global const ulong *)b)[2 * i + k] & 1)];
}

__kernel void wide_choices(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    ((__global int8 *)c)[i] = shuffle(((__global const int8 *)a)[i], ((__global const uint8 *)b)[i]);
    short16 x = ((__global const short16 *)a)[i], y = ((__global const short16 *)b)[i];
    ((__global short16 *)c)[n + i] = shuffle2(x, y, as_ushort16(x ^ y));
}

__kernel void wide_choices_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    for (int k = 0; k < 8; k++)
        ((__global int *)c)[8 * i + k] = ((__global const int *)a)[8 * i + (((__global const uint *)b)[8 * i + k] & 7)];
    __global const short *x = (__global const short *)a + 16 * i, *y = (__global const short *)b + 16 * i;
    for (int k = 0; k < 16; k++) {
        int at = (x[k] ^ y[k]) & 31;
        ((__global short *)c)[16 * (n + i) + k] = at < 16 ? x[at] : y[at - 16];
    }
}

// More components than a register has of one size, and sub-groups that need several registers for each vector.
#define LONG_CHOICES \
    int i = ITEM; \
    if (i >= n) \
        return; \
    __global const int8 *words = (__global const int8 *)a; \
    __global const short16 *shorts = (__global const short16 *)b; \
    ((__global int8 *)c)[i] = shuffle2(words[i], words[i] + (int8)(5), ((__global const uint8 *)b)[i]); \
    long16 x = convert_long16(shorts[i]); \
    x = shuffle(x * x, convert_ulong16(as_ushort16(shorts[i])) >> (ulong16)(3)); \
    ((__global short16 *)c)[n + i] = convert_short16(x >> (long16)(7));

#define LONG_CHOICES_BY_COMPONENTS \
    int i = ITEM; \
    if (i >= n) \
        return; \
    __global const int *words = (__global const int *)a + 8 * i; \
    for (int k = 0; k < 8; k++) { \
        int at = ((__global const uint *)b)[8 * i + k] & 15; \
        ((__global int *)c)[8 * i + k] = at < 8 ? words[at] : words[at - 8] + 5; \
    } \
    __global const short *shorts = (__global const short *)b + 16 * i; \
    for (int k = 0; k < 16; k++) { \
        long x = shorts[(ushort)shorts[k] >> 3 & 15]; \
        ((__global short *)c)[16 * (n + i) + k] = x * x >> 7; \
    }

__kernel void long_choices(PARAMETERS)
{
    LONG_CHOICES
}

__kernel void long_choices_by_components(PARAMETERS)
{
    LONG_CHOICES_BY_COMPONENTS
}

__kernel __attribute__((intel_reqd_sub_group_size(32))) void long_choices_of_32(PARAMETERS)
{
    LONG_CHOICES
}

__kernel __attribute__((intel_reqd_sub_group_size(32))) void long_choices_of_32_by_components(PARAMETERS)
{
    LONG_CHOICES_BY_COMPONENTS
}

// Threes with room for four, for as long as data says, with questions about all components, parts of them and variables of a work-item.
__kernel void steps(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    float3 at = convert_float3(((__global const short3 *)a)[i]);
    const float3 step = convert_float3(((__global const char3 *)b)[i]) + 0.5f;
    int3 count = 0;
    float3 trail[4] = {at, step, step.zxy, at.yyx};
    int k = 0;
    for (; k < 40 && !any(fabs(at) > 9000.0f); k++) {
        at = fma(at, (float3)(1.03125f), step.zxy);
        const int3 above = at > trail[(k + a[i]) & 3];
        count -= above;
        if (all(above))
            count.y += k;
        trail[k & 3] = (float3)(at.z, step.x, at.x);
    }
    vstore3(fmax(at, trail[b[i] & 3]), i, (__global float *)c);
    vstore3(select(count, (int3)(i, k, 5), count > 3), i, (__global int *)(c + 16 * n));
    const uchar2 low = convert_uchar2_sat(((__global const short2 *)b)[i] + (short2)(k, -k));
    const uint bits = as_uint(((__global const ushort2 *)a)[i] >> (ushort2)(3)) ^ (low.x * 3u + low.y);
    ((__global uint4 *)(c + 32 * n))[i] = (uint4)(bits, any(low > (uchar2)(200)), at.x > at.y, low.y);
    const double2 wide = convert_double2(((__global const int2 *)a)[i]);
    ((__global double2 *)(c + 48 * n))[i] = (wide.x > wide.y ? wide.yx : wide) / (double2)(3.0, k + 1);
}

__kernel void steps_by_components(PARAMETERS)
{
    int i = ITEM;
    if (i >= n)
        return;
    __global const short *shorts = (__global const short *)a + 4 * i;
    __global const char *bytes = (__global const char *)b + 4 * i;
    float at[3], step[3], trail[4][3];
    int count[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++) {
        at[d] = shorts[d];
        step[d] = bytes[d] + 0.5f;
    }
    for (int d = 0; d < 3; d++) {
        trail[0][d] = at[d];
        trail[1][d] = step[d];
        trail[2][d] = step[(d + 2) % 3];
        trail[3][d] = d == 2 ? at[0] : at[1];
    }
    int k = 0;
    for (; k < 40; k++) {
        if (fabs(at[0]) > 9000.0f || fabs(at[1]) > 9000.0f || fabs(at[2]) > 9000.0f)
            break;
        int above = 0;
        for (int d = 0; d < 3; d++) {
            at[d] = fma(at[d], 1.03125f, step[(d + 2) % 3]);
            if (at[d] > trail[(k + a[i]) & 3][d]) {
                count[d]++;
                above++;
            }
        }
        if (above == 3)
            count[1] += k;
        trail[k & 3][0] = at[2];
        trail[k & 3][1] = step[0];
        trail[k & 3][2] = at[0];
    }
    const int other[3] = {i, k, 5};
    for (int d = 0; d < 3; d++) {
        ((__global float *)c)[3 * i + d] = fmax(at[d], trail[b[i] & 3][d]);
        ((__global int *)(c + 16 * n))[3 * i + d] = count[d] > 3 ? other[d] : count[d];
    }
    uint low[2], bits = 0;
    for (int d = 0; d < 2; d++) {
        const short sum = ((__global const short *)b)[2 * i + d] + (d ? -k : k);
        low[d] = clamp((int)sum, 0, 255);
        bits |= (uint)(((__global const ushort *)a)[2 * i + d] >> 3) << (16 * d);
    }
    __global uint *words = (__global uint *)(c + 32 * n) + 4 * i;
    words[0] = bits ^ (low[0] * 3u + low[1]);
    words[1] = low[0] > 200 || low[1] > 200;
    words[2] = at[0] > at[1];
    words[3] = low[1];
    const double x = ((__global const int *)a)[2 * i], y = ((__global const int *)a)[2 * i + 1];
    __global double *wide = (__global double *)(c + 48 * n) + 2 * i;
    wide[0] = (x > y ? y : x) / 3.0;
    wide[1] = (x > y ? x : y) / (k + 1);
}

// Numbers of 64 bits by a constant, which is quicker where all are small: half of the work-items take part.
__kernel void quotients(__global const ulong2 *in, __global ulong2 *wide, __global uint2 *narrow, __global const ulong16 *long_in,
                        __global ulong16 *long_out, int n)
{
    const int i = get_global_id(0);
    if (i < n && !(i & 4)) {
        wide[i] = in[i] / 10;
        narrow[i] = convert_uint2(in[i] % 1000);
        long_out[i] = long_in[i] / 7;
    }
}
