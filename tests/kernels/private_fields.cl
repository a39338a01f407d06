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
