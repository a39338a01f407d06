//! Seeded damage to real modules, and what must hold whatever comes of it.

use rustc_hash::FxHashSet;
use spirv_env::{BuildError, Environment, Id, Module, ModuleInput, Operand, build, spec_constants};
use std::path::{Path, PathBuf};

/// A generator of pseudo-random numbers (Steele, Lea and Flood's SplitMix64, OOPSLA 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// All modules in a folder, in the order of their names.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "spv"));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

const HEADER_WORDS: usize = 5;

/// Where instructions begin, as far as word counts make sense.
fn boundaries(words: &[u32]) -> Vec<usize> {
    let mut at = HEADER_WORDS;
    let mut found = Vec::new();
    while at < words.len() {
        found.push(at);
        at += ((words[at] >> 16) as usize).max(1);
    }
    found.push(words.len());
    found
}

/// Damages a module in one to three ways. `other` gives instructions to splice in.
pub fn mutate(random: &mut Random, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut words: Vec<u32> = to_words(bytes);
    for _ in 0..=random.below(3) {
        if words.len() <= HEADER_WORDS {
            break;
        }
        let places = boundaries(&words);
        let instruction = |random: &mut Random| {
            let at = random.below(places.len() - 1);
            places[at]..places[at + 1].min(words.len())
        };
        let range = instruction(random);
        match random.below(10) {
            0 => {
                let (at, bit) = (random.below(words.len()), random.below(32));
                words[at] ^= 1 << bit;
            }
            1 => words.truncate(random.below(words.len())),
            2 => {
                const TELLING: [u32; 8] =
                    [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, u32::MAX, 0x003F_FFFF, 0x0001_0000];
                let at = random.below(words.len());
                words[at] = TELLING[random.below(TELLING.len())];
            }
            3 => {
                words.drain(range);
            }
            4 => {
                let copy = words[range].to_vec();
                let to = places[random.below(places.len())].min(words.len());
                words.splice(to..to, copy);
            }
            5 => {
                let donor = to_words(other);
                if donor.len() > HEADER_WORDS {
                    let from = boundaries(&donor);
                    let at = random.below(from.len() - 1);
                    let end = from[(at + 1 + random.below(3)).min(from.len() - 1)].min(donor.len());
                    words.splice(range.start..range.start, donor[from[at]..end].iter().copied());
                }
            }
            // The most likely to get past the first checks: an operand that becomes another id.
            6..=8 => {
                let bound = words[3].max(2) as usize;
                if range.len() > 1 {
                    words[range.start + 1 + random.below(range.len() - 1)] = 1 + random.below(bound) as u32;
                }
            }
            _ => {
                let opcode = words[instruction(random).start] & 0xFFFF;
                words[range.start] = words[range.start] & 0xFFFF_0000 | opcode;
            }
        }
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Changes one instruction behind the header: an operand, an opcode, its place, or that it is there.
#[allow(dead_code, reason = "only the comparison with another validator needs it")]
pub fn mutate_once(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut words = to_words(bytes);
    let places = boundaries(&words);
    if places.len() < 3 {
        return bytes.to_vec();
    }
    let at = random.below(places.len() - 1);
    let range = places[at]..places[at + 1].min(words.len());
    let bound = words[3].max(2) as usize;
    match random.below(8) {
        0 => {
            words.drain(range);
        }
        1 => {
            let copy = words[range].to_vec();
            let to = places[random.below(places.len())].min(words.len());
            words.splice(to..to, copy);
        }
        2 => {
            let opcode = words[places[random.below(places.len() - 1)]] & 0xFFFF;
            words[range.start] = words[range.start] & 0xFFFF_0000 | opcode;
        }
        3 if range.len() > 1 => {
            let at = range.start + 1 + random.below(range.len() - 1);
            words[at] ^= 1 << random.below(8);
        }
        _ if range.len() > 1 => {
            words[range.start + 1 + random.below(range.len() - 1)] = 1 + random.below(bound) as u32;
        }
        _ => {}
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn to_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Builds a module and checks what holds for every input: no panic, reasons where it is rejected, and
/// where it is accepted, no id without a meaning.
pub fn check(bytes: &[u8], env: &Environment<'_>) -> bool {
    match build(&[ModuleInput::new(bytes)], env) {
        Ok(module) => {
            assert!(is_closed(&module), "an accepted module uses an id that it does not define");
            true
        }
        Err(error) => {
            assert!(!panicked(&error), "{error}");
            assert!(!error.diagnostics.is_empty() && !error.to_string().is_empty());
            false
        }
    }
}

/// The same for several modules that are linked, with values for whatever specialization constants there are.
pub fn check_linked(modules: &[&[u8]], env: &Environment<'_>) {
    let input = |bytes: &&[u8]| {
        let known = spec_constants(bytes);
        known.iter().map(|known| (known.spec_id, vec![0x5A; known.size as usize])).collect()
    };
    let values: Vec<Vec<(u32, Vec<u8>)>> = modules.iter().map(input).collect();
    let inputs = modules
        .iter()
        .zip(values)
        .map(|(bytes, constants)| ModuleInput { constants, ..ModuleInput::new(bytes) });
    match build(&inputs.collect::<Vec<_>>(), env) {
        Ok(module) => assert!(is_closed(&module), "a linked module uses an id that it does not define"),
        Err(error) => assert!(!panicked(&error), "{error}"),
    }
}

fn panicked(error: &BuildError) -> bool {
    error.diagnostics.iter().any(|diagnostic| diagnostic.rule == "internal")
}

fn is_closed(module: &Module) -> bool {
    let mut known: FxHashSet<Id> = module.constants.keys().copied().collect();
    known.extend(module.globals.iter().map(|global| global.id));
    known.extend(module.ext_sets.keys());
    known.extend(module.functions.iter().map(|function| function.id));
    module.functions.iter().all(|function| {
        let mut known = known.clone();
        known.extend(function.params.iter().map(|(id, _)| *id));
        for block in &function.blocks {
            known.insert(block.label);
            known.extend(block.insts.iter().filter_map(|inst| inst.result));
        }
        function.blocks.iter().flat_map(|block| &block.insts).all(|inst| {
            let plain = match inst.op {
                // Alias lists behind the mask are no values.
                spirv::Op::Load => 1,
                spirv::Op::Store | spirv::Op::CopyMemory => 2,
                spirv::Op::CopyMemorySized => 3,
                _ => inst.operands.len(),
            };
            inst.operands.iter().take(plain).all(|operand| match operand {
                Operand::Id(id) => known.contains(id),
                Operand::Lit(_) => true,
            })
        })
    })
}
