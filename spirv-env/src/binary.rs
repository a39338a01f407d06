//! The binary form: bytes to words to instructions, with nothing assumed about either.

use crate::diagnostics::{Fault, RuleId};
use crate::own_opcodes;
use spirv::Op;

const SOURCE: &str = "SPIR-V 1.2 §2.3";
const SIZE: RuleId = RuleId { id: "binary.size", source: SOURCE };
const MAGIC: RuleId = RuleId { id: "binary.magic", source: SOURCE };
const ENDIANNESS: RuleId = RuleId { id: "binary.endianness", source: "L0 SPIR-V Guide, Common Properties" };
const SCHEMA: RuleId = RuleId { id: "binary.schema", source: SOURCE };
const VERSION: RuleId = RuleId { id: "binary.version", source: "L0 SPIR-V Guide, Supported SPIR-V Versions" };
const BOUND: RuleId = RuleId { id: "binary.bound", source: "SPIR-V 1.2 §2.17" };
const WORD_COUNT: RuleId = RuleId { id: "binary.word-count", source: SOURCE };
const OPCODE: RuleId = RuleId { id: "binary.opcode", source: "SPIR-V 1.2 §3.32" };

const HEADER_WORDS: usize = 5;
/// The universal limit on the id bound (SPIR-V 1.2 §2.17).
pub const MAX_BOUND: u32 = 0x3F_FFFF;

/// A module's words after the header was checked.
pub struct Binary {
    words: Vec<u32>,
    /// Major, minor.
    pub version: (u8, u8),
    pub bound: u32,
}

/// One instruction's words.
#[derive(Clone, Copy, Debug)]
pub struct RawInst<'a> {
    pub op: Op,
    /// Words from the start of the module.
    pub offset: u32,
    /// The words after the first.
    pub operands: &'a [u32],
}

/// An instruction whose first word makes no sense.
#[derive(Debug)]
pub struct BadInst {
    pub offset: u32,
    pub fault: Fault,
}

impl Binary {
    /// Checks size and header. `newest` is the newest version that is accepted.
    pub fn new(bytes: &[u8], newest: (u8, u8)) -> Result<Self, Fault> {
        if bytes.len() < HEADER_WORDS * 4 {
            let message =
                format!("{} bytes are too few for a module header of {}", bytes.len(), HEADER_WORDS * 4);
            return Err(Fault::new(SIZE, message));
        }
        if !bytes.len().is_multiple_of(4) {
            return Err(Fault::new(
                SIZE,
                format!("{} bytes are not a whole number of 32-bit words", bytes.len()),
            ));
        }
        let (chunks, _) = bytes.as_chunks::<4>();
        let words: Vec<u32> = chunks.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        match words[0] {
            spirv::MAGIC_NUMBER => {}
            word if word.swap_bytes() == spirv::MAGIC_NUMBER => {
                return Err(Fault::new(ENDIANNESS, "the words are not in the byte order of the host"));
            }
            word => {
                let message =
                    format!("the first word is {word:#010x}, SPIR-V has {:#010x}", spirv::MAGIC_NUMBER);
                return Err(Fault::new(MAGIC, message));
            }
        }
        let [low, minor, major, high] = words[1].to_le_bytes();
        if high != 0 || low != 0 || major != 1 {
            return Err(Fault::new(VERSION, format!("{:#010x} is not a SPIR-V version", words[1])));
        }
        let version = (major, minor);
        if version > newest {
            let message =
                format!("version {major}.{minor} is newer than the device's {}.{}", newest.0, newest.1);
            return Err(Fault::new(VERSION, message));
        }
        let bound = words[3];
        if bound == 0 || bound > MAX_BOUND {
            return Err(Fault::new(BOUND, format!("the id bound {bound} is not between 1 and {MAX_BOUND}")));
        }
        match words[4] {
            0 => Ok(Self { words, version, bound }),
            schema => Err(Fault::new(SCHEMA, format!("the instruction schema is {schema}, it must be 0"))),
        }
    }

    /// The instruction that begins at a word of the module.
    pub fn instruction_at(&self, offset: u32) -> Option<RawInst<'_>> {
        if (offset as usize) < HEADER_WORDS {
            return None;
        }
        Instructions { words: &self.words, at: offset as usize }.next()?.ok()
    }

    pub fn instructions(&self) -> Instructions<'_> {
        Instructions { words: &self.words, at: HEADER_WORDS }
    }
}

/// The instructions of a module in order. Ends after the first error.
pub struct Instructions<'a> {
    words: &'a [u32],
    at: usize,
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<RawInst<'a>, BadInst>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.words.get(self.at..).filter(|rest| !rest.is_empty())?;
        // Module sizes are bounded by the caller's memory; offsets beyond 32 bits only blur a message.
        let offset = self.at as u32;
        let (count, opcode) = ((rest[0] >> 16) as usize, rest[0] & 0xFFFF);
        let bad = |rule, message| Some(Err(BadInst { offset, fault: Fault::new(rule, message) }));
        if count == 0 || count > rest.len() {
            self.at = self.words.len();
            return bad(WORD_COUNT, format!("{count} words, {} are left in the module", rest.len()));
        }
        let Some(op) = own_opcodes::op(opcode) else {
            self.at = self.words.len();
            return bad(OPCODE, format!("opcode {opcode} is unknown"));
        };
        self.at += count;
        Some(Ok(RawInst { op, offset, operands: &rest[1..count] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: (u8, u8) = (1, 6);

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn rule_of(bytes: &[u8]) -> &'static str {
        Binary::new(bytes, NEWEST).err().map_or("accepted", |fault| fault.rule.id)
    }

    #[test]
    fn headers_are_checked() {
        let good = [spirv::MAGIC_NUMBER, 0x0001_0200, 0, 10, 0];
        assert_eq!(rule_of(&bytes(&good)), "accepted");
        assert_eq!(rule_of(&[]), "binary.size");
        assert_eq!(rule_of(&bytes(&good)[..19]), "binary.size");
        assert_eq!(rule_of(&[bytes(&good), vec![0]].concat()), "binary.size");
        for (at, value, rule) in [
            (0, spirv::MAGIC_NUMBER.swap_bytes(), "binary.endianness"),
            (0, 0x4243_C0DE, "binary.magic"),
            (1, 0x0001_0700, "binary.version"),
            (1, 0x0002_0000, "binary.version"),
            (1, 0x0001_0201, "binary.version"),
            (4, 1, "binary.schema"),
            (3, 0, "binary.bound"),
            (3, MAX_BOUND + 1, "binary.bound"),
        ] {
            let mut words = good;
            words[at] = value;
            assert_eq!(rule_of(&bytes(&words)), rule, "{words:x?}");
        }
    }

    #[test]
    fn instructions_end_inside_the_module() {
        let header = [spirv::MAGIC_NUMBER, 0x0001_0200, 0, 10, 0];
        let last = |inst: &[u32]| {
            let binary = Binary::new(&bytes(&[&header[..], inst].concat()), NEWEST).unwrap();
            match binary.instructions().last() {
                Some(Ok(inst)) => format!("{:?}", inst.op),
                Some(Err(bad)) => bad.fault.rule.id.to_owned(),
                None => "none".to_owned(),
            }
        };
        assert_eq!(last(&[]), "none");
        assert_eq!(last(&[0x0002_0011, 6]), "Capability");
        assert_eq!(last(&[0x0000_0011, 6]), "binary.word-count");
        assert_eq!(last(&[0x0003_0011, 6]), "binary.word-count");
        assert_eq!(last(&[0x0002_7FFF, 6]), "binary.opcode");
    }
}
