//! Cases of hashes and ciphers.

use std::sync::OnceLock;

use super::{all_equal, bytes, numbers, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify, native};

pub fn integer_mixing() -> Case {
    let (n, rounds) = (4usize << 20, 64u32);
    let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let buffers = vec![bytes(&input)];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[u32] = numbers(buffers[0]);
        for i in (0..n).step_by(4099) {
            let want = (0..rounds).fold(input[i], |mut h, round| {
                h ^= h >> 16;
                h = h.wrapping_mul(0x7feb_352d);
                h ^= h >> 15;
                h = h.wrapping_mul(0x846c_a68b);
                (h ^ (h >> 16)).wrapping_add(round)
            });
            if got[i] != want {
                return Err(format!("element {i} is {}, not {want}", got[i]));
            }
        }
        Ok(())
    });
    Case::new("integer mixing", "integer_mixing", buffers, verify)
        .launch_over("integer_mixing", n, 256, vec![Arg::Buffer(0), value(n as u32), value(rounds)])
        .limit(Limit::Loop(native::integer_mixing()))
}

/// SHA-256 of messages of 32 bytes.
pub fn sha256() -> Case {
    let n = 256usize << 10;
    let mut random = Random::new(60);
    let mut messages: Vec<u32> = (0..8 * n).map(|_| random.next_u32()).collect();
    // FIPS 180's arithmetic is tried by a digest that everybody can compute: of 32 bytes of 0.
    messages[..8].fill(0);
    let known = [
        0x6668_7aad,
        0xf862_bd77,
        0x6c8f_c18b,
        0x8e9f_8e20,
        0x0897_1485,
        0x6ee2_33b3,
        0x902a_591d,
        0x0d5f_2925,
    ];
    let buffers = vec![bytes(&messages), vec![0; 32 * n]];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[u32] = numbers(buffers[1]);
        if got[..8] != known {
            return Err(format!("the digest of zeros is {:08x?}", &got[..8]));
        }
        for i in (0..n).step_by(1009) {
            let mut message = [0u32; 8];
            message.copy_from_slice(&messages[8 * i..8 * i + 8]);
            let want = digest(message);
            if got[8 * i..8 * i + 8] != want {
                return Err(format!("digest {i} is {:08x?}, not {want:08x?}", &got[8 * i..8 * i + 8]));
            }
        }
        Ok(())
    });
    Case::new("SHA-256", "bench_hashing", buffers, verify)
        .launch_over("sha256", n, 128, vec![Arg::Buffer(0), Arg::Buffer(1), value(n as i32)])
        .int()
        .limit(Limit::Loop(native::sha256()))
}

/// The first `count` primes' roots of order `root`: the first 32 bits behind the point.
fn fractions(count: usize, root: u32) -> Vec<u32> {
    let prime = |n: &u128| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2u128..)
        .filter(prime)
        .take(count)
        .map(|prime| {
            // The largest integer whose power is at most prime * 2^(32 root).
            let scaled = prime << (32 * root);
            (0..36).rev().fold(0u128, |sum, bit| {
                let next = sum | 1 << bit;
                if next.pow(root) <= scaled { next } else { sum }
            }) as u32
        })
        .collect()
}

/// SHA-256's constants: of its rounds, and of its beginning.
pub fn constants() -> &'static (Vec<u32>, Vec<u32>) {
    static CONSTANTS: OnceLock<(Vec<u32>, Vec<u32>)> = OnceLock::new();
    CONSTANTS.get_or_init(|| (fractions(64, 3), fractions(8, 2)))
}

/// The digest of 32 bytes, from the definition.
fn digest(message: [u32; 8]) -> [u32; 8] {
    let (k, start) = constants();
    let mut w = message.to_vec();
    w.extend([0x8000_0000, 0, 0, 0, 0, 0, 0, 256]);
    for t in 16..64 {
        let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
        let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
        w.push([w[t - 16], s0, w[t - 7], s1].into_iter().fold(0, u32::wrapping_add));
    }
    let mut v = start.clone();
    for t in 0..64 {
        let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
        let t1 = [v[7], s1, choice, k[t], w[t]].into_iter().fold(0, u32::wrapping_add);
        let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v.rotate_right(1);
        v[4] = v[4].wrapping_add(t1);
        v[0] = t1.wrapping_add(s0).wrapping_add(majority);
    }
    std::array::from_fn(|i| start[i].wrapping_add(v[i]))
}

/// AES-128's substitution box, from its definition: inverses in the field of 256 and an affine map.
fn box_() -> [u8; 256] {
    let multiply = |mut a: u8, mut b: u8| {
        let mut product = 0;
        while b != 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            a = a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
            b >>= 1;
        }
        product
    };
    std::array::from_fn(|x| {
        // x^254 is the inverse.
        let inverse = (0..253).fold(x as u8, |power, _| multiply(power, x as u8));
        (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
    })
}

/// AES-128 in counter mode, by a table of words in local memory.
pub fn aes() -> Case {
    let n = 512usize << 10;
    let sbox = box_();
    let double = |x: u8| x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 };
    let table: Vec<u32> =
        sbox.iter().map(|&s| u32::from_be_bytes([double(s), s, s, double(s) ^ s])).collect();
    // FIPS 197's key of appendix A.1.
    let mut keys = vec![0x2b7e_1516u32, 0x28ae_d2a6, 0xabf7_1588, 0x09cf_4f3c];
    let mut round_constant = 1u8;
    for i in 4..44 {
        let mut word = keys[i - 1];
        if i % 4 == 0 {
            word = u32::from_be_bytes(word.rotate_left(8).to_be_bytes().map(|byte| sbox[usize::from(byte)]))
                ^ u32::from(round_constant) << 24;
            round_constant = double(round_constant);
        }
        keys.push(keys[i - 4] ^ word);
    }
    assert_eq!(keys[43], 0xb663_0ca6, "the last word of the key schedule of FIPS 197, appendix A.1");
    let buffers = vec![bytes(&table), sbox.to_vec(), bytes(&keys), vec![0; 16 * n]];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[u32] = numbers(buffers[3]);
        for i in (0..n).step_by(1009) {
            let want = encrypt([0, 0, 0, i as u32], &sbox, &keys);
            all_equal(&got[4 * i..4 * i + 4], &want)?;
        }
        Ok(())
    });
    let mut args: Vec<Arg> = (0..4).map(Arg::Buffer).collect();
    args.push(value(n as i32));
    Case::new("AES-128", "bench_hashing", buffers, verify).launch_over("aes128", n, 256, args).int()
}

/// A block of AES-128, byte by byte as FIPS 197 has it.
fn encrypt(block: [u32; 4], sbox: &[u8; 256], keys: &[u32]) -> [u32; 4] {
    let double = |x: u8| x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 };
    let mut state: [[u8; 4]; 4] = std::array::from_fn(|c| (block[c] ^ keys[c]).to_be_bytes());
    for round in 1..=10 {
        let shifted: [[u8; 4]; 4] =
            std::array::from_fn(|c| std::array::from_fn(|r| sbox[usize::from(state[(c + r) % 4][r])]));
        state = std::array::from_fn(|c| {
            let a = shifted[c];
            let mixed = if round == 10 {
                a
            } else {
                std::array::from_fn(|r| {
                    let next = a[(r + 1) % 4];
                    double(a[r]) ^ double(next) ^ next ^ a[(r + 2) % 4] ^ a[(r + 3) % 4]
                })
            };
            (u32::from_be_bytes(mixed) ^ keys[4 * round + c]).to_be_bytes()
        });
    }
    state.map(u32::from_be_bytes)
}
