//! What a module is made from, and its native form: a container of just that.
//!
//! The container lets a program that saves `zeModuleGetNativeBinary` create the same module again. The machine
//! code itself is in the engine's cache.

use crate::environment::ModuleInput;

/// First bytes of the native form.
const MAGIC: &[u8; 7] = b"ze_cpu\0";

/// Of the native form, behind the magic; one more with each change of what follows.
const VERSION: u8 = 2;

/// Why bytes are no native form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContainerError {
    #[error("it is not a native binary that this driver made: use its SPIR-V")]
    Foreign,
    #[error("it is machine code for another device, without SPIR-V: compile for spir64, too")]
    MachineCode,
    #[error(
        "it is machine code for other devices ({0}), without SPIR-V (generic_ir): compile for spir64, too"
    )]
    MachineCodes(String),
    #[error("it is a damaged archive of native binaries")]
    Archive,
    #[error("it is a native binary of version {0}, this driver makes {VERSION}: use its SPIR-V")]
    Version(u8),
    #[error("the native binary is damaged: its contents do not have its checksum")]
    Damaged,
}

/// FNV-1a (Fowler, Noll and Vo) of 64 bits, over words of as many: finds damage, and is the same in every build. Whoever
/// writes the bytes can write the sum, so nothing behind believes them more for it.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let rest = rest.iter().map(|&byte| u64::from(byte));
    words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .chain(rest)
        .fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
}

/// One SPIR-V module with its specialization.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Input {
    pub spirv: Vec<u8>,
    /// Specialization constants: id, and the value's bytes in memory order.
    pub constants: Vec<(u32, Vec<u8>)>,
    /// Build options as they were given.
    pub flags: String,
}

impl Input {
    /// The input as the intake takes it.
    pub fn source(&self) -> ModuleInput<'_> {
        ModuleInput { constants: self.constants.clone(), ..ModuleInput::new(&self.spirv) }
    }
}

/// The native form: the magic, the version, the checksum of what follows, and counted fields with lengths, numbers all in
/// little-endian 64 bits.
pub fn encode(inputs: &[Input]) -> Vec<u8> {
    let mut body = Vec::new();
    let number = |out: &mut Vec<u8>, value: usize| out.extend((value as u64).to_le_bytes());
    let bytes = |out: &mut Vec<u8>, bytes: &[u8]| {
        number(out, bytes.len());
        out.extend(bytes);
    };
    number(&mut body, inputs.len());
    for input in inputs {
        bytes(&mut body, &input.spirv);
        bytes(&mut body, input.flags.as_bytes());
        number(&mut body, input.constants.len());
        for (id, value) in &input.constants {
            number(&mut body, *id as usize);
            bytes(&mut body, value);
        }
    }
    seal(&body)
}

/// A body with what is in front of it.
pub fn seal(body: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &[VERSION], &checksum(body).to_le_bytes(), body].concat()
}

/// Reads the native form.
pub fn decode(binary: &[u8]) -> Result<Vec<Input>, ContainerError> {
    let rest = binary.strip_prefix(MAGIC).ok_or(ContainerError::Foreign)?;
    let (&version, rest) = rest.split_first().ok_or(ContainerError::Damaged)?;
    if version != VERSION {
        return Err(ContainerError::Version(version));
    }
    let (sum, body) = rest.split_first_chunk().ok_or(ContainerError::Damaged)?;
    if u64::from_le_bytes(*sum) != checksum(body) {
        return Err(ContainerError::Damaged);
    }
    Reader(body).inputs().ok_or(ContainerError::Damaged)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(8)?.try_into().ok()?;
        u64::from_le_bytes(bytes).try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    fn inputs(mut self) -> Option<Vec<Input>> {
        let count = self.number()?;
        let inputs = (0..count).map(|_| self.input()).collect::<Option<Vec<_>>>()?;
        self.0.is_empty().then_some(inputs)
    }

    fn input(&mut self) -> Option<Input> {
        let spirv = self.bytes()?.to_vec();
        let flags = std::str::from_utf8(self.bytes()?).ok()?.to_owned();
        let count = self.number()?;
        let constant = |reader: &mut Self| {
            let id = reader.number()?.try_into().ok()?;
            Some((id, reader.bytes()?.to_vec()))
        };
        let constants = (0..count).map(|_| constant(self)).collect::<Option<Vec<_>>>()?;
        Some(Input { spirv, constants, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Vec<Input> {
        let constants = vec![(3, vec![1, 2, 3, 4]), (9, vec![1])];
        let first = Input { spirv: vec![3, 2, 35, 7], constants, flags: "-ze-opt-level=2".into() };
        vec![first, Input::default()]
    }

    #[test]
    fn the_native_form_gives_the_inputs_back() {
        assert_eq!(decode(&encode(&inputs())).expect("just encoded"), inputs());
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        let encoded = encode(&inputs());
        for len in 0..encoded.len() {
            let want = if len < MAGIC.len() { ContainerError::Foreign } else { ContainerError::Damaged };
            assert_eq!(decode(&encoded[..len]), Err(want), "{len} bytes");
        }
        for at in 0..encoded.len() {
            let mut damaged = encoded.clone();
            damaged[at] ^= 0x40;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        let mut longer = encoded.clone();
        longer.push(0);
        assert_eq!(decode(&longer), Err(ContainerError::Damaged));
        let mut newer = encoded;
        newer[MAGIC.len()] = VERSION + 1;
        assert_eq!(decode(&newer), Err(ContainerError::Version(VERSION + 1)));
    }

    #[test]
    fn a_body_with_a_right_checksum_is_not_believed() {
        let body = &encode(&inputs())[16..];
        let mut longer = body.to_vec();
        longer.push(0);
        let mut huge = body.to_vec();
        huge[..8].fill(0xff);
        for body in [&longer, &huge, &Vec::new()] {
            assert_eq!(decode(&seal(body)), Err(ContainerError::Damaged));
        }
        assert_eq!(decode(&seal(body)), Ok(inputs()));
    }
}
