// SHA-256 of one block and AES-128 of many, with indices of 32 bits. FIPS 180-4 and 197.

__constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The digest of the eight words of each message.
__kernel void sha256(__global const uint *messages, __global uint *digests, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    uint w[16];
    for (int k = 0; k < 8; ++k)
        w[k] = messages[i * 8 + k];
    w[8] = 0x80000000;
    for (int k = 9; k < 15; ++k)
        w[k] = 0;
    w[15] = 256;
    uint start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5], g = start[6], h = start[7];
    for (int k = 0; k < 64; ++k) {
        uint next = w[k & 15];
        if (k >= 16) {
            uint w1 = w[(k + 1) & 15], w14 = w[(k + 14) & 15];
            uint s0 = rotate(w1, 25u) ^ rotate(w1, 14u) ^ (w1 >> 3);
            uint s1 = rotate(w14, 15u) ^ rotate(w14, 13u) ^ (w14 >> 10);
            next += s0 + w[(k + 9) & 15] + s1;
            w[k & 15] = next;
        }
        uint t1 = h + (rotate(e, 26u) ^ rotate(e, 21u) ^ rotate(e, 7u)) + ((e & f) ^ (~e & g)) + K[k] + next;
        uint t2 = (rotate(a, 30u) ^ rotate(a, 19u) ^ rotate(a, 10u)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    uint end[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; ++k)
        digests[i * 8 + k] = start[k] + end[k];
}

// Counter mode with one table in local memory: `table` has 256 words, `keys` 44, `box` the bytes of the last round.
__kernel void aes128(__global const uint *table, __global const uchar *box, __global const uint *keys,
                     __global uint4 *stream, int blocks)
{
    __local uint t[256];
    for (int k = get_local_id(0); k < 256; k += get_local_size(0))
        t[k] = table[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    int i = get_global_id(0);
    if (i >= blocks)
        return;
    uint s[4] = {keys[0], keys[1], keys[2], i ^ keys[3]};
    for (int round = 1; round < 10; ++round) {
        uint next[4];
        for (int k = 0; k < 4; ++k)
            next[k] = t[s[k] >> 24] ^ rotate(t[(s[(k + 1) & 3] >> 16) & 255], 24u)
                ^ rotate(t[(s[(k + 2) & 3] >> 8) & 255], 16u) ^ rotate(t[s[(k + 3) & 3] & 255], 8u)
                ^ keys[4 * round + k];
        for (int k = 0; k < 4; ++k)
            s[k] = next[k];
    }
    uint last[4];
    for (int k = 0; k < 4; ++k)
        last[k] = ((uint)box[s[k] >> 24] << 24 | (uint)box[(s[(k + 1) & 3] >> 16) & 255] << 16
                   | (uint)box[(s[(k + 2) & 3] >> 8) & 255] << 8 | (uint)box[s[(k + 3) & 3] & 255]) ^ keys[40 + k];
    stream[i] = (uint4)(last[0], last[1], last[2], last[3]);
}
