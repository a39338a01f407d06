//! Operand formats of every opcode, from rspirv's grammar tables, and the decoding that follows them.

use crate::diagnostics::{Fault, RuleId};
use crate::module::{Id, Operand};
use crate::own_opcodes::OWN;
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use smallvec::SmallVec;
use spirv::{ImageOperands, MemoryAccess, Op};
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) const OPERANDS: RuleId = RuleId { id: "binary.operands", source: "SPIR-V 1.2 §3.32" };
pub(crate) const STRING: RuleId = RuleId { id: "binary.string", source: "SPIR-V 1.2 §2.2.1" };

/// How an operand's words are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Id,
    /// A literal of one word, an enumerant, or a mask without parameters.
    Literal,
    String,
    /// As many words as the result type, or the selector of `OpSwitch`, is wide.
    Number,
    MemoryAccess,
    ImageOperands,
    LiteralIdPair,
    IdLiteralPair,
    IdIdPair,
    /// A kind that no accepted capability brings.
    Foreign,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeat {
    One,
    Optional,
    Many,
}

/// An opcode's operands.
#[derive(Debug)]
pub(crate) struct Format {
    pub name: &'static str,
    pub has_type: bool,
    pub has_result: bool,
    /// Any of these brings the instruction.
    pub capabilities: &'static [spirv::Capability],
    operands: SmallVec<[(Reading, Repeat); 6]>,
}

/// Opcodes from this number on are vendors' and are looked up in a sorted list.
const DENSE: usize = 512;

struct Table {
    dense: Vec<Option<Format>>,
    sparse: Vec<(u32, Format)>,
}

fn table() -> &'static Table {
    // Not a `OnceLock`: threads that need the table at the same time each make one, and the first stays. None waits
    // for another, which in a forked child may not exist.
    static TABLE: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());
    // SAFETY: the pointer is null, or from `Box::into_raw` and never freed.
    if let Some(table) = unsafe { TABLE.load(Ordering::Acquire).as_ref() } {
        return table;
    }
    let made = Box::into_raw(Box::new(make_table()));
    match TABLE.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just made, and never freed.
        Ok(_) => unsafe { &*made },
        Err(first) => {
            // SAFETY: just made, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            // SAFETY: as above: it is not null.
            unsafe { &*first }
        }
    }
}

fn make_table() -> Table {
    let mut table = Table { dense: Vec::new(), sparse: Vec::new() };
    table.dense.resize_with(DENSE, || None);
    for own in OWN {
        let format = Format {
            name: own.name,
            has_type: own.has_result,
            has_result: own.has_result,
            capabilities: own.capabilities,
            operands: own.operands.iter().copied().collect(),
        };
        table.sparse.push((own.op as u32, format));
    }
    for entry in INSTRUCTION_TABLE.iter().filter(|entry| OWN.iter().all(|own| own.op != entry.opcode)) {
        let mut format = Format {
            name: entry.opname,
            has_type: false,
            has_result: false,
            capabilities: entry.capabilities,
            operands: SmallVec::new(),
        };
        for operand in entry.operands {
            match operand.kind {
                OperandKind::IdResultType => format.has_type = true,
                OperandKind::IdResult => format.has_result = true,
                kind => format.operands.push((kind_of(kind), repeat_of(operand.quantifier))),
            }
        }
        let number = entry.opcode as u32;
        match table.dense.get_mut(number as usize) {
            Some(slot) => *slot = Some(format),
            None => table.sparse.push((number, format)),
        }
    }
    table.sparse.sort_by_key(|(number, _)| *number);
    table
}

fn kind_of(kind: OperandKind) -> Reading {
    use OperandKind as K;
    match kind {
        K::IdRef | K::IdScope | K::IdMemorySemantics => Reading::Id,
        K::LiteralString => Reading::String,
        K::LiteralContextDependentNumber => Reading::Number,
        K::MemoryAccess => Reading::MemoryAccess,
        K::ImageOperands => Reading::ImageOperands,
        K::PairLiteralIntegerIdRef => Reading::LiteralIdPair,
        K::PairIdRefLiteralInteger => Reading::IdLiteralPair,
        K::PairIdRefIdRef => Reading::IdIdPair,
        K::TensorAddressingOperands
        | K::TensorOperands
        | K::RawAccessChainOperands
        | K::Debuginfo(_)
        | K::NonsemanticClspvreflection(_)
        | K::NonsemanticShaderDebuginfo100(_)
        | K::OpenclDebuginfo100(_) => Reading::Foreign,
        _ => Reading::Literal,
    }
}

fn repeat_of(quantifier: OperandQuantifier) -> Repeat {
    match quantifier {
        OperandQuantifier::One => Repeat::One,
        OperandQuantifier::ZeroOrOne => Repeat::Optional,
        OperandQuantifier::ZeroOrMore => Repeat::Many,
    }
}

pub(crate) fn format(op: Op) -> Option<&'static Format> {
    let table = table();
    let number = op as u32;
    match table.dense.get(number as usize) {
        Some(slot) => slot.as_ref(),
        None => {
            let at = table.sparse.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            Some(&table.sparse[at].1)
        }
    }
}

/// The capabilities of which any brings the instruction.
pub(crate) fn capabilities(op: Op) -> Option<&'static [spirv::Capability]> {
    format(op).map(|format| format.capabilities)
}

/// The opcode's name as the specification writes it.
pub fn op_name(op: Op) -> String {
    own_name(format!("Op{}", format(op).map_or_else(|| format!("{op:?}"), |format| format.name.to_owned())))
}

/// INTEL's extensions for FPGAs are also called ALTERA's; programs know them by the first name.
pub(crate) fn own_name(name: String) -> String {
    match name.strip_suffix("ALTERA") {
        Some(stem) => format!("{stem}INTEL"),
        None => name,
    }
}

/// The name of an enumerant; `None` for a mask or a number.
pub(crate) fn enumerant_name(kind: OperandKind, value: u32) -> Option<String> {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(OperandKind::$kind => spirv::$kind::from_u32(value).map(|value| format!("{value:?}")),)*
                OperandKind::LiteralSpecConstantOpInteger => {
                    Op::from_u32(value).map(|op| op_name(op)[2..].to_owned())
                }
                _ => None,
            }
        };
    }
    of!(
        Capability,
        ExecutionModel,
        AddressingModel,
        MemoryModel,
        ExecutionMode,
        StorageClass,
        Dim,
        SamplerAddressingMode,
        SamplerFilterMode,
        ImageFormat,
        AccessQualifier,
        Decoration,
        BuiltIn,
        LinkageType,
        FunctionParameterAttribute,
        FPRoundingMode,
        GroupOperation,
        SourceLanguage
    )
    .map(|name| own_name(name.strip_prefix("Dim").unwrap_or(&name).to_owned()))
}

/// The ids that are in front of the other operands.
pub(crate) struct Heads {
    pub ty: Option<u32>,
    pub result: Option<u32>,
}

/// Words of one instruction, read from the front.
pub(crate) struct Cursor<'a> {
    words: &'a [u32],
}

impl<'a> Cursor<'a> {
    pub fn new(words: &'a [u32]) -> Self {
        Self { words }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn rest(&self) -> &'a [u32] {
        self.words
    }

    pub fn word(&mut self) -> Result<u32, Fault> {
        let (&word, rest) =
            self.words.split_first().ok_or_else(|| Fault::new(OPERANDS, "an operand is missing"))?;
        self.words = rest;
        Ok(word)
    }

    /// A nul-terminated UTF-8 string.
    pub fn string(&mut self) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        loop {
            let word = self.word().map_err(|_| Fault::new(STRING, "a string has no end"))?;
            let word = word.to_le_bytes();
            match word.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    bytes.extend_from_slice(&word[..end]);
                    break;
                }
                None => bytes.extend_from_slice(&word),
            }
        }
        String::from_utf8(bytes).map_err(|_| Fault::new(STRING, "a string is not UTF-8"))
    }

    pub fn end(&self) -> Result<(), Fault> {
        match self.words.len() {
            0 => Ok(()),
            extra => Err(Fault::new(OPERANDS, format!("{extra} operand words too many"))),
        }
    }

    /// A literal of `width` bits, zero-extended. Narrow ones may be sign-extended to their word: their bits are cut.
    pub fn number(&mut self, width: u32) -> Result<u64, Fault> {
        u64::try_from(self.wide_number(width)?)
            .map_err(|_| Fault::new(OPERANDS, format!("a literal of {width} bits, more than 64")))
    }

    /// The same for up to 128 bits: the words of lower order come first, and the highest one is cut.
    pub fn wide_number(&mut self, width: u32) -> Result<u128, Fault> {
        let mut bits = 0u128;
        for at in 0..width.clamp(1, u128::BITS).div_ceil(u32::BITS) {
            bits |= u128::from(self.word()?) << (u32::BITS * at);
        }
        Ok(if width < u128::BITS { bits & ((1 << width) - 1) } else { bits })
    }
}

/// Where decoded operands go.
pub(crate) type Operands = SmallVec<[Operand; 4]>;

/// Reads result type and result id where the opcode has them.
pub(crate) fn heads(format: &Format, cursor: &mut Cursor<'_>) -> Result<Heads, Fault> {
    let ty = if format.has_type { Some(cursor.word()?) } else { None };
    let result = if format.has_result { Some(cursor.word()?) } else { None };
    Ok(Heads { ty, result })
}

/// Reads all other operands. `id` turns an id of the module into the intake's. `number_width` is the width in
/// bits of a context-dependent literal.
pub(crate) fn operands(
    format: &Format,
    cursor: &mut Cursor<'_>,
    number_width: u32,
    id: &mut impl FnMut(u32) -> Result<Id, Fault>,
) -> Result<Operands, Fault> {
    let mut out = Operands::new();
    for &(kind, repeat) in &format.operands {
        match repeat {
            Repeat::One => operand(kind, cursor, number_width, id, &mut out)?,
            Repeat::Optional if cursor.is_empty() => {}
            Repeat::Optional => operand(kind, cursor, number_width, id, &mut out)?,
            Repeat::Many => {
                while !cursor.is_empty() {
                    operand(kind, cursor, number_width, id, &mut out)?;
                }
            }
        }
    }
    cursor.end()?;
    Ok(out)
}

fn operand(
    kind: Reading,
    cursor: &mut Cursor<'_>,
    number_width: u32,
    id: &mut impl FnMut(u32) -> Result<Id, Fault>,
    out: &mut Operands,
) -> Result<(), Fault> {
    match kind {
        Reading::Id => out.push(Operand::Id(id(cursor.word()?)?)),
        Reading::Literal => out.push(Operand::Lit(u64::from(cursor.word()?))),
        Reading::String => {
            cursor.string()?;
        }
        Reading::Number => out.push(Operand::Lit(cursor.number(number_width)?)),
        Reading::LiteralIdPair => {
            out.push(Operand::Lit(cursor.number(number_width)?));
            out.push(Operand::Id(id(cursor.word()?)?));
        }
        Reading::IdLiteralPair => {
            out.push(Operand::Id(id(cursor.word()?)?));
            out.push(Operand::Lit(u64::from(cursor.word()?)));
        }
        Reading::IdIdPair => {
            out.push(Operand::Id(id(cursor.word()?)?));
            out.push(Operand::Id(id(cursor.word()?)?));
        }
        Reading::MemoryAccess => mask(cursor, id, out, memory_access_parameter)?,
        Reading::ImageOperands => mask(cursor, id, out, image_operand_parameters)?,
        Reading::Foreign => {
            return Err(Fault::new(OPERANDS, "an operand of a kind that no accepted extension has"));
        }
    }
    Ok(())
}

/// What follows a mask for one of its bits.
#[derive(Clone, Copy)]
enum Parameters {
    None,
    Literal,
    Ids(u8),
}

fn mask(
    cursor: &mut Cursor<'_>,
    id: &mut impl FnMut(u32) -> Result<Id, Fault>,
    out: &mut Operands,
    parameters: fn(u32) -> Option<Parameters>,
) -> Result<(), Fault> {
    let mask = cursor.word()?;
    out.push(Operand::Lit(u64::from(mask)));
    for bit in (0..u32::BITS).map(|bit| 1 << bit).filter(|bit| mask & bit != 0) {
        let unknown = || Fault::new(OPERANDS, format!("bit {bit:#x} of an operand mask is unknown"));
        match parameters(bit).ok_or_else(unknown)? {
            Parameters::None => {}
            Parameters::Literal => out.push(Operand::Lit(u64::from(cursor.word()?))),
            Parameters::Ids(count) => {
                for _ in 0..count {
                    out.push(Operand::Id(id(cursor.word()?)?));
                }
            }
        }
    }
    Ok(())
}

fn memory_access_parameter(bit: u32) -> Option<Parameters> {
    let bit = MemoryAccess::from_bits(bit)?;
    let ids = MemoryAccess::MAKE_POINTER_AVAILABLE
        | MemoryAccess::MAKE_POINTER_VISIBLE
        | MemoryAccess::ALIAS_SCOPE_INTEL_MASK
        | MemoryAccess::NO_ALIAS_INTEL_MASK;
    Some(match bit {
        MemoryAccess::ALIGNED => Parameters::Literal,
        bit if ids.contains(bit) => Parameters::Ids(1),
        _ => Parameters::None,
    })
}

fn image_operand_parameters(bit: u32) -> Option<Parameters> {
    let bit = ImageOperands::from_bits(bit)?;
    let none = ImageOperands::NON_PRIVATE_TEXEL
        | ImageOperands::VOLATILE_TEXEL
        | ImageOperands::SIGN_EXTEND
        | ImageOperands::ZERO_EXTEND
        | ImageOperands::NONTEMPORAL;
    Some(match bit {
        ImageOperands::GRAD => Parameters::Ids(2),
        bit if none.contains(bit) => Parameters::None,
        _ => Parameters::Ids(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(op: Op, words: &[u32]) -> Result<Vec<Operand>, Fault> {
        let format = format(op).unwrap();
        let mut cursor = Cursor::new(words);
        heads(format, &mut cursor)?;
        operands(format, &mut cursor, 32, &mut |id| Ok(Id(id))).map(SmallVec::into_vec)
    }

    #[test]
    fn masks_bring_their_parameters() {
        use Operand::{Id as I, Lit};
        assert_eq!(decode(Op::Load, &[1, 2, 3]).unwrap(), [I(Id(3))]);
        assert_eq!(decode(Op::Load, &[1, 2, 3, 2, 16]).unwrap(), [I(Id(3)), Lit(2), Lit(16)]);
        let scoped = decode(Op::Load, &[1, 2, 3, 0x1_0002, 8, 40]).unwrap();
        assert_eq!(scoped, [I(Id(3)), Lit(0x1_0002), Lit(8), I(Id(40))]);
        assert_eq!(decode(Op::Load, &[1, 2, 3, 2]).unwrap_err().rule, OPERANDS);
        assert_eq!(decode(Op::Load, &[1, 2, 3, 0x8000_0000]).unwrap_err().rule, OPERANDS);
    }

    #[test]
    fn operand_counts_are_exact() {
        assert_eq!(decode(Op::IAdd, &[1, 2, 3]).unwrap_err().rule, OPERANDS);
        assert_eq!(decode(Op::IAdd, &[1, 2, 3, 4, 5]).unwrap_err().rule, OPERANDS);
        assert!(decode(Op::IAdd, &[1, 2, 3, 4]).is_ok());
    }

    #[test]
    fn strings_end_and_are_utf8() {
        assert_eq!(Cursor::new(&[0x0061_6261]).string().unwrap(), "aba");
        assert_eq!(Cursor::new(&[0x6161_6161]).string().unwrap_err().rule, STRING);
        assert_eq!(Cursor::new(&[0x0000_80FF]).string().unwrap_err().rule, STRING);
    }

    #[test]
    fn narrow_literals_lose_their_sign_extension() {
        assert_eq!(Cursor::new(&[0xFFFF_FFFF]).number(8).unwrap(), 0xFF);
        assert_eq!(Cursor::new(&[1, 2]).number(64).unwrap(), 0x2_0000_0001);
    }
}
