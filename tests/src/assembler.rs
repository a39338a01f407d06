//! A SPIR-V assembler for tests: text as `spirv-dis` writes it, as far as tests need.

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind as K, OperandQuantifier};
use spirv::*;
use std::collections::HashMap;
use std::str::FromStr;

/// Instructions that the grammar does not have.
const OWN: [(&str, u32); 9] = [
    ("OpCooperativeMatrixLoadCheckedINTEL", 6193),
    ("OpCooperativeMatrixStoreCheckedINTEL", 6194),
    ("OpCooperativeMatrixConstructCheckedINTEL", 6195),
    ("OpCooperativeMatrixLoadOffsetINTEL", 6239),
    ("OpCooperativeMatrixStoreOffsetINTEL", 6240),
    ("OpCooperativeMatrixGetElementCoordINTEL", 6440),
    ("OpCooperativeMatrixPrefetchINTEL", 6449),
    ("OpPredicatedLoadINTEL", 6258),
    ("OpPredicatedStoreINTEL", 6259),
];

/// The words of a module of SPIR-V 1.4.
pub fn assemble(text: &str) -> Vec<u8> {
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut widths: HashMap<u32, u32> = HashMap::new();
    let mut types: HashMap<u32, u32> = HashMap::new();
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0400, 0, 0, 0];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut tokens = tokens(line);
        let result = (tokens.get(1).map(String::as_str) == Some("=")).then(|| {
            let result = tokens.remove(0);
            tokens.remove(0);
            result
        });
        let name = tokens.remove(0);
        if let Some((_, opcode)) = OWN.iter().find(|(own, _)| *own == name) {
            let mut id = |token: &str| {
                let next = ids.len() as u32 + 1;
                *ids.entry(token.to_owned()).or_insert(next)
            };
            let result = result.as_deref().map(&mut id);
            let mut operands: Vec<u32> = tokens
                .iter()
                .map(|token| if token.starts_with('%') { id(token) } else { number(token) as u32 })
                .collect();
            // Behind the result's type.
            result.into_iter().for_each(|result| operands.insert(1, result));
            words.push((operands.len() as u32 + 1) << 16 | opcode);
            words.extend(operands);
            continue;
        }
        let entry = INSTRUCTION_TABLE
            .iter()
            .find(|entry| name.strip_prefix("Op").is_some_and(|name| is_called(entry.opname, name)))
            .unwrap_or_else(|| panic!("no instruction {name}"));
        let mut id = |token: &str| {
            let next = ids.len() as u32 + 1;
            *ids.entry(token.to_owned()).or_insert(next)
        };
        let mut operands = Vec::new();
        let mut tokens = tokens.into_iter().peekable();
        for operand in entry.operands {
            if operand.kind == K::IdResult {
                operands.push(id(result.as_ref().expect("a result")));
                continue;
            }
            loop {
                let optional = operand.quantifier != OperandQuantifier::One;
                let Some(token) = tokens.next_if(|_| true) else {
                    assert!(optional, "{line}: an operand is missing");
                    break;
                };
                match operand.kind {
                    K::LiteralString => operands.extend(string(&token)),
                    K::PairLiteralIntegerIdRef => {
                        let width = types.get(&operands[0]).and_then(|ty| widths.get(ty));
                        operands.extend(literal(&token, width.copied().unwrap_or(32)));
                        operands.push(id(&tokens.next().expect("a label")));
                    }
                    K::PairIdRefIdRef => {
                        operands.push(id(&token));
                        operands.push(id(&tokens.next().expect("a block")));
                    }
                    K::LiteralContextDependentNumber => {
                        let width = widths.get(&operands[0]).copied().unwrap_or(32);
                        operands.extend(literal(&token, width));
                    }
                    _ if token.starts_with('%') => operands.push(id(&token)),
                    K::ImageOperands | K::MemoryAccess | K::Decoration | K::ExecutionMode => {
                        operands.push(enumerant(operand.kind, &token));
                        // Their parameters follow in the text as well.
                        for token in tokens.by_ref() {
                            match () {
                                () if token.starts_with('%') => operands.push(id(&token)),
                                () if token.starts_with('"') => operands.extend(string(&token)),
                                () if token.parse::<u32>().is_ok() => operands.push(number(&token) as u32),
                                () => operands.push(parameter(&token)),
                            }
                        }
                    }
                    kind => operands.push(enumerant(kind, &token)),
                }
                if operand.quantifier != OperandQuantifier::ZeroOrMore {
                    break;
                }
            }
        }
        // Operands of the inner opcode of OpSpecConstantOp.
        operands.extend(
            tokens.map(|token| if token.starts_with('%') { id(&token) } else { number(&token) as u32 }),
        );
        if matches!(entry.opcode, Op::TypeInt | Op::TypeFloat) {
            widths.insert(operands[0], operands[1]);
        }
        if entry.operands.first().is_some_and(|operand| operand.kind == K::IdResultType) {
            types.insert(operands[1], operands[0]);
        }
        words.push((operands.len() as u32 + 1) << 16 | entry.opcode as u32);
        words.extend(operands);
    }
    words[3] = ids.len() as u32 + 1;
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// FPGA instructions that are ALTERA's now were INTEL's.
fn is_called(opname: &str, name: &str) -> bool {
    opname == name
        || opname.strip_suffix("ALTERA").is_some_and(|stem| name.strip_suffix("INTEL") == Some(stem))
}

fn tokens(line: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = if let Some(text) = rest.strip_prefix('"') {
            text.find('"').expect("a closing quote") + 2
        } else {
            rest.find(' ').unwrap_or(rest.len())
        };
        tokens.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    tokens
}

fn string(token: &str) -> Vec<u32> {
    let mut bytes = token.trim_matches('"').as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The words of a literal of so many bits, those of lower order first.
fn literal(token: &str, width: u32) -> impl Iterator<Item = u32> {
    let value = number(token);
    (0..width.div_ceil(32)).map(move |at| (value >> (32 * at)) as u32)
}

fn number(token: &str) -> u128 {
    match token.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).unwrap(),
        None => token.parse::<u128>().unwrap_or_else(|_| panic!("{token} is not a number")),
    }
}

/// Enumerants that follow a decoration.
fn parameter(token: &str) -> u32 {
    BuiltIn::from_str(token)
        .map(|value| value as u32)
        .or_else(|()| LinkageType::from_str(token).map(|value| value as u32))
        .or_else(|()| FunctionParameterAttribute::from_str(token).map(|value| value as u32))
        .unwrap_or_else(|()| panic!("no parameter {token}"))
}

fn enumerant(kind: K, token: &str) -> u32 {
    macro_rules! of {
        ($($kind:ident),*) => {
            match kind {
                $(K::$kind => $kind::from_str(token).ok().map(|value| value as u32),)*
                K::FunctionControl => Some(0),
                K::ImageOperands => Some(match token { "Lod" => 2, "Grad" => 4, "ConstOffset" => 8, "SignExtend" => 0x1000, "ZeroExtend" => 0x2000, "Nontemporal" => 0x4000, _ => panic!("{token}") }),
                K::MemoryAccess => Some(match token { "None" => 0, "Volatile" => 1, "Aligned" => 2, _ => panic!("{token}") }),
                K::LiteralExtInstInteger => token.parse().ok().or_else(|| {
                    let named = |number: &u32| OpenclStd100Op::from_u32(*number).is_some_and(|op| format!("{op:?}") == token);
                    (0..256).find(named)
                }),
                K::LiteralSpecConstantOpInteger => {
                    INSTRUCTION_TABLE.iter().find(|entry| entry.opname == token).map(|entry| entry.opcode as u32)
                }
                K::Dim => Dim::from_str(&format!("Dim{}", token.trim_start_matches("Dim"))).or_else(|()| Dim::from_str(&format!("Dim{token}"))).ok().map(|dim| dim as u32),
                _ => Some(number(token) as u32),
            }
        };
    }
    of!(
        Capability,
        ExecutionModel,
        AddressingModel,
        MemoryModel,
        StorageClass,
        Decoration,
        ExecutionMode,
        SourceLanguage,
        ImageFormat,
        AccessQualifier,
        LinkageType,
        GroupOperation,
        Scope,
        SamplerAddressingMode,
        SamplerFilterMode
    )
    .unwrap_or_else(|| panic!("no {kind:?} {token}"))
}
