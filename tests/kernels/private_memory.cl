// Private arrays that are indexed dynamically, so that they cannot all become registers.

__kernel void private_histogram(__global const uchar *in, __global uint *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint counts[16];
    for (int k = 0; k < 16; ++k)
        counts[k] = 0;
    for (int k = 0; k < 32; ++k)
        counts[in[i * 32 + k] & 15]++;
    uint digest = 0;
    for (int k = 0; k < 16; ++k)
        digest = digest * 33 + counts[k];
    out[i] = digest;
}

__kernel void private_insertion_sort(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int keys[12];
    for (int k = 0; k < 12; ++k) {
        int key = in[i * 12 + k];
        int at = k;
        while (at > 0 && keys[at - 1] > key) {
            keys[at] = keys[at - 1];
            --at;
        }
        keys[at] = key;
    }
    for (int k = 0; k < 12; ++k)
        out[i * 12 + k] = keys[k];
}

__kernel void dynamic_vector_element(__global const int *in, __global int *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    int8 v = vload8(i, in);
    int *element = (int *)&v;
    uint at = (uint)in[i * 8] & 7;
    element[at] += 1000;
    element[(at + 3) & 7] ^= element[at];
    out[i] = v.s0 + 2 * v.s1 + 3 * v.s2 + 4 * v.s3 + 5 * v.s4 + 6 * v.s5 + 7 * v.s6 + 8 * v.s7;
}

typedef struct {
    short tag;
    char small[3];
    float weight;
    long total;
} record;

__kernel void private_structs(__global const int *in, __global long *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    record records[4];
    for (int k = 0; k < 4; ++k) {
        records[k].tag = (short)(in[i] + k);
        records[k].small[0] = (char)in[i];
        records[k].small[1] = (char)k;
        records[k].small[2] = (char)(in[i] >> 8);
        records[k].weight = (float)(k + 1);
        records[k].total = 0;
    }
    uint at = (uint)in[i] & 3;
    records[at].total = records[(at + 1) & 3].tag;
    records[at].small[at % 3] += 5;
    long sum = 0;
    for (int k = 0; k < 4; ++k)
        sum = sum * 7 + records[k].tag + records[k].small[0] + 2 * records[k].small[1] + 3 * records[k].small[2] +
              (long)records[k].weight + records[k].total;
    out[i] = sum;
}

// 4 KiB a work-item: more than registers or a small stack frame hold.
__kernel void large_private_array(__global const uint *in, __global uint *out, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint table[1024];
    uint seed = in[i];
    for (uint k = 0; k < 1024; ++k)
        table[k] = k * seed;
    uint r = seed;
    for (uint k = 0; k < 50; ++k)
        r = r * 31 + table[r & 1023];
    out[i] = r;
}

// A private array that lives across a barrier.
__kernel void private_across_barrier(__global const int *in, __global int *out, __local int *scratch)
{
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    size_t gid = get_global_id(0);
    int kept[8];
    for (int k = 0; k < 8; ++k)
        kept[k] = in[gid] * (k + 1);
    scratch[lid] = kept[in[gid] & 7];
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = scratch[size - 1 - lid];
    out[gid] = kept[(uint)other & 7] + other;
}

// A cycle through an array by a table, as Keccak has it: each step reads and writes the element that the table names. The steps' other numbers
// are members of structures with gaps.
typedef struct {
    uchar place;
    ushort add;
    uint multiply;
    uchar turn;
} Step;

__constant Step cycle[20] = {
    {3, 1000, 3, 1},   {11, 7, 5, 2},     {0, 65535, 7, 3},  {5, 300, 9, 4},    {8, 1, 11, 5},
    {2, 40000, 13, 6}, {9, 2, 15, 7},     {10, 513, 17, 8},  {1, 3, 19, 9},     {4, 9999, 21, 10},
    {7, 4, 23, 11},    {6, 12345, 25, 12}, {3, 5, 27, 13},   {0, 6, 29, 14},    {11, 777, 31, 15},
    {2, 8, 0x80000001u, 16}, {8, 9, 35, 17}, {5, 10, 37, 18}, {10, 50000, 39, 19}, {9, 11, 41, 20},
};

__kernel void private_cycle(__global const uint *in, __global uint *out, uint n, uint rounds)
{
    uint at = get_global_id(0);
    if (at >= n)
        return;
    uint state[12];
    for (int k = 0; k < 12; k++)
        state[k] = in[at] * (2 * k + 1) + k;
    for (uint round = 0; round < rounds; round++) {
        uint taken = state[round % 3];
#pragma unroll 1
        for (int k = 0; k < 20; k++) {
            uint place = cycle[k].place, kept = state[place];
            state[place] = rotate(taken * cycle[k].multiply + cycle[k].add, (uint)cycle[k].turn);
            taken = kept ^ (uint)k;
        }
    }
    uint sum = 0;
    for (int k = 0; k < 12; k++)
        sum = sum * 31 + state[k];
    out[at] = sum;
}

// Vectors of a private array: at places that are known, that a loop counts and that data names, of three elements and of sixteen.
__kernel void private_vectors(__global const uchar *in, __global uint *out, uint n)
{
    uint at = get_global_id(0);
    if (at >= n)
        return;
    uchar bytes[24];
    vstore16(vload16(at, in), 0, bytes);
    vstore8((uchar8)(1, 2, 3, 4, 5, 6, 7, 8) * (uchar)at, 2, bytes);
    uint sum = 0;
    for (int k = 0; k < 16; k++)
        sum = sum * 31 + bytes[k];
    for (int k = 0; k < 8; k++) {
        uchar3 three = vload3(k, bytes);
        sum = sum * 7 + (three.x | (three.y << 8) | (three.z << 16));
    }
    uint place = bytes[5] & 7;
    vstore3((uchar3)(1, 2, 3) + bytes[6], place, bytes);
    uchar4 there = vload4(1, bytes + place);
    vstore2(there.xw, 9, bytes);
    for (int k = 0; k < 24; k++)
        sum = sum * 33 + bytes[k];
    out[at] = sum;
}
