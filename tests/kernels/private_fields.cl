// Members of structures in private arrays that are chosen at run time.

struct pair {
    int left, right;
};

// A store to either one, and a load from either one.
__kernel void either_field(__global const uint *in, __global int *out, uint n)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    struct pair of[4];
    for (int k = 0; k < 4; k++) {
        of[k].left = 3 * k;
        of[k].right = 100 - k;
    }
    const uint p = in[i] & 3, q = in[i] >> 2 & 3;
    int *to = in[i] & 16 ? &of[p].left : &of[p].right;
    *to += 7;
    const int *from = in[i] & 32 ? &of[q].right : &of[q].left;
    out[i] = *from * 1000 + of[p].left * 10 + of[q].right;
}

struct node {
    ushort key;
    char left, right;
};

// A search tree of keys, whose nodes name each other.
__kernel void grow_tree(__global const ushort *keys, __global uint *out, uint n)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    struct node tree[16];
    for (int k = 0; k < 16; k++) {
        tree[k].key = keys[16 * i + k];
        tree[k].left = tree[k].right = -1;
        for (int p = 0; k > 0;) {
            const bool is_less = tree[k].key < tree[p].key;
            const int next = is_less ? tree[p].left : tree[p].right;
            if (next < 0) {
                if (is_less)
                    tree[p].left = k;
                else
                    tree[p].right = k;
                break;
            }
            p = next;
        }
    }
    uint sum = 0;
    for (int k = 0; k < 16; k++)
        sum = sum * 31 + tree[k].left * 16 + tree[k].right + tree[k].key;
    out[i] = sum;
}

// Two rows that change their places: how many letters have to be changed, left out or brought in until two words are one.
__kernel void distances(__global const uchar *words, __global int *out, uint n, int length)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    __global const uchar *a = words + 32 * i, *b = words + 32 * i + 16;
    short rows[2][17], *last = rows[0], *next = rows[1], other[17];
    for (int x = 0; x <= 16; x++) {
        last[x] = x;
        other[x] = 0;
    }
    next = length & 1 ? other : next;
    for (int y = 0; y < length; y++) {
        next[0] = y + 1;
        for (int x = 0; x < 16; x++)
            next[x + 1] = min(last[x] + (a[x] != b[y]), min(last[x + 1], next[x]) + 1);
        short *const gone = last;
        last = next;
        next = gone;
    }
    out[i] = last[16];
}

static void smooth(short *to, const short *from)
{
    for (int k = 0; k < 16; k++)
        to[k] = (short)(from[(k + 15) & 15] + from[(k + 1) & 15]) >> 1;
}

__kernel void smoothed(__global const short *in, __global int *out, uint n, int steps)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    short first[16], second[16], *from = first, *to = second;
    for (int k = 0; k < 16; k++)
        from[k] = in[16 * i + k];
    for (int step = 0; step < steps; step++) {
        smooth(to, from);
        short *const gone = from;
        from = to;
        to = gone;
    }
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum = sum * 31 + from[k];
    out[i] = sum;
}

static void widen_range(int value, int *least, int *most)
{
    if (value < *least)
        *least = value;
    if (value > *most)
        *most = value;
}

// What a function is given the addresses of changes from call to call.
__kernel void ranges(__global const short *in, __global int *out, uint n, int of)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    int a = INT_MAX, b = INT_MIN;
    for (int k = 0; k < 16; k++) {
        const bool is_other = (k + in[16 * i] * of) & 1;
        widen_range(in[16 * i + k], is_other ? &a : &b, is_other ? &b : &a);
    }
    out[i] = a * 3 + b;
}
