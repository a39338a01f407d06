// Loops that count in types narrower than indices, some of which wrap around; small numbers that are widened for all lanes; and what clang makes of
// loops over wrapped neighbours and of bits in reverse.

__kernel void sums(__global const int *in, __global int *out, uchar n8, ushort n16, char s8, short s16)
{
    uint g = get_global_id(0);
    int sum = 0;
    for (ushort i = 0; i < n16; i++)
        sum += in[g * n16 + i];
    for (uchar i = 0; i < n8; i++)
        sum ^= in[g * 7 + i] * 3;
    for (short i = 1; i < s16; i++)
        sum += in[g + i] * i;
    for (char i = 2; i < s8; i++)
        sum -= in[g * 5 + i];
    // These wrap around.
    for (uchar i = 250; i != 5; i++)
        sum += in[i] * 5;
    for (ushort i = 65530; i != 3; i++)
        sum += i;
    for (char i = 120; i > 0; i++)
        sum ^= in[g + i];
    out[g] = sum;
}

// Fields of a row of text.
__kernel void fields(__global const uchar *text, __global ushort *count, ushort length)
{
    uint g = get_global_id(0);
    ushort found = 1;
    bool quoted = false;
    for (ushort i = 0; i < length; i++) {
        uchar c = text[g * length + i];
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            found++;
    }
    count[g] = found;
}

// Rows of A by columns of B, numbers of 8 and of 16 bits.
__kernel void product(__global const char *a, __global const short *b, __global int *c, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * (int)get_global_size(0) + x];
    c[y * (int)get_global_size(0) + x] = sum;
}

// The sum of what is before a work-item in its group: neighbours that lie in front of local memory are for lanes that want none.
__kernel void running(__global const uint *in, __global uint *out)
{
    __local uint s[64];
    int l = get_local_id(0);
    s[l] = in[get_global_id(0)];
    for (int d = 1; d < 64; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint t = l >= d ? s[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        s[l] += t;
    }
    out[get_global_id(0)] = s[l];
}

// The game of life on a torus. The translator puts the switch that clang makes of the rules in front of what it chooses by.
__kernel void life(__global const uchar *in, __global uchar *out, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    uchar n = 0;
    for (int dy = h - 1; dy <= h + 1; dy++)
        for (int dx = w - 1; dx <= w + 1; dx++)
            if (dx != w || dy != h)
                n += in[((y + dy) % h) * w + (x + dx) % w];
    out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}

// clang makes one instruction of this, for which the translator declares what shaders have.
__kernel void reversed(__global const uint *in, __global uint *out)
{
    uint v = in[get_global_id(0)];
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1);
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2);
    v = ((v >> 4) & 0x0F0F0F0F) | ((v & 0x0F0F0F0F) << 4);
    v = ((v >> 8) & 0x00FF00FF) | ((v & 0x00FF00FF) << 8);
    out[get_global_id(0)] = (v >> 16) | (v << 16);
}
