// Cryptography and hashing: SHA, Keccak, ChaCha, AES, table and word hashes, Bloom, bignum, base64.

__constant uint sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__constant uint sha256_start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

#define ROTR(x, n) rotate((x), 32u - (n))

static uint load_big_endian(uint word)
{
    return as_uint(as_uchar4(word).wzyx);
}

//@ sha256_single_block | 65536 | 128 | uint*1048576 uint*524288
__kernel void sha256_single_block(__global const uint *messages, __global uint *digests)
{
    const size_t id = get_global_id(0);
    uint w[16], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = load_big_endian(messages[id * 16 + i]);
    for (int i = 0; i < 8; i++)
        s[i] = sha256_start[i];

    for (int round = 0; round < 64; round++) {
        const int now = round & 15;
        if (round >= 16) {
            const uint w1 = w[(round + 1) & 15], w14 = w[(round + 14) & 15];
            w[now] += (ROTR(w1, 7) ^ ROTR(w1, 18) ^ (w1 >> 3)) + w[(round + 9) & 15]
                    + (ROTR(w14, 17) ^ ROTR(w14, 19) ^ (w14 >> 10));
        }
        const uint sum1 = ROTR(s[4], 6) ^ ROTR(s[4], 11) ^ ROTR(s[4], 25);
        const uint choose = bitselect(s[6], s[5], s[4]);
        const uint t1 = s[7] + sum1 + choose + sha256_k[round] + w[now];
        const uint sum0 = ROTR(s[0], 2) ^ ROTR(s[0], 13) ^ ROTR(s[0], 22);
        const uint majority = bitselect(s[0], s[1], s[2] ^ s[0]);
        for (int i = 7; i > 0; i--)
            s[i] = s[i - 1];
        s[4] += t1;
        s[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        digests[id * 8 + i] = load_big_endian(s[i] + sha256_start[i]);
}

#define ROTR64(x, n) rotate((ulong)(x), (ulong)(64 - (n)))

//@ sha512_compress | 16384 | 64 | ulong*80 ulong*262144 ulong*131072 ulong*131072
__kernel void sha512_compress(__constant ulong *k, __global const ulong *blocks,
                              __global const ulong8 *chain_in, __global ulong8 *chain_out)
{
    const uint id = get_global_id(0);
    const ulong8 start = chain_in[id];
    ulong a = start.s0, b = start.s1, c = start.s2, d = start.s3;
    ulong e = start.s4, f = start.s5, g = start.s6, h = start.s7;
    ulong w[16];
    for (int i = 0; i < 16; i++)
        w[i] = blocks[id * 16 + i];

    for (int base = 0; base < 80; base += 16) {
        for (int i = 0; i < 16; i++) {
            if (base > 0) {
                const ulong w1 = w[(i + 1) & 15], w14 = w[(i + 14) & 15];
                w[i] += (ROTR64(w1, 1) ^ ROTR64(w1, 8) ^ (w1 >> 7)) + w[(i + 9) & 15]
                      + (ROTR64(w14, 19) ^ ROTR64(w14, 61) ^ (w14 >> 6));
            }
            const ulong t1 = h + (ROTR64(e, 14) ^ ROTR64(e, 18) ^ ROTR64(e, 41))
                           + ((e & f) ^ (~e & g)) + k[base + i] + w[i];
            const ulong t2 = (ROTR64(a, 28) ^ ROTR64(a, 34) ^ ROTR64(a, 39))
                           + ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
    }
    chain_out[id] = start + (ulong8)(a, b, c, d, e, f, g, h);
}

#define CHACHA_HALF_ROUND(a, b, c, d)         \
    a += b; d = rotate(d ^ a, (uint4)(16));   \
    c += d; b = rotate(b ^ c, (uint4)(12));   \
    a += b; d = rotate(d ^ a, (uint4)(8));    \
    c += d; b = rotate(b ^ c, (uint4)(7));

//@ chacha20_xor_stream | 65536 | 128 | uint=65500 uint*8 uint*3 uint*1048576 uint*1048576
__kernel void chacha20_xor_stream(uint block_count, __constant uint4 *key, __constant uint *nonce,
                                  __global const uint4 *plain, __global uint4 *cipher)
{
    const uint block = get_global_id(0);
    if (block >= block_count)
        return;
    const uint4 row0 = (uint4)(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u);
    const uint4 row3 = (uint4)(block + 1, nonce[0], nonce[1], nonce[2]);
    uint4 a = row0, b = key[0], c = key[1], d = row3;

    for (int i = 0; i < 10; i++) {
        CHACHA_HALF_ROUND(a, b, c, d)
        b = b.yzwx;
        c = c.zwxy;
        d = d.wxyz;
        CHACHA_HALF_ROUND(a, b, c, d)
        b = b.wxyz;
        c = c.zwxy;
        d = d.yzwx;
    }

    const uint at = block * 4;
    cipher[at] = plain[at] ^ (a + row0);
    cipher[at + 1] = plain[at + 1] ^ (b + key[0]);
    cipher[at + 2] = plain[at + 2] ^ (c + key[1]);
    cipher[at + 3] = plain[at + 3] ^ (d + row3);
}

#define BYTE(x, n) (((x) >> (8 * (n))) & 0xffu)

static uint aes_column(__local const uint *t0, uint a, uint b, uint c, uint d)
{
    return t0[BYTE(a, 0)] ^ rotate(t0[BYTE(b, 1)], 8u) ^ rotate(t0[BYTE(c, 2)], 16u)
         ^ rotate(t0[BYTE(d, 3)], 24u);
}

//@ aes128_ctr_table | 32768 | 256 | uint*256 uint*44 uint*2 uint*131072 uint*131072
__kernel void aes128_ctr_table(__global const uint *table, __constant uint4 *round_keys,
                               __constant uint *nonce, __global const uint4 *plain,
                               __global uint4 *cipher)
{
    __local uint t0[256];
    const uint lid = get_local_id(0);
    for (uint i = lid; i < 256; i += get_local_size(0))
        t0[i] = table[i];
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint block = get_global_id(0);
    uint4 s = (uint4)(nonce[0], nonce[1], 0, block) ^ round_keys[0];
    for (int round = 1; round < 10; round++) {
        uint4 t;
        t.x = aes_column(t0, s.x, s.y, s.z, s.w);
        t.y = aes_column(t0, s.y, s.z, s.w, s.x);
        t.z = aes_column(t0, s.z, s.w, s.x, s.y);
        t.w = aes_column(t0, s.w, s.x, s.y, s.z);
        s = t ^ round_keys[round];
    }

    /* the last round has no column mixing: the table's second byte is the S-box */
    const uint columns[4] = { s.x, s.y, s.z, s.w };
    uint last[4];
    for (int i = 0; i < 4; i++) {
        last[i] = 0;
        for (int byte = 0; byte < 4; byte++) {
            const uint in = BYTE(columns[(i + byte) & 3], byte);
            last[i] |= BYTE(t0[in], 1) << (8 * byte);
        }
    }
    cipher[block] = plain[block] ^ round_keys[10] ^ (uint4)(last[0], last[1], last[2], last[3]);
}

__constant uchar aes_sbox[256] = {
    0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76,
    0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0,
    0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15,
    0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75,
    0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84,
    0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf,
    0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8,
    0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2,
    0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73,
    0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb,
    0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79,
    0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08,
    0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a,
    0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e,
    0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf,
    0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16,
};

static uchar16 gf_double(uchar16 x)
{
    const uchar16 carry = x >> (uchar16)(7);
    return (x << (uchar16)(1)) ^ (carry * (uchar16)(0x1b));
}

//@ aes_two_rounds_bytes | 65536 | 64 | uchar*48 uchar*1048576 uchar*1048576
__kernel void aes_two_rounds_bytes(__constant uchar16 *round_keys, __global const uchar16 *input,
                                   __global uchar16 *output)
{
    const size_t id = get_global_id(0);
    union {
        uchar16 v;
        uchar b[16];
    } state;
    state.v = input[id] ^ round_keys[0];

    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 16; i++)
            state.b[i] = aes_sbox[state.b[i]];
        /* rows, then columns */
        const uchar16 s = state.v.s05af49e38d27c16b;
        const uchar16 r1 = s.s123056749ab8defc;
        const uchar16 r2 = s.s23016745ab89efcd;
        const uchar16 r3 = s.s30127456b89afcde;
        state.v = gf_double(s ^ r1) ^ r1 ^ r2 ^ r3 ^ round_keys[round];
    }
    output[id] = state.v;
}

#define XX_P1 2654435761u
#define XX_P2 2246822519u
#define XX_P3 3266489917u
#define XX_P4 668265263u
#define XX_P5 374761393u

//@ xxhash32_records | 65536 | 128 | uint=0 uchar*4194304 uint*65536:x64 uint*65536:0..65 uint*65536
__kernel void xxhash32_records(uint seed, __global const uchar *data,
                               __global const uint *record_start,
                               __global const uint *record_length, __global uint *hashes)
{
    const uint record = get_global_id(0);
    const uint length = record_length[record];
    __global const uchar *p = data + record_start[record];
    __global const uchar *const end = p + length;

    uint h;
    if (length >= 16) {
        uint4 lanes = seed + (uint4)(XX_P1 + XX_P2, XX_P2, 0, 0u - XX_P1);
        do {
            const uint4 words = *(__global const uint4 *)p;
            lanes = rotate(lanes + words * XX_P2, (uint4)(13)) * XX_P1;
            p += 16;
        } while (p + 16 <= end);
        h = rotate(lanes.x, 1u) + rotate(lanes.y, 7u) + rotate(lanes.z, 12u) + rotate(lanes.w, 18u);
    } else {
        h = seed + XX_P5;
    }
    h += length;

    for (; p + 4 <= end; p += 4)
        h = rotate(h + *(__global const uint *)p * XX_P3, 17u) * XX_P4;
    for (; p < end; p++)
        h = rotate(h + *p * XX_P5, 11u) * XX_P1;

    h = (h ^ (h >> 15)) * XX_P2;
    h = (h ^ (h >> 13)) * XX_P3;
    hashes[record] = h ^ (h >> 16);
}

static uint murmur_mix(uint k)
{
    return rotate(k * 0xcc9e2d51u, 15u) * 0x1b873593u;
}

//@ murmur3_strings_to_buckets | 131072 | 256 | uint=4096 uchar*4194304 int*131072:x32 uchar*131072:0..32 uint*131072 uint*4096
__kernel void murmur3_strings_to_buckets(uint buckets, __global const uchar *text,
                                         __global const int *offsets,
                                         __global const uchar *lengths, __global uint *hashes,
                                         volatile __global uint *bucket_sizes)
{
    const int i = get_global_id(0);
    const int length = lengths[i];
    __global const uchar *s = text + offsets[i];

    uint h = 0x9747b28cu;
    const int words = length / 4;
    for (int w = 0; w < words; w++) {
        const uint k = as_uint(((__global const uchar4 *)s)[w]);
        h = rotate(h ^ murmur_mix(k), 13u) * 5 + 0xe6546b64u;
    }
    uint tail = 0;
    s += words * 4;
    const int rest = length & 3;
    if (rest == 3)
        tail ^= (uint)s[2] << 16;
    if (rest >= 2)
        tail ^= (uint)s[1] << 8;
    if (rest >= 1)
        h ^= murmur_mix(tail ^ s[0]);
    h ^= length;
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    h ^= h >> 16;

    hashes[i] = h;
    atomic_inc(&bucket_sizes[h & (buckets - 1)]);
}

#define CRC_POLYNOMIAL 0xEDB88320u

//@ crc32_slicing_by_4 | 16384 | 256 | uint=64 uint*1048576 uint*16384
__kernel void crc32_slicing_by_4(uint words_per_packet, __global const uint *packets,
                                 __global uint *checksums)
{
    __local uint table[4][256];
    const uint lid = get_local_id(0);
    uint entry = lid;
    for (int bit = 0; bit < 8; bit++)
        entry = (entry & 1) ? (entry >> 1) ^ CRC_POLYNOMIAL : entry >> 1;
    table[0][lid] = entry;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int slice = 1; slice < 4; slice++) {
        entry = (entry >> 8) ^ table[0][entry & 0xff];
        table[slice][lid] = entry;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint packet = get_global_id(0);
    uint crc = ~0u;
    for (uint w = 0; w < words_per_packet; w++) {
        crc ^= packets[packet * words_per_packet + w];
        crc = table[3][crc & 0xff] ^ table[2][(crc >> 8) & 0xff]
            ^ table[1][(crc >> 16) & 0xff] ^ table[0][crc >> 24];
    }
    checksums[packet] = ~crc;
}

__constant uint bloom_salts[8] = {
    0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
    0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u,
};

static ulong mix_key(ulong k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdUL;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53UL;
    return k ^ (k >> 33);
}

//@ bloom_insert_blocked | 65536 | 128 | uint=8192 ulong*65536 uint*65536
__kernel void bloom_insert_blocked(uint blocks, __global const ulong *keys,
                                   volatile __global uint *filter)
{
    const size_t i = get_global_id(0);
    if (keys[i] == 0) /* an empty slot */
        return;
    const ulong hash = mix_key(keys[i]);
    const uint block = mul_hi((uint)(hash >> 32), blocks);
    const uint low = (uint)hash;

    volatile __global uint *words = filter + block * 8;
    for (int j = 0; j < 8; j++) {
        const uint bit = (low * bloom_salts[j]) >> 27;
        atomic_or(&words[j], 1u << bit);
    }
}

//@ bloom_query_double_hash | 262144 | 256 | uint=20 uint=6 ulong*262144 uint*32768 uchar*262144 uint*1
__kernel void bloom_query_double_hash(uint log2_bits, uint probes, __global const ulong *keys,
                                      __global const uint *filter, __global uchar *maybe,
                                      volatile __global uint *positives)
{
    __local uint group_positives;
    const uint i = get_global_id(0);
    if (get_local_id(0) == 0)
        group_positives = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const ulong hash = mix_key(keys[i]);
    uint position = (uint)hash;
    const uint step = (uint)(hash >> 32) | 1;
    bool present = true;
    for (uint p = 0; p < probes; p++, position += step) {
        const uint bit = position >> (32 - log2_bits);
        if (!((filter[bit >> 5] >> (bit & 31)) & 1)) {
            present = false;
            break;
        }
    }
    maybe[i] = present;
    if (present)
        atomic_inc(&group_positives);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_add(positives, group_positives);
}

#define LIMBS 8

//@ bigint_multiply_256 | 65536 | 64 | uint*524288 uint*524288 uint*1048576
__kernel void bigint_multiply_256(__global const uint *a, __global const uint *b,
                                  __global uint *product)
{
    /* limb k of all numbers lies together */
    const uint id = get_global_id(0);
    const uint count = get_global_size(0);
    uint x[LIMBS], result[2 * LIMBS];
    for (int k = 0; k < LIMBS; k++)
        x[k] = a[k * count + id];
    for (int k = 0; k < 2 * LIMBS; k++)
        result[k] = 0;

    for (int j = 0; j < LIMBS; j++) {
        const uint y = b[j * count + id];
        if (y == 0)
            continue;
        uint carry = 0;
        for (int k = 0; k < LIMBS; k++) {
            const ulong t = (ulong)x[k] * y + result[j + k] + carry;
            result[j + k] = (uint)t;
            carry = (uint)(t >> 32);
        }
        result[j + LIMBS] = carry;
    }
    for (int k = 0; k < 2 * LIMBS; k++)
        product[k * count + id] = result[k];
}

static ulong montgomery_multiply(ulong a, ulong b, ulong n, ulong n_inverse)
{
    const ulong high = mul_hi(a, b);
    const ulong low = a * b;
    const ulong reduced = mul_hi(low * n_inverse, n);
    return high >= reduced ? high - reduced : high - reduced + n;
}

//@ modular_power_montgomery | 16384 | 64 | ulong*16384 uint*16384 ulong*16384 ulong*16384
__kernel void modular_power_montgomery(__global const ulong *bases, __global const uint *exponents,
                                       __global const ulong *moduli, __global ulong *powers)
{
    const size_t i = get_global_id(0);
    const ulong n = moduli[i] | 0x8000000000000001UL;
    const ulong base = bases[i] >= n ? bases[i] - n : bases[i];

    /* Newton's iteration doubles the right bits of the inverse: 3, 6, ..., 96 */
    ulong inverse = n;
    for (int step = 0; step < 5; step++)
        inverse *= 2 - n * inverse;

    const ulong one = 0 - n; /* 2^64 mod n */
    ulong r2 = one;
    for (int bit = 0; bit < 64; bit++) {
        const ulong room = n - r2;
        r2 = r2 >= room ? r2 - room : r2 + r2;
    }

    ulong x = montgomery_multiply(base, r2, n, inverse);
    ulong result = one;
    for (uint e = exponents[i]; e != 0; e >>= 1) {
        if (e & 1)
            result = montgomery_multiply(result, x, n, inverse);
        x = montgomery_multiply(x, x, n, inverse);
    }
    powers[i] = montgomery_multiply(result, 1, n, inverse);
}

__constant char base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

//@ base64_encode_triplets | 524288 | 256 | uint=1572860 uchar*1572864 char*2097152
__kernel void base64_encode_triplets(uint length, __global const uchar *input,
                                     __global char4 *output)
{
    const uint i = get_global_id(0);
    const uint start = i * 3;
    if (start >= length)
        return;

    const uint left = length - start;
    uint bits = (uint)input[start] << 16;
    if (left > 1)
        bits |= (uint)input[start + 1] << 8;
    if (left > 2)
        bits |= input[start + 2];

    char4 text;
    text.x = base64_alphabet[bits >> 18];
    text.y = base64_alphabet[(bits >> 12) & 63];
    text.z = left > 1 ? base64_alphabet[(bits >> 6) & 63] : '=';
    text.w = left > 2 ? base64_alphabet[bits & 63] : '=';
    output[i] = text;
}

//@ base64_decode_checked | 524288 | 256 | char*2097152:43..123 uchar*1572864 uint*1
__kernel void base64_decode_checked(__global const char4 *text, __global uchar *bytes,
                                    volatile __global uint *bad_quads)
{
    const size_t i = get_global_id(0);
    const char4 c = text[i];
    char4 value = (char4)(-1);
    value = select(value, c - (char4)('A'), c >= (char4)('A') && c <= (char4)('Z'));
    value = select(value, c - (char4)('a' - 26), c >= (char4)('a') && c <= (char4)('z'));
    value = select(value, c + (char4)(52 - '0'), c >= (char4)('0') && c <= (char4)('9'));
    value = select(value, (char4)(62), c == (char4)('+'));
    value = select(value, (char4)(63), c == (char4)('/'));

    const int bad = any(value < (char4)(0)) ? 1 : 0;
    uchar3 out = (uchar3)(0);
    if (!bad) {
        const int4 v = convert_int4(value);
        const int bits = (v.x << 18) | (v.y << 12) | (v.z << 6) | v.w;
        out = (uchar3)(bits >> 16, bits >> 8, bits);
    }
    vstore3(out, i, bytes);

    const int group_bad = work_group_reduce_add(bad);
    if (get_local_id(0) == 0 && group_bad > 0)
        atomic_add(bad_quads, (uint)group_bad);
}

#define SIP_ROUND                                                  \
    do {                                                           \
        v0 += v1; v1 = rotate(v1, 13UL) ^ v0; v0 = rotate(v0, 32UL); \
        v2 += v3; v3 = rotate(v3, 16UL) ^ v2;                      \
        v0 += v3; v3 = rotate(v3, 21UL) ^ v0;                      \
        v2 += v1; v1 = rotate(v1, 17UL) ^ v2; v2 = rotate(v2, 32UL); \
    } while (0)

//@ siphash_2_4_rows | 65536 | 128 | ulong=506097522914230528 ulong=1084818905618843912 ushort=6 ulong*393216 ulong*65536
__kernel void siphash_2_4_rows(ulong k0, ulong k1, ushort words, __global const ulong *rows,
                               __global ulong *hashes)
{
    const size_t row = get_global_id(0);
    ulong v0 = k0 ^ 0x736f6d6570736575UL, v1 = k1 ^ 0x646f72616e646f6dUL;
    ulong v2 = k0 ^ 0x6c7967656e657261UL, v3 = k1 ^ 0x7465646279746573UL;

    for (ushort w = 0; w <= words; w++) {
        /* the last word has only the length in bytes */
        const ulong m = w < words ? rows[row * words + w] : (ulong)(words * 8) << 56;
        v3 ^= m;
        SIP_ROUND;
        SIP_ROUND;
        v0 ^= m;
    }
    v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        SIP_ROUND;
    hashes[row] = v0 ^ v1 ^ v2 ^ v3;
}

__constant ulong keccak_constants[24] = {
    0x0000000000000001UL, 0x0000000000008082UL, 0x800000000000808aUL, 0x8000000080008000UL,
    0x000000000000808bUL, 0x0000000080000001UL, 0x8000000080008081UL, 0x8000000000008009UL,
    0x000000000000008aUL, 0x0000000000000088UL, 0x0000000080008009UL, 0x000000008000000aUL,
    0x000000008000808bUL, 0x800000000000008bUL, 0x8000000000008089UL, 0x8000000000008003UL,
    0x8000000000008002UL, 0x8000000000000080UL, 0x000000000000800aUL, 0x800000008000000aUL,
    0x8000000080008081UL, 0x8000000000008080UL, 0x0000000080000001UL, 0x8000000080008008UL,
};
__constant uchar keccak_rotations[24] = {
    1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
};
__constant uchar keccak_lanes[24] = {
    10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
};

//@ keccak_f1600 | 8192 | 64 | ulong*204800 ulong*204800
__kernel void keccak_f1600(__global const ulong *states, __global ulong *permuted)
{
    const uint id = get_global_id(0), count = get_global_size(0);
    ulong s[25];
    for (int i = 0; i < 25; i++)
        s[i] = states[i * count + id];

    for (int round = 0; round < 24; round++) {
        ulong parity[5];
        for (int x = 0; x < 5; x++)
            parity[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
        for (int x = 0; x < 5; x++) {
            const ulong d = parity[(x + 4) % 5] ^ rotate(parity[(x + 1) % 5], 1UL);
            for (int y = 0; y < 25; y += 5)
                s[x + y] ^= d;
        }
        ulong moving = s[1];
        for (int i = 0; i < 24; i++) {
            const int to = keccak_lanes[i];
            const ulong next = s[to];
            s[to] = rotate(moving, (ulong)keccak_rotations[i]);
            moving = next;
        }
        for (int y = 0; y < 25; y += 5) {
            const ulong first = s[y], second = s[y + 1];
            s[y] ^= ~second & s[y + 2];
            s[y + 1] ^= ~s[y + 2] & s[y + 3];
            s[y + 2] ^= ~s[y + 3] & s[y + 4];
            s[y + 3] ^= ~s[y + 4] & first;
            s[y + 4] ^= ~first & second;
        }
        s[0] ^= keccak_constants[round];
    }
    for (int i = 0; i < 25; i++)
        permuted[i * count + id] = s[i];
}
