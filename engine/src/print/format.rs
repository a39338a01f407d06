//! Format strings (OpenCL C 2.0 §6.13.13, "printf format string").

/// Widths and precisions beyond are taken for this: far more than the 4095 characters that C asks for, and
/// nothing that fills memory.
const MOST_CHARACTERS: u32 = 65_535;

/// A part of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Written as it is.
    Text(Vec<u8>),
    Conversion(Conversion),
}

/// A conversion specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversion {
    /// Those of `-+ #0`, each once.
    pub flags: Vec<u8>,
    pub width: Option<u32>,
    pub precision: Option<u32>,
    /// Components of the vector that it applies to.
    pub vector: Option<u32>,
    pub length: Length,
    pub specifier: u8,
    /// As it is written.
    pub text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    None,
    /// `hh`
    Char,
    /// `h`
    Short,
    /// `hl`, of vectors only
    Int,
    /// `l`, and C's `ll`, `j`, `z` and `t`
    Long,
}

impl Length {
    /// Bits of an integer, if the length says them.
    pub fn bits(self) -> Option<u32> {
        match self {
            Length::None => None,
            Length::Char => Some(8),
            Length::Short => Some(16),
            Length::Int => Some(32),
            Length::Long => Some(64),
        }
    }
}

/// The parts of a format. What is no valid conversion specification is text.
pub fn parse(format: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut rest = format;
    while let Some((&first, behind)) = rest.split_first() {
        if first != b'%' {
            text.push(first);
            rest = behind;
        } else if behind.first() == Some(&b'%') {
            text.push(b'%');
            rest = &behind[1..];
        } else if let Some((conversion, behind)) = conversion(rest) {
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Conversion(conversion));
            rest = behind;
        } else {
            text.push(b'%');
            rest = behind;
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The conversion specification that a text begins with, and what is behind it.
fn conversion(text: &[u8]) -> Option<(Conversion, &[u8])> {
    let mut rest = &text[1..];
    let mut flags = Vec::new();
    while let Some(&flag) = rest.first().filter(|flag| b"-+ #0".contains(flag)) {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
        rest = &rest[1..];
    }
    let width = number(&mut rest);
    let precision = if rest.first() == Some(&b'.') {
        rest = &rest[1..];
        Some(number(&mut rest).unwrap_or(0))
    } else {
        None
    };
    let vector = if rest.first() == Some(&b'v') {
        rest = &rest[1..];
        Some(number(&mut rest).filter(|count| [2, 3, 4, 8, 16].contains(count))?)
    } else {
        None
    };
    const LENGTHS: [(&[u8], Length); 9] = [
        (b"hh", Length::Char),
        (b"hl", Length::Int),
        (b"h", Length::Short),
        (b"ll", Length::Long),
        (b"l", Length::Long),
        (b"j", Length::Long),
        (b"z", Length::Long),
        (b"t", Length::Long),
        (b"L", Length::None),
    ];
    let mut length = Length::None;
    if let Some((letters, of)) = LENGTHS.into_iter().find(|(letters, _)| rest.starts_with(letters)) {
        length = of;
        rest = &rest[letters.len()..];
    }
    let (&specifier, rest) = rest.split_first()?;
    if !b"diouxXfFeEgGaAcsp".contains(&specifier) {
        return None;
    }
    let text = text[..text.len() - rest.len()].to_vec();
    Some((Conversion { flags, width, precision, vector, length, specifier, text }, rest))
}

/// The decimal number that a text begins with.
fn number(text: &mut &[u8]) -> Option<u32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    *text = rest;
    let append = |value: u32, digit: &u8| (value * 10 + u32::from(digit - b'0')).min(MOST_CHARACTERS);
    (digits > 0).then(|| number.iter().fold(0, append))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(format: &str) -> Conversion {
        match parse(format.as_bytes()).as_slice() {
            [Piece::Conversion(conversion)] => conversion.clone(),
            other => panic!("{format}: {other:?}"),
        }
    }

    #[test]
    fn all_parts_of_a_conversion_are_read() {
        let read = only("%-0#12.34v16hlf");
        assert_eq!((read.flags.as_slice(), read.width, read.precision), (&b"-0#"[..], Some(12), Some(34)));
        assert_eq!((read.vector, read.length, read.specifier), (Some(16), Length::Int, b'f'));
        assert_eq!(only("%.d").precision, Some(0));
        let lengths = ["%d", "%hhd", "%hd", "%v2hld", "%ld", "%lld"].map(|format| only(format).length.bits());
        assert_eq!(lengths, [None, Some(8), Some(16), Some(32), Some(64), Some(64)]);
    }

    #[test]
    fn what_is_no_conversion_is_text() {
        for format in ["%", "%5", "%n", "%v5hld", "%vd", "%*d", "%k", "100% y"] {
            assert_eq!(parse(format.as_bytes()), [Piece::Text(format.as_bytes().to_vec())]);
        }
        assert_eq!(parse(b"100%%"), [Piece::Text(b"100%".to_vec())]);
    }

    #[test]
    fn a_width_has_a_bound() {
        assert_eq!(only("%99999999999999999999d").width, Some(MOST_CHARACTERS));
    }
}
