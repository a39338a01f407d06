//! Instructions as text for the build log: with names where the module has them.

use crate::binary::{Binary, RawInst};
use crate::grammar::{Cursor, enumerant_name, op_name};
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use std::fmt::Write;

/// Characters of a name and words of an instruction that a log shows.
const LONGEST_NAME: usize = 64;
const MOST_OPERANDS: usize = 16;

/// Names for the ids of a module: those that `OpName` gives, and what scalars, vectors and pointers are called.
pub(crate) struct Listing<'a> {
    binary: &'a Binary,
    names: FxHashMap<u32, String>,
}

impl<'a> Listing<'a> {
    pub fn new(binary: &'a Binary) -> Self {
        let mut listing = Self { binary, names: FxHashMap::default() };
        let mut used: FxHashSet<String> = FxHashSet::default();
        for inst in binary.instructions().map_while(Result::ok) {
            if inst.op == Op::Function {
                break;
            }
            let Some((id, name)) = listing.name_from(&inst) else { continue };
            if listing.names.contains_key(&id) {
                continue;
            }
            let name = if used.contains(&name) { format!("{name}_{id}") } else { name };
            used.insert(name.clone());
            listing.names.insert(id, name);
        }
        listing
    }

    /// The id that an instruction names or declares, and what to call it.
    fn name_from(&self, inst: &RawInst<'_>) -> Option<(u32, String)> {
        let word = |at: usize| inst.operands.get(at).copied();
        let id = word(0)?;
        let of = |at: usize| self.names.get(&word(at)?).map(String::as_str);
        Some(match inst.op {
            Op::Name => {
                let name = Cursor::new(inst.operands.get(1..)?).string().ok()?;
                let plain: String = name
                    .chars()
                    .take(LONGEST_NAME)
                    .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' })
                    .collect();
                if plain.is_empty() {
                    return None;
                }
                (id, plain)
            }
            Op::TypeVoid => (id, "void".into()),
            Op::TypeBool => (id, "bool".into()),
            Op::TypeInt => match word(1)? {
                8 => (id, "uchar".into()),
                16 => (id, "ushort".into()),
                32 => (id, "uint".into()),
                64 => (id, "ulong".into()),
                width => (id, format!("uint{width}")),
            },
            Op::TypeFloat => match word(1)? {
                16 => (id, "half".into()),
                32 => (id, "float".into()),
                64 => (id, "double".into()),
                width => (id, format!("float{width}")),
            },
            Op::TypeVector => (id, format!("v{}{}", word(2)?, of(1)?)),
            Op::TypePointer => {
                let class = StorageClass::from_u32(word(1)?)?;
                let name = format!("_ptr_{class:?}_{}", of(2)?);
                // Pointers to pointers to pointers grow without end.
                if name.len() > LONGEST_NAME {
                    return None;
                }
                (id, name)
            }
            Op::Constant if inst.operands.len() == 3 && of(0)?.starts_with('u') => {
                (word(1)?, format!("{}_{}", of(0)?, word(2)?))
            }
            _ => return None,
        })
    }

    fn id(&self, raw: u32) -> String {
        match self.names.get(&raw) {
            Some(name) => format!("%{name}"),
            None => format!("%{raw}"),
        }
    }

    /// A message whose ids have their names.
    pub fn with_names(&self, message: &str) -> String {
        let mut out = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(at) = rest.find('%') {
            let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            match after[1..=digits].parse() {
                Ok(raw) => out.push_str(&self.id(raw)),
                Err(_) => out.push_str(&after[..=digits]),
            }
            rest = &after[digits + 1..];
        }
        out.push_str(rest);
        out
    }

    /// The instruction that begins at a word of the module.
    pub fn instruction(&self, offset: u32) -> Option<String> {
        let inst = self.binary.instruction_at(offset)?;
        let entry = INSTRUCTION_TABLE.iter().find(|entry| entry.opcode == inst.op)?;
        let mut result = None;
        let mut text = String::new();
        let mut words = inst.operands;
        let mut shown = 0;
        'operands: for operand in entry.operands {
            loop {
                if words.is_empty() {
                    break;
                }
                if shown == MOST_OPERANDS {
                    text.push_str(" ...");
                    break 'operands;
                }
                shown += 1;
                match operand.kind {
                    OperandKind::IdResult => result = Some(self.id(words[0])),
                    kind => words = self.operand(kind, words, &mut text),
                }
                if operand.kind == OperandKind::IdResult {
                    words = &words[1..];
                }
                if operand.quantifier != OperandQuantifier::ZeroOrMore {
                    break;
                }
            }
        }
        if shown < MOST_OPERANDS {
            for word in words.iter().take(MOST_OPERANDS - shown) {
                let _ = write!(text, " {word}");
            }
        }
        let name = op_name(inst.op);
        Some(match result {
            Some(result) => format!("{result} = {name}{text}"),
            None => format!("{name}{text}"),
        })
    }

    /// Appends one operand; what is left of the words.
    fn operand<'w>(&self, kind: OperandKind, words: &'w [u32], text: &mut String) -> &'w [u32] {
        use OperandKind as K;
        let (first, rest) = (words[0], &words[1..]);
        // Writing to a string does not fail.
        let _ = match kind {
            K::IdResultType | K::IdRef | K::IdScope | K::IdMemorySemantics => {
                write!(text, " {}", self.id(first))
            }
            K::PairIdRefIdRef if !rest.is_empty() => {
                let _ = write!(text, " {} {}", self.id(first), self.id(rest[0]));
                return &rest[1..];
            }
            K::PairLiteralIntegerIdRef if !rest.is_empty() => {
                let _ = write!(text, " {first} {}", self.id(rest[0]));
                return &rest[1..];
            }
            K::LiteralString => {
                let mut cursor = Cursor::new(words);
                let string = cursor.string().unwrap_or_default();
                let string: String = string.chars().take(LONGEST_NAME).collect();
                let _ = write!(text, " {string:?}");
                return cursor.rest();
            }
            kind => match enumerant_name(kind, first) {
                Some(name) => write!(text, " {name}"),
                None => write!(text, " {first}"),
            },
        };
        rest
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{build_text, kernel};

    fn log(declarations: &str, body: &str) -> String {
        build_text(&kernel(declarations, body)).unwrap_err().to_string()
    }

    #[test]
    fn instructions_are_shown_with_their_operands_and_names() {
        let pointer = "%p = OpTypePointer Function %float";
        let text = kernel(pointer, "%ptr = OpVariable %p Function\n%r = OpLoad %uint %ptr")
            .replace("%void = ", "OpName %ptr \"ptr\"\n%void = ");
        let log = build_text(&text).unwrap_err().to_string();
        assert!(log.contains("= OpLoad %uint %ptr, word "), "{log}");
        assert!(log.contains("the pointer is to f32, the result is i32"), "{log}");
    }

    #[test]
    fn enumerants_and_constants_are_words() {
        let log = log("%p = OpTypePointer Uniform %uint", "");
        assert!(log.contains("OpTypePointer Uniform %uint, word "), "{log}");
    }

    #[test]
    fn messages_name_ids_as_the_instruction_does() {
        let text = kernel("", "%r = OpIAdd %uint %missing %u1")
            .replace("%void = ", "OpName %missing \"lost\"\n%void = ");
        let log = build_text(&text).unwrap_err().to_string();
        assert!(log.contains("error: %lost is not defined"), "{log}");
        assert!(log.contains("OpIAdd %uint %lost %uint_1"), "{log}");
    }
}
