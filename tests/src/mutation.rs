//! Random damage to SPIR-V modules, reproducible from its number.

use std::fs;
use std::path::Path;

use crate::random::Random;

/// Words of the SPIR-V header.
const HEADER_WORDS: usize = 5;
/// Word of the header that bounds the ids.
const BOUND_WORD: usize = 3;

/// The modules of a folder, by name.
pub fn corpus(folder: &Path) -> Vec<(String, Vec<u32>)> {
    let mut modules: Vec<(String, Vec<u32>)> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".spv")?.to_owned();
            let bytes = fs::read(&path).ok()?;
            Some((
                name,
                bytes
                    .chunks_exact(4)
                    .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                    .collect(),
            ))
        })
        .collect();
    modules.sort();
    modules
}

/// The damaged module of a number, with the name of what it was made of.
pub fn mutate(number: u64, corpus: &[(String, Vec<u32>)]) -> (String, Vec<u8>) {
    let mut random = Random::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (name, words) = &corpus[random.below(corpus.len() as u32) as usize];
    let mut words = words.clone();
    let times = 1 + random.below(4);
    for _ in 0..times {
        damage(&mut random, &mut words, corpus);
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // Sizes that are not whole words.
    if random.below(50) == 0 {
        bytes.truncate(bytes.len().saturating_sub(random.below(4) as usize));
    }
    (name.clone(), bytes)
}

/// The first words of the instructions.
fn instructions(words: &[u32]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = HEADER_WORDS;
    while at < words.len() {
        starts.push(at);
        at += (words[at] >> 16).max(1) as usize;
    }
    starts
}

fn damage(random: &mut Random, words: &mut Vec<u32>, corpus: &[(String, Vec<u32>)]) {
    let starts = instructions(words);
    if words.len() <= HEADER_WORDS || starts.is_empty() {
        words.push(random.next_u32());
        return;
    }
    let any = random.below(words.len() as u32) as usize;
    let start = starts[random.below(starts.len() as u32) as usize];
    let length = ((words[start] >> 16).max(1) as usize).min(words.len() - start);
    let operand = start + 1 + random.below(length.max(2) as u32 - 1) as usize;
    let operand = operand.min(words.len() - 1);
    match random.below(14) {
        0 => words[any] ^= 1 << random.below(32),
        1 => words[any] = random.next_u32(),
        2 => words[any] = [0, 1, u32::MAX, 0x7fff_ffff, 0x8000_0000][random.below(5) as usize],
        3 => words.truncate(any),
        // Another id, of another kind or not yet defined.
        4 | 5 => words[operand] = random.below(words[BOUND_WORD].clamp(2, 1 << 20)),
        6 => words[operand] = words[operand].wrapping_add_signed(random.between(-2, 2)),
        // Another instruction of the same length.
        7 => words[start] = words[start] & 0xffff_0000 | random.below(450),
        // Another length.
        8 => words[start] = words[start] & 0xffff | random.below(12) << 16,
        9 => drop(words.drain(start..start + length)),
        10 => {
            let copy = words[start..start + length].to_vec();
            let target = starts[random.below(starts.len() as u32) as usize];
            words.splice(target..target, copy);
        }
        11 => {
            let (_, other) = &corpus[random.below(corpus.len() as u32) as usize];
            let starts = instructions(other);
            if let Some(&from) = starts.get(random.below(starts.len().max(1) as u32) as usize) {
                let to = (from + 1 + random.below(40) as usize).min(other.len());
                words.splice(start..start, other[from..to].iter().copied());
            }
        }
        12 => words[BOUND_WORD] = random.next_u32() >> random.below(32),
        _ => {
            let other = starts[random.below(starts.len() as u32) as usize];
            if words[other] >> 16 == words[start] >> 16 {
                for k in 0..length.min(words.len() - other) {
                    words.swap(start + k, other + k);
                }
            }
        }
    }
}
