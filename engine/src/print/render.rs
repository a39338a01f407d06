//! The text of a record: each conversion as the C library's `snprintf` renders it.

use super::format::{Conversion, Piece, parse};
use super::{ArgumentType, PrintKind};
use crate::globals::Globals;
use half::f16;
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::rc::Rc;

/// What stands for a string that is no literal of the module.
const NO_STRING: &[u8] = b"(invalid)";

/// Renders the records of a launch.
pub struct Renderer<'a> {
    globals: &'a Globals,
    formats: FxHashMap<u64, Rc<[Piece]>>,
}

/// An argument, its components as they are in the record.
#[derive(Clone, Copy)]
struct Argument<'a> {
    ty: ArgumentType,
    components: &'a [u64],
}

impl<'a> Renderer<'a> {
    pub fn new(globals: &'a Globals) -> Self {
        Self { globals, formats: FxHashMap::default() }
    }

    /// Appends what a call prints. `values` are the components of all arguments.
    pub fn render(&mut self, format: u64, types: &[ArgumentType], mut values: &[u64], text: &mut Vec<u8>) {
        let globals = self.globals;
        let pieces = self
            .formats
            .entry(format)
            .or_insert_with(|| parse(&globals.string(format).unwrap_or_else(|| NO_STRING.to_vec())).into());
        let mut arguments = types.iter().map(|ty| {
            let (components, rest) = values.split_at(values.len().min(ty.components as usize));
            values = rest;
            Argument { ty: *ty, components }
        });
        for piece in pieces.clone().iter() {
            match piece {
                Piece::Text(literal) => text.extend(literal),
                Piece::Conversion(conversion) => match arguments.next() {
                    Some(argument) => convert(conversion, argument, globals, text),
                    None => text.extend(&conversion.text),
                },
            }
        }
    }
}

fn convert(conversion: &Conversion, argument: Argument<'_>, globals: &Globals, text: &mut Vec<u8>) {
    let components = conversion.vector.unwrap_or(1) as usize;
    for (at, bits) in argument.components.iter().take(components).enumerate() {
        if at > 0 {
            text.push(b',');
        }
        component(conversion, argument.ty, *bits, globals, text);
    }
}

fn component(conversion: &Conversion, ty: ArgumentType, bits: u64, globals: &Globals, text: &mut Vec<u8>) {
    match conversion.specifier {
        b'd' | b'i' => {
            let value = integer(conversion, ty, bits, true);
            // SAFETY: the specification is of a `long long`.
            number(conversion, b"-+ 0", "ll", text, |to, size, format| unsafe {
                libc::snprintf(to, size, format, value)
            });
        }
        b'o' | b'u' | b'x' | b'X' => {
            let flags: &[u8] = if conversion.specifier == b'u' { b"-0" } else { b"-0#" };
            let value = integer(conversion, ty, bits, false);
            // SAFETY: the specification is of an `unsigned long long`.
            number(conversion, flags, "ll", text, |to, size, format| unsafe {
                libc::snprintf(to, size, format, value)
            });
        }
        b'c' => {
            let value = integer(conversion, ty, bits, false) as u8;
            pad(conversion, &[value], text);
        }
        b'p' => {
            let plain = Conversion { precision: None, ..conversion.clone() };
            // SAFETY: the specification is of a pointer, which is not followed.
            number(&plain, b"-", "", text, |to, size, format| unsafe {
                libc::snprintf(to, size, format, bits as *const c_void)
            });
        }
        b's' => {
            let string = match ty.kind {
                PrintKind::Pointer if bits == 0 => Some(b"(null)".to_vec()),
                PrintKind::Pointer => globals.string(bits),
                _ => None,
            };
            let string = string.unwrap_or_else(|| NO_STRING.to_vec());
            let most = conversion.precision.map_or(string.len(), |most| string.len().min(most as usize));
            pad(conversion, &string[..most], text);
        }
        _ => {
            let value = float(ty, bits);
            // SAFETY: the specification is of a double.
            number(conversion, b"-+ #0", "", text, |to, size, format| unsafe {
                libc::snprintf(to, size, format, value)
            });
        }
    }
}

/// A component as an integer of the width that the conversion says: 32 bits for scalars without a length modifier.
fn integer(conversion: &Conversion, ty: ArgumentType, bits: u64, signed: bool) -> i64 {
    let bits = match ty.kind {
        PrintKind::Float => float(ty, bits) as i64 as u64,
        _ => bits,
    };
    let own = if ty.kind == PrintKind::Float { 64 } else { ty.bits };
    let default = if conversion.vector.is_some() { 64 } else { 32 };
    let width = if conversion.specifier == b'c' { 8 } else { conversion.length.bits().unwrap_or(default) };
    let unused = 64 - width.min(own).clamp(1, 64);
    if signed { (bits << unused) as i64 >> unused } else { (bits << unused >> unused) as i64 }
}

/// A component as a number with which all others are rendered exactly.
fn float(ty: ArgumentType, bits: u64) -> f64 {
    match (ty.kind, ty.bits) {
        (PrintKind::Float, 16) => f16::from_bits(bits as u16).to_f64(),
        (PrintKind::Float, 32) => f32::from_bits(bits as u32).into(),
        (PrintKind::Float, _) => f64::from_bits(bits),
        _ => {
            let unused = 64 - ty.bits.clamp(1, 64);
            ((bits << unused) as i64 >> unused) as f64
        }
    }
}

/// Lets the C library render a number by a specification that has nothing but what is defined for it: those of `flags`,
/// width, precision and the length modifier given.
fn number(
    conversion: &Conversion,
    flags: &[u8],
    length: &str,
    text: &mut Vec<u8>,
    render: impl Fn(*mut libc::c_char, usize, *const libc::c_char) -> i32,
) {
    let mut format = vec![b'%'];
    format.extend(conversion.flags.iter().filter(|flag| flags.contains(flag)));
    format.extend(conversion.width.map(|width| width.to_string()).unwrap_or_default().bytes());
    format.extend(conversion.precision.map(|digits| format!(".{digits}")).unwrap_or_default().bytes());
    format.extend(length.bytes());
    format.extend([conversion.specifier, 0]);
    let start = text.len();
    // Enough for all but large widths and precisions.
    let mut room = 128;
    loop {
        text.resize(start + room, 0);
        let written = render(text[start..].as_mut_ptr().cast(), room, format.as_ptr().cast());
        let Ok(written) = usize::try_from(written) else { return text.truncate(start) };
        if written < room {
            return text.truncate(start + written);
        }
        room = written + 1;
    }
}

/// Characters, filled up with spaces.
fn pad(conversion: &Conversion, characters: &[u8], text: &mut Vec<u8>) {
    let missing = (conversion.width.unwrap_or(0) as usize).saturating_sub(characters.len());
    let spaces = std::iter::repeat_n(b' ', missing);
    if conversion.flags.contains(&b'-') {
        text.extend(characters);
        text.extend(spaces);
    } else {
        text.extend(spaces);
        text.extend(characters);
    }
}
